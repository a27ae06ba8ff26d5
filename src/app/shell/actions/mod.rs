//! What commands do that need several parts of the window.

pub mod attention;
pub mod branch;
pub mod consent;
pub mod files;
pub mod import;
pub mod paths;
pub mod probing;
pub mod profiling;
pub mod rebuild;
pub mod recording;
pub mod requests;
pub mod resume;
pub mod sweep;
pub mod trees;
pub mod unrecorded;
pub mod unsaved_guard;
