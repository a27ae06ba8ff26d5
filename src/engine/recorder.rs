//! A recording in progress: a bounded queue to a thread that writes. If the disk is too slow, the simulation waits, so that
//! no spike is lost and memory is bounded.

use super::{
    Checkpoint, EngineCounters, LoggedCommand, SchemaChanges, SimSchema,
    best::FollowedResult,
    checkpoint::{CheckpointPlan, Rescue, Schedule},
};
use crate::{
    params::Change,
    sim::{Clock, Digest, ElementSet, Execution, Frame, Level, ProbeId, ProbeSpec, Tap},
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// Parameters at step 0 and every command applied after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandHistory {
    /// All parameters at step 0; empty if the simulation does not publish them.
    pub params: Vec<Change>,
    /// Commands with the steps at which they were applied.
    pub commands: Vec<(u64, LoggedCommand)>,
}

/// State at the start of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingStart {
    /// First recorded step.
    pub clock: Clock,
    /// Time at which the recording was requested; the destination may be opened later.
    pub begun: Option<Instant>,
    /// Computing time of the simulation at the start: [`EngineCounters::computed_nanos`].
    pub computed: Duration,
    /// Device and implementations of the simulation.
    pub execution: Execution,
    /// Number of trainable parameters; 0 without any.
    pub n_parameters: u64,
    /// Lane names of the recorded probes.
    pub lanes: Vec<(ProbeId, Vec<String>)>,
    /// Reference values and factors of the recorded probes that have any.
    pub levels: Vec<(ProbeId, Vec<Level>)>,
    /// Parameters and commands since step 0. The engine keeps the history, so that no command is lost between a snapshot of
    /// the project and the first recorded step.
    pub history: CommandHistory,
}

/// Reason of a recording's end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EndStatus {
    /// The recording was stopped or reached its planned end.
    #[default]
    Complete,
    /// The recording was interrupted before its planned end.
    Interrupted,
    /// The simulation or the disk failed.
    Failed(String),
}

/// State at the end of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordingEnd {
    /// Reason of the end.
    pub status: EndStatus,
    /// Hash and totals of the simulation at the end of the recorded data, with those of the trials if there are several.
    pub digest: Digest,
    /// Last recorded step.
    pub clock: Clock,
    /// Computing time of the simulation at the last recorded step: [`EngineCounters::computed_nanos`].
    pub computed: Duration,
}

