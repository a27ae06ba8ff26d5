//! Parts of [`Live`](super::Live): versions of the document, and requests to the engine.

use super::RunLog;
use crate::{params::ParamId, project::Project, sim::Tap};
use std::collections::HashSet;

/// Versions of the document that belong to the simulation.
#[derive(Default)]
pub(super) struct Versions {
    /// Project whose parameters were sent to the simulation: the built document and all edits sent since.
    pub sent: Option<Project>,
    /// Project whose parameters the engine has confirmed: the built document and all edits that the engine has applied.
    pub accepted: Option<Project>,
    /// Number of simulations that were sent to the engine and are not loaded yet. Until then, answers belong to the
    /// previous simulation.
    pub n_loads_pending: u32,
    /// Document from which the simulation was built; `None` without a simulation.
    pub built: Option<Project>,
    /// The run since step 0, for recordings; `None` without a simulation.
    pub run_log: Option<RunLog>,
    /// Parameters that need a rebuild in this simulation although they are declared live.
    pub rebuild_only: HashSet<ParamId>,
}

/// Last requests to the engine, so that only changes are sent.
#[derive(Default)]
pub(super) struct Requested {
    /// Whether the simulation is started once it is loaded.
    pub play_when_loaded: bool,
    /// Whether the simulation starts after the views have subscribed, so that a short run is seen.
    pub starts_when_subscribed: bool,
    pub subscribed: Vec<Tap>,
    /// Trial that views show, from 0.
    pub shown_trial: u32,
    /// Whether individuals were requested from the engine.
    pub follows_individuals: bool,
    pub profiled: Option<u32>,
    pub speed_sent: Option<f64>,
    /// Number of steps after which a run pauses; `None` if it continues until it is paused.
    pub steps_per_run: Option<u64>,
    /// Whether *Run* started the steps in progress, so that a new duration applies to them.
    pub is_playing: bool,
}
