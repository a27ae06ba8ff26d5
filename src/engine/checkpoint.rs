//! Checkpoints: a snapshot of the simulation with the parameters and commands that led to it.

use super::{BestPlan, BestState, Event, worker::Worker};
use crate::{
    params::{Change, Params},
    sim::{Clock, Digest, Effect, HostMemory, SimError, Simulation, Snapshot, group_digits},
};
use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// State from which a simulation can continue. Clones share the memory of the snapshot.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// State of the simulation.
    pub snapshot: Arc<Snapshot>,
    /// Step and time base of the state.
    pub clock: Clock,
    /// Hash and totals up to the state, of all trials combined.
    pub digest: Digest,
    /// Parameters in effect; empty if the simulation does not publish them.
    pub params: Vec<Change>,
    /// Number of entries of the command log that led to the state. Later entries of the same step are not included.
    pub n_logged: u64,
    /// Best state of the recording up to the state; `None` if the recording follows no result.
    pub best: Option<BestState>,
    /// Whether the checkpoint is only taken because its state is the best one so far.
    pub is_only_best: bool,
}

/// Conditions on which a recording takes checkpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CheckpointPlan {
    /// Wall-clock interval; zero for no checkpoints by time.
    pub every: Duration,
    /// Interval in steps; 0 for no checkpoints by steps.
    pub every_steps: u64,
    /// Whether a checkpoint is taken at the end of the recording, unless the recording failed.
    pub at_end: bool,
    /// Whether the wall-clock interval was not set by the user.
    pub is_automatic: bool,
    /// Result of which the recording keeps the best state; `None` if it keeps none.
    pub best: Option<BestPlan>,
}

impl CheckpointPlan {
    /// Whether checkpoints are taken at least about every `every`. Intervals in steps count as frequent.
    pub fn is_every(&self, every: Duration) -> bool {
        self.every_steps > 0 || !self.every.is_zero() && self.every <= every
    }

    /// Whether checkpoints are taken while the recording runs.
    pub const fn is_periodic(&self) -> bool {
        !self.every.is_zero() || self.every_steps > 0
    }
}

/// Due times of the checkpoints of a recording. Only one snapshot exists at a time.
pub(super) struct Schedule {
    plan: CheckpointPlan,
    last: Instant,
    /// Step of the last checkpoint, or of the start of the recording.
    pub last_step: u64,
    last_logged: u64,
    /// Snapshot that the recorder is writing.
    pending: Weak<Snapshot>,
}

impl Schedule {
    pub fn new(plan: CheckpointPlan, step: u64) -> Self {
        Self { plan, last: Instant::now(), last_step: step, last_logged: u64::MAX, pending: Weak::new() }
    }

    /// Returns the steps until the next checkpoint that is planned by steps; `u64::MAX` if none is planned.
    pub fn steps_left(&self, step: u64) -> u64 {
        if self.plan.every_steps == 0 { u64::MAX } else { self.plan.every_steps - step % self.plan.every_steps }
    }

    fn is_due(&self, step: u64) -> bool {
        let by_steps = self.plan.every_steps > 0 && step.is_multiple_of(self.plan.every_steps);
        let by_time = !self.plan.every.is_zero() && self.last.elapsed() >= self.plan.every && !self.is_pending();
        step != self.last_step && (by_steps || by_time)
    }

    fn is_pending(&self) -> bool {
        self.pending.strong_count() > 0
    }

    /// Waits until the recorder has written the last snapshot.
    fn wait(&self) {
        while self.is_pending() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn taken(&mut self, checkpoint: &Checkpoint) {
        if !checkpoint.is_only_best {
            self.last = Instant::now();
        }
        self.last_step = checkpoint.clock.step;
        (self.last_logged, self.pending) = (checkpoint.n_logged, Arc::downgrade(&checkpoint.snapshot));
    }
}

impl<W: Fn()> Worker<W> {
    /// Sends a checkpoint to the recorder if one is due.
    pub(super) fn checkpoint_if_due(&mut self) {
        let step = self.clock().step;
        if self.recorder.as_ref().is_some_and(|recorder| recorder.schedule.is_due(step)) {
            self.record_checkpoint(false);
        }
    }

    /// Sends the present state, which is the best one so far, to the recorder.
    pub(super) fn keep_best(&mut self) {
        let step = self.clock().step;
        let is_due = self.recorder.as_ref().is_some_and(|recorder| recorder.schedule.is_due(step));
        self.record_checkpoint(!is_due);
    }

    /// Sends the last checkpoint of a recording to the recorder. An interrupted run can continue from it.
    pub(super) fn final_checkpoint(&mut self, is_interrupted: bool) {
        let (step, n_logged) = (self.clock().step, self.history.commands.len() as u64);
        let is_new = |s: &Schedule| (s.last_step, s.last_logged) != (step, n_logged);
        let is_wanted = |s: &Schedule| (s.plan.at_end || (is_interrupted && s.plan.is_periodic())) && is_new(s);
        if self.recorder.as_ref().is_some_and(|recorder| is_wanted(&recorder.schedule)) {
            self.record_checkpoint(false);
        }
    }

