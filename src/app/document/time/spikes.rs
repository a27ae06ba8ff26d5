//! Spikes in memory, as chunks in time order. The oldest chunks are dropped first.

use crate::sim::Spike;
use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Number of spikes per chunk.
pub const CHUNK: usize = 1 << 16;
/// Default maximum number of spikes in memory (160 MB).
pub const CAPACITY: usize = 20_000_000;
/// Bytes per spike.
const SPIKE_BYTES: usize = 8;

// The settings set the limit, and the thread of the indexer reads it.
static LIMIT: AtomicUsize = AtomicUsize::new(CAPACITY);

/// Sets the memory of single spikes in all histories.
pub fn set_memory(bytes: usize) {
    LIMIT.store((bytes / SPIKE_BYTES).max(CHUNK), Ordering::Relaxed);
}

/// Returns the maximum number of spikes in memory.
pub fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// The newest spikes, sorted by step. Chunks are shared with jobs on the pool; the tail is copied.
#[derive(Clone, Default)]
pub struct History {
    chunks: VecDeque<Arc<Vec<Spike>>>,
    tail: Vec<Spike>,
    len: usize,
    dropped: u64,
    origin: Option<u64>,
    /// Maximum number of spikes; `None` for the limit in the settings.
    capacity: Option<usize>,
}

impl History {
    /// Creates a history of about at most `capacity` spikes.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { capacity: Some(capacity), ..Self::default() }
    }

    /// Appends spikes whose steps are modulo 2³², the newest not after `now`. Steps are stored relative to
    /// [`History::origin`], so that they never wrap.
    pub fn push(&mut self, spikes: &[Spike], now: u64) {
        self.push_dropping(spikes, now, |_, _| {});
    }

    /// Appends spikes as [`History::push`] does. Calls `drop` with the spikes that leave memory, oldest first, and the
    /// origin of their steps.
    pub fn push_dropping(&mut self, spikes: &[Spike], now: u64, mut drop: impl FnMut(&[Spike], u64)) {
        let Some(first) = spikes.first() else { return };
        let first = full_step(first.step, now);
        let origin = *self.origin.get_or_insert(if first >> 31 == 0 { 0 } else { first });
        if now.saturating_sub(origin) > u64::from(u32::MAX) {
            self.slices(0, u32::MAX).for_each(|slice| drop(slice, origin));
            let capacity = self.capacity;
            let dropped = self.dropped + self.len as u64;
            *self = Self { dropped, capacity, ..Self::default() };
            return self.push_dropping(spikes, now, drop);
        }
        for spike in spikes {
            let step = full_step(spike.step, now).saturating_sub(origin) as u32;
            self.tail.push(Spike { step, lane: spike.lane });
            if self.tail.len() == CHUNK {
                self.chunks.push_back(Arc::new(std::mem::replace(&mut self.tail, Vec::with_capacity(CHUNK))));
            }
        }
        self.len += spikes.len();
        while self.len > self.capacity.unwrap_or_else(limit) {
            let Some(oldest) = self.chunks.pop_front() else { break };
            drop(&oldest, origin);
            self.len -= oldest.len();
            self.dropped += oldest.len() as u64;
        }
    }

    /// Returns the number of spikes in memory.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no spikes are in memory.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of spikes dropped from memory.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns the absolute step of relative step 0.
    pub fn origin(&self) -> u64 {
        self.origin.unwrap_or(0)
    }

    /// Iterates over the slices with relative steps `from..to`, in time order.
    pub fn slices(&self, from: u32, to: u32) -> impl Iterator<Item = &[Spike]> {
        let chunks = self.chunks_between(from, to).map(|(_, c)| c.as_slice());
        let slices = chunks.chain(std::iter::once(self.tail.as_slice()));
        slices.map(move |c| between(c, from, to)).filter(|s| !s.is_empty())
    }

    /// Counts the spikes with relative steps `from..to` by binary searches.
    pub fn count(&self, from: u32, to: u32) -> usize {
        self.before(to).saturating_sub(self.before(from))
    }

    /// Counts the spikes in memory before a relative step.
    fn before(&self, step: u32) -> usize {
        let full = self.chunks.partition_point(|c| c.last().is_some_and(|s| s.step < step));
        let rest = self.chunks.get(full).map_or(self.tail.as_slice(), |c| c.as_slice());
        // All chunks have the same length.
        full * CHUNK + rest.partition_point(|s| s.step < step)
    }

    /// Iterates over the full chunks that may contain relative steps `from..to`, each with its sequence number.
    pub fn chunks_between(
        &self,
        from: u32,
        to: u32,
    ) -> impl DoubleEndedIterator<Item = (u64, &Arc<Vec<Spike>>)> + ExactSizeIterator {
        let start = self.chunks.partition_point(|c| c.last().is_some_and(|s| s.step < from));
        let end = self.chunks.partition_point(|c| c.first().is_some_and(|s| s.step < to)).max(start);
        let first = self.dropped / CHUNK as u64 + start as u64;
        self.chunks.range(start..end).enumerate().map(move |(i, chunk)| (first + i as u64, chunk))
    }

    /// Returns the number of spikes ever added, which is a position for [`History::after`].
    pub fn sequence(&self) -> u64 {
        self.dropped + self.len as u64
    }

    /// Iterates over the slices of spikes added after a position.
    pub fn after(&self, sequence: u64) -> impl Iterator<Item = &[Spike]> {
        let skip = sequence.saturating_sub(self.dropped) as usize;
        let chunks = self.chunks.iter().map(|c| c.as_slice()).chain(std::iter::once(self.tail.as_slice()));
        // All chunks have the same length.
        chunks.skip(skip / CHUNK).enumerate().map(move |(i, c)| {
            let from = if i == 0 { skip % CHUNK } else { 0 };
            c.get(from..).unwrap_or(&[])
        })
    }

    /// Returns the relative step of the newest spike; `None` without spikes.
    pub fn last_step(&self) -> Option<u32> {
        self.tail.last().or_else(|| self.chunks.back().and_then(|c| c.last())).map(|s| s.step)
    }

    /// Returns the relative step of the oldest spike; `None` without spikes.
    pub fn first_step(&self) -> Option<u32> {
        self.chunks.front().and_then(|c| c.first()).or_else(|| self.tail.first()).map(|s| s.step)
    }

    /// Returns a relative step from which on there are at most `n` spikes; `None` without spikes.
    pub fn first_step_of_newest(&self, n: usize) -> Option<u32> {
        if self.len <= n {
            return self.first_step();
        }
        let chunk = self.chunks.get((self.len - n).div_ceil(CHUNK)).map_or(self.tail.as_slice(), |c| c.as_slice());
        // The previous chunk may contain other spikes of the step of this chunk's first spike.
        chunk.first().map(|spike| spike.step + 1)
    }

    /// Iterates over the full chunks, each with its sequence number.
    pub fn chunks(&self) -> impl DoubleEndedIterator<Item = (u64, &Arc<Vec<Spike>>)> + ExactSizeIterator {
        self.chunks_between(0, u32::MAX)
    }

    /// Returns the newest spikes, which do not fill a chunk yet.
    pub fn tail(&self) -> &[Spike] {
        &self.tail
    }

    /// Returns the spikes with relative steps `from..to` for a job on the pool. Chunks are shared, the tail is copied.
    pub fn share(&self, from: u32, to: u32) -> Vec<Arc<Vec<Spike>>> {
        let mut shared: Vec<_> = self.chunks_between(from, to).map(|(_, c)| c.clone()).collect();
        let tail = between(&self.tail, from, to);
        if !tail.is_empty() {
            shared.push(Arc::new(tail.to_vec()));
        }
        shared
    }
}