/// Destination of a recording. Its methods run on the recorder's thread and may block.
pub trait Sink: Send {
    /// Starts the recording. Called once, before all other methods except `checkpoints` and `continues`. Fails if the data
    /// cannot be written.
    fn begin(&mut self, start: &RecordingStart) -> io::Result<()>;
    /// Appends a block of readings. After an error no blocks follow, and `finish` is called.
    fn write(&mut self, block: &Frame) -> io::Result<()>;
    /// Appends a logged command. Fails if the data cannot be written.
    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()>;
    /// Records that the samples of a probe have new lanes after this step. Fails if the data cannot be written.
    fn lanes_changed(&mut self, step: u64, probe: ProbeId, lanes: &[String]) -> io::Result<()>;
    /// Records that a probe has new reference values after this step. Fails if the data cannot be written.
    fn levels_changed(&mut self, step: u64, probe: ProbeId, levels: &[Level]) -> io::Result<()> {
        let _ = (step, probe, levels);
        Ok(())
    }
    /// Returns the conditions on which the sink requests checkpoints; called once, before `begin`.
    fn checkpoints(&self) -> CheckpointPlan {
        CheckpointPlan::default()
    }
    /// Writes a checkpoint of the state after the last block. May return before the checkpoint is on disk, and holds the
    /// snapshot until then, which delays the next checkpoint. Fails if the checkpoint cannot be written.
    fn checkpoint(&mut self, checkpoint: Checkpoint) -> io::Result<()> {
        drop(checkpoint);
        Ok(())
    }
    /// Marks a state saved after the last block, which may become a checkpoint through [`Sink::rescue`].
    fn mark(&mut self, step: u64) {
        let _ = step;
    }
    /// Writes the state of the last mark, after the simulation has failed.
    fn rescue(&mut self, checkpoint: &Checkpoint) {
        let _ = checkpoint;
    }
    /// Takes the results of finished background writes. Called while no block arrives, because a paused simulation sends
    /// none. Fails if a background write failed.
    fn idle(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Whether the sink continues a recording that ended at this step.
    fn continues(&self) -> bool {
        false
    }
    /// Records that these element sets changed after this step. Fails if the data cannot be written.
    fn sets_changed(&mut self, step: u64, sets: &[Arc<ElementSet>]) -> io::Result<()> {
        let _ = (step, sets);
        Ok(())
    }
    /// Closes the sink and removes its data. Only safety recordings are discarded. Fails if the data cannot be removed.
    fn discard(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
    /// Writes buffered data and closes the sink. Fails if the data cannot be written.
    fn finish(self: Box<Self>, end: &RecordingEnd) -> io::Result<()>;
}

/// Maximum number of blocks that wait for the disk.
const QUEUE: usize = 16;
/// Time without a block after which [`Sink::idle`] is called.
const IDLE_AFTER: Duration = Duration::from_millis(200);

/// Entry of the recorder's queue.
pub(super) enum Block {
    /// Readings, and the digest of the simulation after them.
    Readings(Frame, Digest),
    Command(u64, LoggedCommand),
    Lanes(u64, ProbeId, Vec<String>),
    Levels(u64, ProbeId, Vec<Level>),
    Checkpoint(Checkpoint),
    Mark(u64),
    Rescue(Checkpoint),
    Sets(u64, Vec<Arc<ElementSet>>),
    End(RecordingEnd),
}

/// Thread of a recording, which returns the result of writing and the end of the written data.
pub(super) type RecorderThread = std::thread::JoinHandle<(io::Result<()>, RecordingEnd)>;

pub(super) struct Recorder {
    pub taps: Vec<Tap>,
    /// Due times of checkpoints.
    pub schedule: Schedule,
    /// Result of which the best state is kept; `None` if none is.
    pub followed: Option<FollowedResult>,
    /// Last state that was saved during the recording.
    pub rescue: Option<Rescue>,
    queue: Sender<Block>,
    thread: RecorderThread,
    counters: Arc<EngineCounters>,
    failed: Arc<AtomicBool>,
    is_discarded: Arc<AtomicBool>,
}

impl Recorder {
    /// Starts the thread. `digest` is the digest of the simulation at the start, `probes` are its probes. Fails if the thread
    /// cannot be started.
    pub fn start(
        taps: Vec<Tap>,
        probes: &[ProbeSpec],
        mut sink: Box<dyn Sink>,
        start: RecordingStart,
        digest: Digest,
        counters: Arc<EngineCounters>,
    ) -> io::Result<Self> {
        let (queue, blocks) = bounded(QUEUE);
        let plan = sink.checkpoints();
        let followed = plan.best.and_then(|best| FollowedResult::new(best, probes));
        let schedule = Schedule::new(plan, start.clock.step);
        let failed = Arc::new(AtomicBool::new(false));
        let flag = failed.clone();
        let is_discarded = Arc::new(AtomicBool::new(false));
        let discarded = is_discarded.clone();
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || {
            let begun = sink.begin(&start);
            let written = RecordingEnd { digest, clock: start.clock, ..RecordingEnd::default() };
            Writer { sink, written, failed: flag, is_discarded: discarded }.run(begun, &blocks)
        })?;
        Ok(Self { taps, schedule, followed, rescue: None, queue, thread, counters, failed, is_discarded })
    }

    /// Queues a block; waits if the queue is full. Returns `false` if the sink has failed; the error is in the result of
    /// [`Recorder::finish`].
    pub fn offer(&self, frame: Frame, digest: Digest) -> bool {
        self.send(Block::Readings(frame, digest))
    }

    pub fn log(&self, step: u64, what: LoggedCommand) -> bool {
        self.send(Block::Command(step, what))
    }

    /// Queues schema changes after a step.
    pub fn schema_changed(&self, step: u64, old: &SimSchema, new: &SimSchema, changes: &SchemaChanges) {
        for block in schema_blocks(&self.taps, step, old, new, changes) {
            self.send(block);
        }
    }

    pub fn checkpoint(&mut self, checkpoint: Checkpoint) -> bool {
        self.schedule.taken(&checkpoint);
        self.send(Block::Checkpoint(checkpoint))
    }

    /// Marks the position of a saved state in the recording.
    pub fn mark(&mut self, checkpoint: &Checkpoint) {
        self.rescue = Some(Rescue::of(checkpoint));
        self.send(Block::Mark(checkpoint.clock.step));
    }

    /// Queues the state of the last mark.
    pub fn rescue(&self, checkpoint: Checkpoint) {
        self.send(Block::Rescue(checkpoint));
    }

    pub fn send(&self, block: Block) -> bool {
        if self.failed.load(Ordering::Relaxed) {
            return false;
        }
        self.counters.queued_blocks.store(self.queue.len() as u64, Ordering::Relaxed);
        match self.queue.try_send(block) {
            Ok(()) => true,
            Err(TrySendError::Full(block)) => {
                let start = Instant::now();
                let sent = self.queue.send(block).is_ok();
                self.counters.stalled_nanos.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
                sent
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// Queues a block if there is room, otherwise fails with the block. After a failure of the sink, the block is dropped.
    #[expect(clippy::result_large_err, reason = "the block is queued later")]
    pub fn try_send(&self, block: Block) -> Result<(), Block> {
        match self.queue.try_send(block) {
            Err(TrySendError::Full(block)) => Err(block),
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
        }
    }

    /// Whether the sink has failed.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.thread.is_finished()
    }

    /// Ends the recording. Returns the thread, which removes the data.
    pub fn discard(self) -> RecorderThread {
        self.is_discarded.store(true, Ordering::Relaxed);
        self.thread
    }

    /// Closes the recording. Returns the result of writing, an error if the sink or the thread failed, and the written
    /// end, which is earlier than `end` after a failure.
    pub fn finish(self, end: RecordingEnd) -> (io::Result<()>, RecordingEnd) {
        self.queue.send(Block::End(end.clone())).ok();
        drop(self.queue);
        self.thread.join().unwrap_or_else(|_| (Err(io::Error::other("the recorder thread panicked")), end))
    }
}

/// Returns the queue entries about schema changes after a step, for a recording of the given taps.
pub(super) fn schema_blocks(
    taps: &[Tap],
    step: u64,
    old: &SimSchema,
    new: &SimSchema,
    changes: &SchemaChanges,
) -> Vec<Block> {
    let mut blocks = vec![];
    let sets = new.sets.iter().filter(|set| changes.sets.iter().any(|s| s.name == set.name));
    let sets: Vec<_> = sets.cloned().collect();
    if !sets.is_empty() {
        blocks.push(Block::Sets(step, sets));
    }
    for probe in changes.probes.iter().filter(|id| taps.iter().any(|t| t.probe == **id)) {
        let lanes = |schema: &SimSchema| schema.lanes.get(usize::from(*probe)).cloned().unwrap_or_default();
        if lanes(new) != lanes(old) {
            blocks.push(Block::Lanes(step, *probe, lanes(new)));
        }
    }
    for probe in taps.iter().map(|tap| tap.probe).filter(|id| new.levels(*id) != old.levels(*id)) {
        let now = new.levels(probe).iter().filter(|level| level.to_step.is_none());
        blocks.push(Block::Levels(step, probe, now.cloned().collect()));
    }
    blocks
}

/// State of the recorder's thread.
struct Writer {
    sink: Box<dyn Sink>,
    /// End of the written data.
    written: RecordingEnd,
    failed: Arc<AtomicBool>,
    is_discarded: Arc<AtomicBool>,
}

impl Writer {
    /// Writes blocks until the end. After an error, waits for the end without writing, so that the sink can still be
    /// closed.
    fn run(mut self, begun: io::Result<()>, blocks: &Receiver<Block>) -> (io::Result<()>, RecordingEnd) {
        let mut result = begun;
        loop {
            let block = match blocks.recv_timeout(IDLE_AFTER) {
                Ok(block) => block,
                Err(RecvTimeoutError::Timeout) => {
                    result = result.and_then(|()| self.sink.idle());
                    self.failed.store(result.is_err(), Ordering::Relaxed);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            };
            self.failed.store(result.is_err(), Ordering::Relaxed);
            if self.is_discarded.load(Ordering::Relaxed) {
                break;
            }
            match block {
                Block::End(end) => return self.close(result, end),
                _ if result.is_err() => {}
                block => result = self.write(block),
            }
            self.failed.store(result.is_err(), Ordering::Relaxed);
        }
        if self.is_discarded.load(Ordering::Relaxed) {
            return (self.sink.discard(), self.written);
        }
        // The queue was closed without an end, so the engine's thread ended abnormally.
        let status = EndStatus::Failed("internal error, see the log".to_owned());
        let end = RecordingEnd { status, ..self.written.clone() };
        self.close(result, end)
    }

    fn write(&mut self, block: Block) -> io::Result<()> {
        match block {
            Block::Readings(frame, digest) => {
                self.sink.write(&frame)?;
                (self.written.digest, self.written.clock) = (digest, frame.clock);
                Ok(())
            }
            Block::Command(step, what) => self.sink.log(step, &what),
            Block::Lanes(step, probe, lanes) => self.sink.lanes_changed(step, probe, &lanes),
            Block::Levels(step, probe, levels) => self.sink.levels_changed(step, probe, &levels),
            Block::Checkpoint(checkpoint) => self.sink.checkpoint(checkpoint),
            Block::Mark(step) => {
                self.sink.mark(step);
                Ok(())
            }
            Block::Rescue(checkpoint) => {
                self.sink.rescue(&checkpoint);
                Ok(())
            }
            Block::Sets(step, sets) => self.sink.sets_changed(step, &sets),
            Block::End(_) => Ok(()),
        }
    }

    /// Closes the sink at `end`, or at the last written block if writing failed.
    fn close(self, result: io::Result<()>, end: RecordingEnd) -> (io::Result<()>, RecordingEnd) {
        let end = match &result {
            Ok(()) => end,
            Err(error) => RecordingEnd { status: EndStatus::Failed(error.to_string()), ..self.written },
        };
        let closed = self.sink.finish(&end);
        (result.and(closed), end)
    }
}
