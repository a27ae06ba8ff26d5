//! Runs single trials on one simulation, which each trial reuses if its kind allows it.

use super::{build::Build, recorded, setting::Counters};
use crate::{
    experiment::{
        changes,
        measure::Meter,
        table::{TrialResult, TrialState},
    },
    gpu::{Pass, StopFlag},
    project::Project,
    sim::{Device, Digest, Effect, Frame, Progress, Reading, SimError, Simulation, Tap, tap::TapKey},
};
use std::{
    path::PathBuf,
    sync::atomic::Ordering,
    time::{Duration, Instant},
};

/// Duration of a batch of steps, after which a trial can be cancelled.
const BATCH: Duration = Duration::from_millis(10);
/// Number of steps of the first batch of the first trial.
const FIRST_BATCH: u32 = 16;
/// Maximum number of steps of a batch.
const MAX_BATCH: u32 = 1 << 16;

/// Whether each element of a set had an event.
pub(super) type ActiveElements = Vec<bool>;

/// Computes the measures of a trial, and of a control the elements with events.
pub(in crate::experiment) struct TrialMeter {
    meter: Meter,
    events: Option<(TapKey, ActiveElements)>,
}

impl TrialMeter {
    pub fn new(build: &Build, finds_active: bool) -> Self {
        let events = build.events.clone().filter(|_| finds_active);
        let events = events.map(|(key, n)| (key, vec![false; n as usize]));
        Self { meter: Meter::new(&build.measures), events }
    }

    pub fn add(&mut self, frame: &Frame) {
        self.meter.add(frame);
        if let Some((key, active)) = &mut self.events
            && let Some(Reading::Spikes(events)) = frame.reading(&*key)
        {
            for event in events {
                if let Some(is_active) = active.get_mut(event.lane as usize) {
                    *is_active = true;
                }
            }
        }
    }

    /// Returns the result of the finished trial, and the elements with events.
    pub fn finish(self, digest: Digest) -> FinishedTrial {
        let result = TrialResult { values: self.meter.values(), hash: digest.hash, state: TrialState::Run };
        FinishedTrial { result, active: self.events.map(|(_, active)| active) }
    }
}

/// Result of a trial that was run.
pub(in crate::experiment) struct FinishedTrial {
    pub result: TrialResult,
    /// Elements with events, if they were requested.
    pub active: Option<ActiveElements>,
}

/// Trial to run.
pub(in crate::experiment) struct Trial<'a> {
    /// Project under the condition.
    pub project: &'a Project,
    pub seed: u64,
    /// Whether elements with events are found.
    pub finds_active: bool,
    /// Run folder; `None` for a trial that is not recorded.
    pub folder: Option<PathBuf>,
}

/// Simulation of the last trial with its parameters.
struct Kept {
    sim: Box<dyn Simulation>,
    project: Project,
    taps: Vec<Tap>,
}

/// Runs trials of one build, one after another.
pub(in crate::experiment) struct Worker<'a> {
    pub build: &'a Build,
    pub device: Device,
    pub counters: &'a Counters,
    pub progress: &'a Progress,
    pub stop: StopFlag,
    /// Data of the run folders of recorded trials.
    pub recording: recorded::Recording<'a>,
    kept: Option<Kept>,
    /// Number of steps of a batch, which follows the speed of the trials.
    batch: u32,
}

impl<'a> Worker<'a> {
    pub fn new(
        build: &'a Build,
        device: Device,
        counters: &'a Counters,
        progress: &'a Progress,
        stop: StopFlag,
        recording: recorded::Recording<'a>,
    ) -> Self {
        Self { build, device, counters, progress, stop, recording, kept: None, batch: FIRST_BATCH }
    }

    /// Reuses a simulation with the parameters of the build.
    pub fn keep(&mut self, sim: Box<dyn Simulation>) {
        self.kept = Some(Kept { sim, project: self.build.project.clone(), taps: vec![] });
    }

    /// Runs a trial. Fails if the simulation or its recording fails, and with [`SimError::Cancelled`].
    pub fn run(&mut self, trial: &Trial<'_>) -> Result<FinishedTrial, SimError> {
        let mut taps = self.build.taps.clone();
        if trial.finds_active
            && let Some((key, _)) = &self.build.events
        {
            Tap::merge(&mut taps, [Tap::of(key.probe)]);
        }
        let mut kept = self.simulation(trial)?;
        let meter = TrialMeter::new(self.build, trial.finds_active);
        let (done, kept) = match &trial.folder {
            None => {
                if kept.taps != taps {
                    kept.sim.tap(&taps)?;
                    kept.taps = taps;
                }
                (self.step(&mut *kept.sim, meter)?, Some(kept))
            }
            Some(folder) => {
                let (done, sim) = recorded::run(self, trial, folder, kept.sim, taps, meter)?;
                (done, sim.map(|sim| Kept { sim, project: kept.project, taps: vec![] }))
            }
        };
        self.kept = kept;
        Ok(done)
    }

    /// Returns a simulation of the trial at step 0: that of the last trial with changed parameters and another seed, or a new one
    /// if the kind does not allow this. Fails if the device or an intervention fails.
    fn simulation(&mut self, trial: &Trial<'_>) -> Result<Kept, SimError> {
        if let Some(mut kept) = self.kept.take() {
            let changes = changes::differences(&kept.project, trial.project);
            let are_applied = changes.iter().all(|change| matches!(kept.sim.set(change), Ok(Effect::Applied)));
            if are_applied && kept.sim.restart(trial.seed)? {
                return Ok(Kept { project: trial.project.clone(), ..kept });
            }
        }
        let changes = changes::differences(&self.build.project, trial.project);
        let sim = self.build.prepared.start_trials(&[(trial.seed, &changes)], &self.device, self.progress)?;
        Ok(Kept { sim, project: trial.project.clone(), taps: vec![] })
    }

    /// Steps a simulation to the end of the trial. Fails if a step fails or the experiment is cancelled.
    fn step(&mut self, sim: &mut dyn Simulation, mut meter: TrialMeter) -> Result<FinishedTrial, SimError> {
        let mut pass = Pass::default();
        pass.stop = self.stop.clone();
        let mut frame = Frame::default();
        loop {
            let step = sim.clock().step;
            let left = self.build.until.saturating_sub(step);
            if left == 0 {
                return Ok(meter.finish(sim.digest(0)));
            }
            let since = Instant::now();
            let steps = u64::from(self.batch).min(left) as u32;
            sim.advance(steps, &mut pass)?;
            pass.timings.clear();
            if self.progress.is_cancelled() || self.stop.is_raised() {
                return Err(SimError::Cancelled);
            }
            frame.clock = sim.clock();
            sim.sample(&mut frame)?;
            meter.add(&frame);
            frame.readings.clear();
            self.counters.n_steps.fetch_add(sim.clock().step - step, Ordering::Relaxed);
            let took = since.elapsed();
            if took < BATCH / 2 && steps == self.batch {
                self.batch = (self.batch * 2).min(MAX_BATCH);
            } else if took > BATCH * 2 {
                self.batch = (self.batch / 2).max(1);
            }
        }
    }
}