/// Returns the part of a sorted slice with steps `from..to`.
pub fn between(spikes: &[Spike], from: u32, to: u32) -> &[Spike] {
    let a = spikes.partition_point(|s| s.step < from);
    let b = a + spikes[a..].partition_point(|s| s.step < to);
    &spikes[a..b]
}

/// Returns the latest step up to `now` that equals `step` modulo 2³².
pub(super) fn full_step(step: u32, now: u64) -> u64 {
    let full = (now & !u64::from(u32::MAX)) | u64::from(step);
    if full > now { full.saturating_sub(1 << 32) } else { full }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spikes(steps: std::ops::Range<u64>) -> Vec<Spike> {
        steps.map(|s| Spike { step: s as u32, lane: (s % 10) as u32 }).collect()
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let mut history = History::with_capacity(3 * CHUNK);
        history.push(&spikes(0..5 * CHUNK as u64), 5 * CHUNK as u64);
        assert!(history.len <= 3 * CHUNK);
        assert_eq!(history.dropped() + history.len as u64, 5 * CHUNK as u64);
        assert_eq!(history.slices(0, u32::MAX).flatten().next().map(|s| s.step), Some(history.dropped() as u32));
    }

    #[test]
    fn ranges_are_exact_across_chunks() {
        let mut history = History::default();
        for block in 0..30 {
            history.push(&spikes(block * 10_000..(block + 1) * 10_000), (block + 1) * 10_000);
        }
        assert_eq!(history.count(65_000, 140_000), 75_000);
        let whole: usize = history.chunks().map(|(_, c)| c.len()).sum();
        assert_eq!(whole + history.tail().len(), 300_000);
        let steps: Vec<u32> = history.slices(65_530, 65_540).flatten().map(|s| s.step).collect();
        assert_eq!(steps, (65_530..65_540).collect::<Vec<_>>());
        let after: Vec<u32> = history.after(131_070).flatten().map(|s| s.step).collect();
        assert_eq!((after.len(), after[0]), (300_000 - 131_070, 131_070));
        assert_eq!(history.after(300_000).flatten().count(), 0);
        let newest = history.first_step_of_newest(150_000).expect("spikes");
        assert!((65_536..=150_000).contains(&history.count(newest, u32::MAX)));
        assert_eq!(history.first_step_of_newest(300_000), Some(0));
    }

    #[test]
    fn steps_beyond_32_bits_do_not_wrap() {
        let start = (1u64 << 32) - 5;
        let mut history = History::default();
        history.push(&spikes(start..start + 10), start + 10);
        assert_eq!(history.origin(), start);
        assert_eq!(history.slices(0, 100).flatten().map(|s| s.step).collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }
}
