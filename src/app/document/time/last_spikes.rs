//! The last spike of every element before any step. States are kept at checkpoints among the spikes in memory, so that only
//! the spikes of a few chunks after a checkpoint must be counted.

use super::spikes::{CHUNK, History, between};
use crate::sim::Spike;
use std::{collections::VecDeque, sync::Arc};

/// Minimum number of chunks between two checkpoints.
const CHUNKS: usize = 16;

/// Relative step of the last spike of each element plus 1; 0 for none.
type LastSteps = Vec<u32>;

/// State after some full chunks.
#[derive(Clone)]
struct Checkpoint {
    /// Sequence number of the first chunk after the checkpoint.
    next_chunk: u64,
    /// Step of the newest spike in the state.
    last_step: u32,
    last: Arc<LastSteps>,
}

/// Checkpoints, which clones share.
#[derive(Clone, Default)]
pub struct LastSpikes {
    /// State after the spikes that have left memory.
    dropped: Arc<LastSteps>,
    checkpoints: VecDeque<Checkpoint>,
    origin: u64,
}

fn count(last: &mut LastSteps, spikes: &[Spike]) {
    for spike in spikes {
        let lane = spike.lane as usize;
        if lane >= last.len() {
            last.resize(lane + 1, 0);
        }
        last[lane] = spike.step.saturating_add(1);
    }
}

impl LastSpikes {
    /// Counts spikes that leave memory, oldest first. The steps are relative to `origin`.
    pub fn drop(&mut self, spikes: &[Spike], origin: u64) {
        self.settle(origin);
        count(Arc::make_mut(&mut self.dropped), spikes);
    }

    /// Resets the origin of relative steps and forgets earlier spikes.
    fn settle(&mut self, origin: u64) {
        if self.origin != origin {
            *self = Self { origin, ..Self::default() };
        }
    }

    /// Adds the checkpoints of new chunks of a set of `n` elements, and removes those of chunks that left memory.
    pub fn update(&mut self, history: &History, n: usize) {
        self.settle(history.origin());
        let Some(oldest) = history.chunks().next().map(|(number, _)| number) else { return };
        while self.checkpoints.front().is_some_and(|c| c.next_chunk <= oldest) {
            self.checkpoints.pop_front();
        }
        // Checkpoints take no more memory than the spikes between them.
        let every = CHUNKS.max((n / 2).div_ceil(CHUNK));
        loop {
            let from = self.checkpoints.back().map_or(oldest, |c| c.next_chunk);
            let new: Vec<_> = history.chunks().skip((from - oldest) as usize).take(every).collect();
            if new.len() < every {
                return;
            }
            let before = self.checkpoints.back().map_or(&self.dropped, |c| &c.last);
            let mut last = LastSteps::clone(before);
            new.iter().for_each(|(_, chunk)| count(&mut last, chunk));
            let last_step = new.last().and_then(|(_, chunk)| chunk.last()).map_or(0, |spike| spike.step);
            let next_chunk = from + every as u64;
            self.checkpoints.push_back(Checkpoint { next_chunk, last_step, last: Arc::new(last) });
        }
    }

    /// Returns, for each of `n` elements, the number of steps from its last spike before the relative step `at` to
    /// `at`; −1 without a spike.
    pub fn since(&self, history: &History, at: u32, n: usize) -> Vec<f32> {
        let before = self.checkpoints.partition_point(|c| c.last_step < at);
        let checkpoint = before.checked_sub(1).and_then(|i| self.checkpoints.get(i));
        let mut last = checkpoint.map_or(&self.dropped, |c| &c.last).to_vec();
        let next_chunk = checkpoint.map_or(0, |c| c.next_chunk);
        for (_, chunk) in history.chunks_between(0, at).filter(|(number, _)| *number >= next_chunk) {
            count(&mut last, between(chunk, 0, at));
        }
        count(&mut last, between(history.tail(), 0, at));
        last.resize(n, 0);
        let steps = |last: u32| if last == 0 { -1.0 } else { at.saturating_sub(last - 1) as f32 };
        last.into_iter().map(steps).collect()
    }

    /// Returns the memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        (self.dropped.len() + self.checkpoints.iter().map(|c| c.last.len()).sum::<usize>()) * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 50;

    /// Returns the lane of the only spike of a step. Lanes follow one another, and each lane has long pauses.
    fn lane(step: u32) -> u32 {
        (step.wrapping_mul(2_654_435_761) >> 20) % (1 + step / 200_000 % N)
    }

    fn history(capacity: usize, n_spikes: u32) -> (History, LastSpikes) {
        let (mut history, mut last) = (History::with_capacity(capacity), LastSpikes::default());
        let spikes: Vec<Spike> = (0..n_spikes).map(|step| Spike { step, lane: lane(step) }).collect();
        for part in spikes.chunks(100_000) {
            let end = u64::from(part[part.len() - 1].step) + 1;
            history.push_dropping(part, end, |old, origin| last.drop(old, origin));
            last.update(&history, N as usize);
        }
        (history, last)
    }

    fn searched(at: u32) -> Vec<f32> {
        let mut since = vec![-1.0; N as usize];
        for step in (0..at).rev() {
            let value = &mut since[lane(step) as usize];
            if *value < 0.0 {
                *value = (at - step) as f32;
            }
        }
        since
    }

    #[test]
    fn last_spikes_are_those_of_a_search_at_any_step() {
        let n = 40 * CHUNK as u32;
        let (history, last) = history(usize::MAX, n);
        assert_eq!(last.checkpoints.len(), 2);
        for at in [0, 1, 65_536, 1_000_000, 16 * CHUNK as u32, 16 * CHUNK as u32 + 1, 2_500_000, n] {
            assert_eq!(last.since(&history, at, N as usize), searched(at), "step {at}");
        }
    }

    #[test]
    fn spikes_that_left_memory_are_known() {
        let n = 30 * CHUNK as u32;
        let (history, last) = history(4 * CHUNK, n);
        assert!(history.dropped() > 0 && last.n_bytes() <= 8 * N as usize);
        let oldest = history.first_step().expect("spikes");
        for at in [oldest, oldest + 70_000, n] {
            assert_eq!(last.since(&history, at, N as usize), searched(at), "step {at}");
        }
    }
}
