//! Safety recording of the simulation, and the data that would be lost with an unrecorded simulation.

use super::Live;
use crate::{
    app::host::device::Devices,
    engine::{Command, EngineCounters, SafetyPlan},
    project::{OwnedRunStart, Project, SafetyWriter, safety_taps},
    sim::Tap,
};
use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

/// Computing time below which a run is neither written nor asked about, because it can be recomputed.
pub const RECOMPUTABLE: Duration = Duration::from_secs(30);
/// Minimum computing time between two saved states.
const STATE_EVERY: Duration = Duration::from_secs(30);
/// Number of safety recordings that this process has started.
static N_STARTED: AtomicU32 = AtomicU32::new(0);

/// Steps that no run on disk contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// Number of steps.
    pub steps: u64,
    /// Computing time of the steps.
    pub computed: Duration,
}

/// A safety recording of this window.
#[derive(Clone, Debug, PartialEq)]
pub struct SafetyFolder {
    /// Folder, which exists once the run is long enough.
    pub folder: PathBuf,
    /// Taps of the recording.
    pub taps: Vec<Tap>,
}

/// Safety recordings of a window.
pub struct Safety {
    /// Folder of the recordings; `None` if nothing is recorded.
    pub folder: Option<PathBuf>,
    /// Maximum size of a recording, bytes; 0 if nothing is recorded.
    pub limit_bytes: u64,
    /// Computing time below which the user is not asked about a run: [`RECOMPUTABLE`], except in tests.
    pub recomputable: Duration,
    devices: Option<Arc<Devices>>,
    /// Safety recording of the simulation; `None` if nothing is recorded.
    current: Option<SafetyFolder>,
    /// Computing time and step up to which a run on disk contains the data.
    recorded: (Duration, u64),
    /// Number of rewinds that the engine has not answered.
    pub(super) n_rewinds_pending: u32,
}

impl Default for Safety {
    fn default() -> Self {
        Self {
            folder: None,
            limit_bytes: 0,
            recomputable: RECOMPUTABLE,
            devices: None,
            current: None,
            recorded: (Duration::ZERO, 0),
            n_rewinds_pending: 0,
        }
    }
}

impl Safety {
    /// Creates the state for safety recordings in subfolders of `folder`; with `None`, nothing is recorded.
    pub fn new(folder: Option<PathBuf>, devices: Arc<Devices>) -> Self {
        Self { folder, devices: Some(devices), ..Self::default() }
    }
}

impl Live {
    /// Starts the safety recording of a simulation of a project at its current step.
    pub(super) fn start_safety_recording(&mut self, project: &Project) {
        self.safety.current = None;
        // A safety recording has one trial, as a run has that continues it.
        let is_kept = self.safety.limit_bytes > 0 && self.schema.trials <= 1;
        let (Some(parent), true) = (&self.safety.folder, is_kept) else { return };
        let number = N_STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("{}-{number}", std::process::id()));
        let taps = safety_taps(project.taps().0, self.schema.probes);
        let device = self.safety.devices.as_ref().map(|devices| devices.chosen());
        let (device, threads) = device.map_or_else(Default::default, |device| (device.name, device.threads));
        let start = OwnedRunStart {
            project: project.clone(),
            base: self.base.clone(),
            taps: taps.clone(),
            probes: self.schema.probes,
            sets: self.schema.sets.clone(),
            device,
            threads,
            origin: self.origin.clone(),
        };
        let plan = SafetyPlan {
            taps: taps.clone(),
            write_after: self.safety.recomputable,
            state_every: STATE_EVERY,
            max_state_bytes: self.safety.limit_bytes,
        };
        let writer = SafetyWriter::new(folder.clone(), start, self.safety.limit_bytes);
        if self.send(Command::RecordSafety(plan, Box::new(writer))) {
            self.safety.current = Some(SafetyFolder { folder, taps });
        }
    }

    /// Starts a safety recording after a recording ends, because later steps are unrecorded.
    pub(super) fn restart_safety_recording(&mut self) {
        if let Some(run) = self.versions.run_log.take() {
            self.start_safety_recording(&run.project);
            self.versions.run_log = Some(run);
        }
    }

    /// Returns the safety recording of the simulation; `None` if nothing is recorded.
    pub fn safety_recording(&self) -> Option<&SafetyFolder> {
        self.safety.current.as_ref()
    }

    /// Marks all steps after `step` as unrecorded, after a simulation was loaded.
    pub(super) fn restart_recorded(&mut self, step: u64) {
        // A simulation that continues another one after a failure keeps its computing time.
        if self.computed().is_zero() {
            self.safety.recorded = (Duration::ZERO, step);
        }
    }

    /// Records that a run on disk contains everything up to a step.
    pub(super) fn recorded_up_to(&mut self, computed: Duration, step: u64) {
        self.safety.recorded = (computed, step);
    }

    /// Returns the computing time of the simulation since step 0, or since the state that it began with.
    pub fn computed(&self) -> Duration {
        self.counters().map_or(Duration::ZERO, |c| Duration::from_nanos(EngineCounters::read(&c.computed_nanos)))
    }

    /// Returns the data that would be lost with the simulation; `None` if there are no such data or they can be computed
    /// again quickly.
    pub fn unrecorded(&self) -> Option<Unrecorded> {
        let is_shown = self.versions.sent.is_some() && self.playback.is_none() && self.versions.n_loads_pending == 0;
        if !is_shown || self.recording.is_some() || self.safety.n_rewinds_pending > 0 {
            return None;
        }
        let (computed, step) = self.safety.recorded;
        let lost = Unrecorded {
            steps: self.clock.step.saturating_sub(step),
            computed: self.computed().saturating_sub(computed),
        };
        (lost.steps > 0 && lost.computed >= self.safety.recomputable).then_some(lost)
    }
}
