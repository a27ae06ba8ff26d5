//! The engine and everything on disk: recordings, run folders, exports, projects, readers of data.

mod archives;
mod capsule;
mod cell_models;
mod checkpoints;
mod circuits;
mod damage;
#[cfg(feature = "demo")]
mod diverged;
mod edge_lists;
mod engine;
mod exports;
mod fake;
mod input_data;
mod profile;
mod projects;
mod readers;
mod recording;
mod run_folders;
mod runs;
mod safety;
mod shown_trial;
mod sonata;
mod texts;
mod weighted_edges;
