//! The safety recording: a small automatic recording of a run that the user does not record. The simulation never waits for
//! it: while the disk is busy, the blocks are merged in memory.

use super::{
    Checkpoint, EndStatus, EngineCounters, Event, LoggedCommand, RecordingEnd, RecordingStart, SchemaChanges,
    SimSchema, Sink,
    recorder::{Block, Recorder, RecorderThread, schema_blocks},
    worker::Worker,
};
use crate::sim::{Clock, Digest, Frame, Snapshot, Tap};
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

/// Minimum time between two blocks of readings.
const WRITE_EVERY: Duration = Duration::from_millis(250);
/// Reciprocal of the share of computing time that saving states may take.
const MAX_COST: u32 = 100;
/// Maximum number of blocks that wait for a stalled disk. Since readings are merged, the blocks are mostly commands and
/// lane changes.
const MAX_WAITING: usize = 1 << 16;

/// Contents of a safety recording.
#[derive(Clone, Debug, Default)]
pub struct SafetyPlan {
    /// Recorded probes: histories that need little memory.
    pub taps: Vec<Tap>,
    /// Computing time before anything is written; readings wait in memory until then.
    pub write_after: Duration,
    /// Minimum computing time between two saved states.
    pub state_every: Duration,
    /// Size limit of a saved state, bytes.
    pub max_state_bytes: u64,
}

/// Destination of the data, which is opened when the run is long enough.
enum Destination {
    Closed(Box<dyn Sink>, RecordingStart, Digest),
    Open(Recorder),
    Failed,
}

/// Safety recording in progress.
pub(super) struct SafetyRecorder {
    pub taps: Vec<Tap>,
    plan: SafetyPlan,
    to: Destination,
    waiting: VecDeque<Block>,
    /// Computing time at the start of the recording.
    since: Duration,
    first_step: u64,
    last_write: Instant,
    /// Computing time at which the next state is due.
    state_due: Duration,
    /// State that is being written.
    pending: Weak<Snapshot>,
}

impl SafetyRecorder {
    pub fn new(plan: SafetyPlan, sink: Box<dyn Sink>, start: RecordingStart, digest: Digest, now: Duration) -> Self {
        Self {
            taps: plan.taps.clone(),
            since: now,
            first_step: start.clock.step,
            last_write: Instant::now(),
            state_due: now + plan.write_after,
            pending: Weak::new(),
            waiting: VecDeque::new(),
            to: Destination::Closed(sink, start, digest),
            plan,
        }
    }

    /// Adds the readings of a batch.
    pub fn add(&mut self, frame: &Frame, digest: Digest) {
        let new = Frame { timings: vec![], ..frame.only(&self.taps) };
        match self.waiting.back_mut() {
            Some(Block::Readings(frame, last)) => {
                frame.absorb(new);
                *last = digest;
            }
            _ => self.waiting.push_back(Block::Readings(new, digest)),
        }
    }

    pub fn log(&mut self, step: u64, what: LoggedCommand) {
        self.waiting.push_back(Block::Command(step, what));
    }

    /// Adds schema changes after a step.
    pub fn schema_changed(&mut self, step: u64, old: &SimSchema, new: &SimSchema, changes: &SchemaChanges) {
        self.waiting.extend(schema_blocks(&self.taps, step, old, new, changes));
    }

    /// Whether a state is due: the interval of computing time has passed and the last state is written.
    fn is_state_due(&self, now: Duration) -> bool {
        now >= self.state_due && matches!(self.to, Destination::Open(_)) && self.pending.strong_count() == 0
    }

    /// Adds a state; `took` is the time that saving the state took. If the state exceeds the size limit, it is dropped, and
    /// no more states are saved.
    fn add_state(&mut self, checkpoint: Checkpoint, took: Duration, now: Duration) {
        self.state_due = now + self.plan.state_every.max(took * MAX_COST);
        if checkpoint.snapshot.n_bytes() > self.plan.max_state_bytes {
            self.state_due = Duration::MAX;
            return;
        }
        self.pending = Arc::downgrade(&checkpoint.snapshot);
        self.waiting.push_back(Block::Checkpoint(checkpoint));
    }

    fn open(&mut self, counters: &Arc<EngineCounters>) {
        let to = match std::mem::replace(&mut self.to, Destination::Failed) {
            Destination::Closed(sink, start, digest) => {
                let opened = Recorder::start(self.taps.clone(), &[], sink, start, digest, counters.clone());
                opened.map_or(Destination::Failed, Destination::Open)
            }
            other => other,
        };
        self.to = to;
    }

