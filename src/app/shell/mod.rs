//! The window: frames, panels, dialogs, pages, and the actions of commands.

pub mod actions;
pub mod app;
pub mod bench;
pub mod commands;
pub mod dev;
pub mod dialogs;
pub mod execute;
pub mod figure;
pub mod flow;
pub mod frame;
pub mod frame_times;
pub mod host;
pub mod initial;
pub mod jobs;
pub mod keymap;
pub mod layout;
pub mod log;
pub mod messages;
pub mod native;
pub mod overlays;
pub mod pacing;
pub mod pages;
pub mod palette;
pub mod panels;
pub mod parts;
pub mod preferences;
pub mod queue;
pub mod start;
pub mod step_cost;
pub mod workspace;

pub use app::App;
