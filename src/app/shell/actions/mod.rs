//! Actions of commands. Each function takes the parts of the window that it needs.

pub mod arrivals;
pub mod attention;
pub mod branch;
pub mod circuits;
pub mod documents;
pub mod experiment;
pub mod figures;
pub mod files;
pub mod graph;
pub mod open;
pub mod probing;
pub mod profiling;
pub mod rebuild;
pub mod recording;
pub mod requests;
pub mod resume;
pub mod run_folders;
pub mod runs;
pub mod selecting;
pub mod shape;
pub mod shown_trial;
pub mod trees;
pub mod unrecorded;
pub mod vary;
