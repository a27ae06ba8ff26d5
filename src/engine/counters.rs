//! Counters of the engine.

use crate::gpu::Activity;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that any thread can read at any time.
#[derive(Default)]
pub struct EngineCounters {
    /// Number of steps taken.
    pub step: AtomicU64,
    /// Wall-clock nanoseconds of the last batch.
    pub batch_nanos: AtomicU64,
    /// Number of steps in the last batch.
    pub batch_steps: AtomicU64,
    /// Wall-clock nanoseconds that the simulation has waited for the recorder.
    pub stalled_nanos: AtomicU64,
    /// Number of blocks in the recorder's queue.
    pub queued_blocks: AtomicU64,
    /// Nanoseconds of computing since step 0, or since the state that the simulation began with. Excludes pauses and
    /// waits for the speed limit or the disk.
    pub computed_nanos: AtomicU64,
    /// Progress of long work between steps.
    pub activity: Activity,
}

impl EngineCounters {
    /// Reads a counter.
    pub fn read(counter: &AtomicU64) -> u64 {
        counter.load(Ordering::Relaxed)
    }
}