    /// Sends waiting blocks to the recorder while it accepts them. Returns `false` if the recorder has failed or too many
    /// blocks wait.
    fn write(&mut self, now: Duration, counters: &Arc<EngineCounters>) -> bool {
        if matches!(self.to, Destination::Closed(..)) && now.saturating_sub(self.since) < self.plan.write_after {
            return true;
        }
        self.open(counters);
        self.last_write = Instant::now();
        let Destination::Open(recorder) = &self.to else { return false };
        while let Some(block) = self.waiting.pop_front() {
            if let Err(block) = recorder.try_send(block) {
                self.waiting.push_front(block);
                break;
            }
        }
        !recorder.has_failed() && self.waiting.len() < MAX_WAITING
    }

    /// Writes all blocks and closes the recording. A recording without a step is removed.
    fn finish(mut self, end: RecordingEnd, counters: &Arc<EngineCounters>) -> RecordingEnd {
        if end.clock.step <= self.first_step {
            if let Some(thread) = self.discard() {
                thread.join().ok();
            }
            return end;
        }
        self.open(counters);
        match self.to {
            Destination::Open(recorder) => {
                let is_written = self.waiting.into_iter().all(|block| recorder.send(block));
                tracing::debug!("safety recording closed, whole: {is_written}");
                match recorder.finish(end) {
                    (Ok(()), end) => end,
                    (Err(error), end) => RecordingEnd { status: EndStatus::Failed(error.to_string()), ..end },
                }
            }
            _ => RecordingEnd { status: EndStatus::Failed("no thread for the recording".to_owned()), ..end },
        }
    }

    /// Ends the recording. Returns its thread, which removes the data; `None` if nothing was written.
    fn discard(self) -> Option<RecorderThread> {
        match self.to {
            Destination::Open(recorder) => Some(recorder.discard()),
            Destination::Closed(..) | Destination::Failed => None,
        }
    }
}

impl<W: Fn()> Worker<W> {
    /// Begins a safety recording at the present step.
    pub(super) fn record_safety(&mut self, plan: SafetyPlan, sink: Box<dyn Sink>) {
        self.discard_safety();
        if let Err(error) = self.finish_measuring() {
            self.reject(None, error);
        }
        let Some(start) = self.recording_start(&plan.taps) else { return };
        self.safety = Some(SafetyRecorder::new(plan, sink, start, self.digest(), self.computed));
        self.update_taps();
    }

    /// After a batch, saves a state if one is due and sends readings to the recorder.
    pub(super) fn write_safety(&mut self, is_pause: bool) {
        let (now, counters) = (self.computed, self.shared.counters.clone());
        if self.safety.as_ref().is_some_and(|safety| safety.is_state_due(now)) {
            self.save_for_safety();
        }
        let Some(safety) = &mut self.safety else { return };
        if (is_pause || safety.last_write.elapsed() >= WRITE_EVERY) && !safety.write(now, &counters) {
            self.close_safety(EndStatus::Failed("the disk takes no more data".to_owned()));
        }
    }

    fn save_for_safety(&mut self) {
        let Some(limit) = self.safety.as_ref().map(|safety| safety.plan.max_state_bytes) else { return };
        let n_bytes = self.sim.as_ref().map_or(0, |sim| sim.snapshot_bytes());
        let start = Instant::now();
        let saved = if n_bytes > limit { None } else { self.checkpoint() };
        let (took, now) = (start.elapsed(), self.computed);
        self.pace.forget();
        let Some(safety) = &mut self.safety else { return };
        match saved {
            Some(Ok(checkpoint)) => safety.add_state(checkpoint, took, now),
            // The state is too large or does not fit into memory; the readings are still kept.
            Some(Err(_)) | None => safety.state_due = Duration::MAX,
        }
    }

    /// Closes the safety recording and keeps its data.
    pub(super) fn close_safety(&mut self, status: EndStatus) {
        let (digest, clock) = self.batch_start.clone().unwrap_or_else(|| (self.digest(), self.clock()));
        self.close_safety_at(status, digest, clock);
    }

    pub(super) fn close_safety_at(&mut self, status: EndStatus, digest: Digest, clock: Clock) {
        let Some(safety) = self.safety.take() else { return };
        let end = RecordingEnd { status, digest, clock, computed: self.computed };
        let end = safety.finish(end, &self.shared.counters);
        self.update_taps();
        self.send_event(Event::SafetyClosed(end));
    }

    /// Ends the safety recording and removes its data on another thread, because the simulation is replaced or returns
    /// to another step.
    pub(super) fn discard_safety(&mut self) {
        if let Some(safety) = self.safety.take() {
            self.removals.retain(|thread| !thread.is_finished());
            self.removals.extend(safety.discard());
            self.update_taps();
        }
    }

    /// Waits at the end of the engine until the data of discarded recordings are removed.
    pub(super) fn finish_removals(&mut self) {
        let last = self.safety.take().and_then(SafetyRecorder::discard);
        for thread in self.removals.drain(..).chain(last) {
            if thread.join().is_err() {
                tracing::warn!("the recorder thread panicked");
            }
        }
    }
}
