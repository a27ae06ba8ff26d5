//! The open document: its simulation, history, selection and settings, and the commands that act on them. This module draws
//! nothing.

pub mod activity;
pub mod autosave;
pub mod checkpoints;
pub mod color_scales;
pub mod command;
pub mod cursor;
pub mod experiment;
pub mod features;
pub mod figure_settings;
pub mod filter;
pub mod graph;
pub mod groups;
pub mod history;
pub mod in_force;
pub mod interventions;
pub mod items;
pub mod journal;
pub mod layout;
pub mod library;
pub mod live;
pub mod open_document;
pub mod paths;
pub mod playback;
pub mod profile;
pub mod replayed;
pub mod run_groups;
pub mod run_stats;
pub mod saved_view;
pub mod selection;
pub mod session;
pub mod settings;
pub mod time;
pub mod varied;