    fn record_checkpoint(&mut self, is_only_best: bool) {
        if let Some(recorder) = &self.recorder {
            recorder.schedule.wait();
        }
        match self.checkpoint() {
            Some(Ok(checkpoint)) => {
                // If the recorder has failed, the next block reports it.
                let marked = Checkpoint { is_only_best, ..checkpoint };
                let _ = self.recorder.as_mut().map(|recorder| recorder.checkpoint(marked));
            }
            Some(Err(error)) => self.send_event(Event::CheckpointFailed(error)),
            None => {}
        }
    }

    /// Saves the current state for a [`Command::Save`](super::Command::Save). If a recording in progress fails later,
    /// it can continue from this state.
    pub(super) fn save(&mut self) {
        match self.checkpoint() {
            Some(Ok(checkpoint)) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.mark(&checkpoint);
                }
                self.send_event(Event::Saved(checkpoint));
            }
            Some(Err(error)) => self.reject(None, error),
            None => {}
        }
    }

    /// After a failure of the simulation, turns the last saved state into a checkpoint of the recording, if the state is newer
    /// than the last checkpoint and still in memory.
    pub(super) fn rescue(&mut self) {
        let Some(recorder) = &mut self.recorder else { return };
        let last = recorder.schedule.last_step;
        if let Some(checkpoint) = recorder.rescue.take().and_then(|rescue| rescue.newer_than(last)) {
            recorder.rescue(checkpoint);
        }
    }

    /// Takes a checkpoint of the present state; `None` without a simulation. The simulation waits for the copy to host
    /// memory, and not for the disk. The inner error is that of the simulation, or a lack of host memory.
    pub(super) fn checkpoint(&mut self) -> Option<Result<Checkpoint, SimError>> {
        if let Err(error) = self.finish_measuring() {
            return Some(Err(error));
        }
        let n_logged = self.history.commands.len() as u64;
        let sim = self.sim.as_mut()?;
        if let Err(error) = check_memory(sim.snapshot_bytes(), sim.clock().step) {
            return Some(Err(error));
        }
        let params = params_of(&**sim);
        let best = self.recorder.as_ref().and_then(|recorder| recorder.followed.as_ref()?.best);
        Some(sim.save().map(|snapshot| Checkpoint {
            snapshot: Arc::new(snapshot),
            clock: sim.clock(),
            digest: Digest::of(&**sim),
            params,
            n_logged,
            best,
            is_only_best: false,
        }))
    }
}

/// Fails if the available host memory is less than the size of a snapshot.
fn check_memory(n_bytes: u64, step: u64) -> Result<(), SimError> {
    let Some(memory) = HostMemory::now().filter(|memory| memory.available < n_bytes) else { return Ok(()) };
    let gb = |bytes: u64| format!("{:.1} GB", bytes as f64 * 1e-9);
    Err(SimError::Input(format!(
        "the checkpoint of step {} was not taken: it needs {} of host memory, and {} of {} are available; close other \
         programs, or record without checkpoints",
        group_digits(step),
        gb(n_bytes),
        gb(memory.available),
        gb(memory.total)
    )))
}

/// Last state saved during a recording. The requester of the state owns the memory of the snapshot.
pub(super) struct Rescue {
    /// Checkpoint without its snapshot.
    checkpoint: Checkpoint,
    snapshot: Weak<Snapshot>,
}

impl Rescue {
    pub fn of(checkpoint: &Checkpoint) -> Self {
        let snapshot = Arc::downgrade(&checkpoint.snapshot);
        Self { checkpoint: Checkpoint { snapshot: Arc::default(), ..checkpoint.clone() }, snapshot }
    }

    /// Returns the checkpoint; `None` if the last checkpoint on disk, at `step`, is not earlier or the snapshot has been
    /// freed.
    fn newer_than(self, step: u64) -> Option<Checkpoint> {
        let snapshot = self.snapshot.upgrade().filter(|_| self.checkpoint.clock.step > step)?;
        Some(Checkpoint { snapshot, ..self.checkpoint })
    }
}

fn params_of(sim: &dyn Simulation) -> Vec<Change> {
    sim.params().map(Params::snapshot).unwrap_or_default()
}

/// Returns a simulation to a checkpoint and its parameters. Fails if a parameter needs a rebuild or the state does not
/// load; the simulation is then unchanged.
pub(super) fn restore(sim: &mut dyn Simulation, checkpoint: &Checkpoint) -> Result<(), SimError> {
    let now = params_of(sim);
    let changes: Vec<&Change> = checkpoint.params.iter().filter(|change| !now.contains(change)).collect();
    if changes.is_empty() {
        return sim.load(&checkpoint.snapshot);
    }
    // A parameter change may modify the state, so the state is loaded last.
    let before = sim.save()?;
    let restored = changes.iter().try_for_each(|change| match sim.set(change)? {
        Effect::Applied => Ok(()),
        Effect::NeedsRebuild => Err(SimError::Input("the checkpoint needs other parameters: rebuild first".to_owned())),
    });
    let restored = restored.and_then(|()| sim.load(&checkpoint.snapshot));
    if restored.is_err() {
        now.iter().filter(|change| !checkpoint.params.contains(change)).try_for_each(|c| sim.set(c).map(drop))?;
        sim.load(&before)?;
    }
    restored
}
