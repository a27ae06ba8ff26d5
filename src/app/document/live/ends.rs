//! Where a simulation began, and where it stops.

use crate::{app::document::command::UiCommand, project::CheckpointInfo};
use std::{path::PathBuf, sync::Arc, time::Instant};

/// The checkpoint that the simulation began at: the folder of its run, and the file.
pub type Origin = (PathBuf, CheckpointInfo);

/// A run to a given step.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub from: u64,
    pub to: u64,
    pub since: Instant,
}

/// Why the simulation stopped by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct StopReason {
    /// What failed, and where.
    pub why: Arc<str>,
    /// Label and command of the recovery button.
    pub remedy: (&'static str, UiCommand),
}
