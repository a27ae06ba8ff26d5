//! A recording in progress: a bounded queue to a thread of its own. When the disk is the bottleneck the
//! simulation waits; it never loses a spike and never grows without bound.

use super::{EngineCounters, LoggedCommand};
use crate::sim::{Clock, Digest, Frame, ProbeId, Tap};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

/// Where a recording goes. Runs on the recorder's thread, so it may block.
pub trait Sink: Send {
    /// Appends a block of readings. After an error nothing more is written, and `finish` is still called.
    fn write(&mut self, block: &Frame) -> io::Result<()>;
    /// Appends a logged command.
    fn log(&mut self, step: u64, what: &LoggedCommand) -> io::Result<()>;
    /// Names of the lanes and elements of what is recorded; called once, before the first block.
    fn begin(&mut self, clock: Clock, lanes: &[(ProbeId, Vec<String>)]) -> io::Result<()>;
    /// Flushes and writes the index.
    fn finish(self: Box<Self>, digest: &Digest, clock: Clock) -> io::Result<()>;
}

/// Blocks that may wait for the disk.
const QUEUE: usize = 16;

enum Block {
    Readings(Frame),
    Command(u64, LoggedCommand),
    End(Digest, Clock),
}

pub(super) struct Recorder {
    pub taps: Vec<Tap>,
    queue: Sender<Block>,
    thread: std::thread::JoinHandle<io::Result<()>>,
    counters: Arc<EngineCounters>,
    failed: Arc<AtomicBool>,
}

impl Recorder {
    pub fn start(
        taps: Vec<Tap>,
        mut sink: Box<dyn Sink>,
        clock: Clock,
        lanes: Vec<(ProbeId, Vec<String>)>,
        counters: Arc<EngineCounters>,
    ) -> io::Result<Self> {
        let (queue, blocks) = bounded(QUEUE);
        let failed = Arc::new(AtomicBool::new(false));
        let flag = failed.clone();
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || {
            let begun = sink.begin(clock, &lanes);
            drain(sink, begun, &blocks, &flag)
        })?;
        Ok(Self { taps, queue, thread, counters, failed })
    }

    /// Hands over a block; waits when the queue is full. `false` when the sink has failed: its error waits
    /// in `finish`.
    pub fn offer(&self, frame: Frame) -> bool {
        self.send(Block::Readings(frame))
    }

    pub fn log(&self, step: u64, what: LoggedCommand) -> bool {
        self.send(Block::Command(step, what))
    }

    fn send(&self, block: Block) -> bool {
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

    pub fn finish(self, digest: Digest, clock: Clock) -> io::Result<()> {
        self.queue.send(Block::End(digest, clock)).ok();
        drop(self.queue);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the recorder thread panicked")))
    }
}

/// Writes until the end. After an error it only waits for the end, so that the sink can still be closed.
fn drain(
    mut sink: Box<dyn Sink>,
    begun: io::Result<()>,
    blocks: &Receiver<Block>,
    failed: &AtomicBool,
) -> io::Result<()> {
    let mut result = begun;
    for block in blocks {
        failed.store(result.is_err(), Ordering::Relaxed);
        match block {
            Block::End(digest, clock) => {
                let closed = sink.finish(&digest, clock);
                return result.and(closed);
            }
            _ if result.is_err() => {}
            Block::Readings(frame) => result = sink.write(&frame),
            Block::Command(step, what) => result = sink.log(step, &what),
        }
        failed.store(result.is_err(), Ordering::Relaxed);
    }
    result
}
