//! Start and end of a simulation: the checkpoint at which it began, the target of a run, and the reason of a stop.

use crate::{app::document::command::UiCommand, project::CheckpointInfo};
use std::{path::PathBuf, sync::Arc, time::Instant};

/// Checkpoint at which the simulation began: the folder of its run, and its entry in the manifest.
pub type Origin = (PathBuf, CheckpointInfo);

/// Target of a run up to a step.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub from: u64,
    pub to: u64,
    pub since: Instant,
}

/// Reason why the simulation stopped by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct StopReason {
    /// Message that names the failure and its place.
    pub why: Arc<str>,
    /// Label and command of the recovery button.
    pub remedy: (&'static str, UiCommand),
}
