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

/// Target duration of a batch of steps, after which a trial can be cancelled.
const BATCH: Duration = Duration::from_millis(10);
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
        Self { build, device, counters, progress, stop, recording, kept: None, batch: 1 }
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

    /// Steps a simulation to the end of the trial. Fails if a step fails or the experiment is cancelled. A cancel takes effect after the
    /// batch in progress; simulations with long steps end the batch early.
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
            // The rest of a trial says little about the duration of a whole batch.
            if steps == self.batch || since.elapsed() > BATCH {
                self.batch = next_batch(steps, since.elapsed());
            }
        }
    }
}

/// Returns the number of steps that take [`BATCH`], given that `steps` steps took `time`. A batch is at most twice as long as the
/// one before, and as short as needed at once. The first has one step, because its duration is unknown.
fn next_batch(steps: u32, time: Duration) -> u32 {
    let ratio = (BATCH.as_secs_f64() / time.as_secs_f64().max(1e-9)).min(2.0);
    ((f64::from(steps) * ratio).round() as u32).clamp(1, MAX_BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_short_from_the_first_on_and_after_a_change_of_speed() {
        let mut batch = 1;
        let mut run = |micros: u64, n: usize| -> (Duration, u32) {
            let durations = (0..n).map(|_| {
                let time = Duration::from_micros(micros) * batch;
                batch = next_batch(batch, time);
                time
            });
            (durations.max().unwrap_or_default(), batch)
        };
        assert_eq!(run(1, 40), (BATCH, 10_000), "fast steps");
        assert_eq!(run(5, 1), (BATCH * 5, 2_000), "one batch is too long, the next is not");
        assert_eq!(run(5, 40), (BATCH, 2_000));
        assert_eq!(run(4_000, 1).1, 3);
        assert_eq!(run(60_000, 40), (Duration::from_millis(180), 1), "three steps, then one");
        assert_eq!(run(60_000, 40), (Duration::from_millis(60), 1), "a long step is a batch");
        assert_eq!(next_batch(MAX_BATCH, Duration::ZERO), MAX_BATCH);
    }
}
