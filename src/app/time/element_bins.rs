//! Spikes per element and time bin over the whole run, in bounded memory: when the bins are used up, pairs are merged
//! and the bins become twice as wide. Any row order and any group can be counted from them.

use crate::sim::Spike;
use std::sync::Arc;

/// Memory limit, bytes.
pub const MAX_BYTES: usize = 72 << 20;
/// Initial steps per bin.
const WIDTH: u64 = 64;

/// The bins; each is shared with the readers.
#[derive(Clone, Debug, Default)]
pub struct ElementBins {
    /// Number of elements.
    n: usize,
    /// Steps per bin.
    width: u64,
    /// Index of the first bin: its first step is `first * width`.
    first: u64,
    bins: Vec<Arc<Vec<u16>>>,
}

/// One bin.
#[derive(Clone, Debug)]
pub struct Bin {
    /// First step, absolute.
    pub from: u64,
    /// First step after, absolute.
    pub to: u64,
    /// Spikes per element, saturating.
    pub counts: Arc<Vec<u16>>,
}

impl ElementBins {
    /// Bins of a set of this many elements.
    pub fn new(n: usize) -> Self {
        Self { n, ..Self::default() }
    }

    /// Counts the spikes of more elements.
    pub fn grow(&mut self, n: usize) {
        self.n = n;
        self.bins.iter_mut().for_each(|bin| Arc::make_mut(bin).resize(n, 0));
    }

    /// Maximum number of bins.
    fn capacity(&self) -> usize {
        let fit = (MAX_BYTES / (2 * self.n.max(1))).clamp(64, 8192);
        1 << fit.ilog2()
    }

    /// Counts spikes; steps are relative to `origin` and ascending.
    pub fn push(&mut self, spikes: &[Spike], origin: u64) {
        let (Some(first), Some(last)) = (spikes.first(), spikes.last()) else { return };
        let [first, last] = [first, last].map(|s| origin + u64::from(s.step));
        if self.bins.is_empty() {
            self.width = WIDTH;
            self.first = first / WIDTH;
        }
        while (last / self.width).saturating_sub(self.first) as usize >= self.capacity() {
            self.fold();
        }
        let end = (last / self.width).saturating_sub(self.first) as usize + 1;
        while self.bins.len() < end {
            self.bins.push(Arc::new(vec![0; self.n]));
        }
        let (mut rest, width) = (spikes, self.width);
        while let Some(spike) = rest.first() {
            let bin = (origin + u64::from(spike.step)) / width;
            let part = rest.partition_point(|s| (origin + u64::from(s.step)) / width <= bin).max(1);
            let Some(counts) = self.bins.get_mut(bin.saturating_sub(self.first) as usize) else { return };
            let counts = Arc::make_mut(counts);
            for spike in &rest[..part] {
                if let Some(count) = counts.get_mut(spike.lane as usize) {
                    *count = count.saturating_add(1);
                }
            }
            rest = &rest[part..];
        }
    }

    /// Merges pairs of bins.
    fn fold(&mut self) {
        let mut old = std::mem::take(&mut self.bins).into_iter();
        let is_odd = !self.first.is_multiple_of(2);
        // An odd first bin is the second half of its pair.
        if is_odd && let Some(alone) = old.next() {
            self.bins.push(alone);
        }
        while let Some(mut first) = old.next() {
            if let Some(second) = old.next() {
                let sums = Arc::make_mut(&mut first).iter_mut().zip(second.iter());
                sums.for_each(|(sum, n)| *sum = sum.saturating_add(*n));
            }
            self.bins.push(first);
        }
        self.first /= 2;
        self.width *= 2;
    }

    /// Steps per bin; 0 without spikes.
    pub fn width(&self) -> u64 {
        if self.bins.is_empty() { 0 } else { self.width }
    }

    /// The bins that overlap steps `from..to`.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Bin> {
        let width = self.width.max(1);
        let first = (from / width).saturating_sub(self.first) as usize;
        let end = (to.div_ceil(width).saturating_sub(self.first) as usize).min(self.bins.len());
        let bins = self.bins.get(first.min(end)..end).unwrap_or_default();
        bins.iter().enumerate().map(move |(i, counts)| {
            let at = (self.first + (first + i) as u64) * width;
            Bin { from: at, to: at + width, counts: counts.clone() }
        })
    }

    /// Memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        self.bins.len() * self.n * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_keeps_every_count_in_bounded_memory() {
        let n = 300_000;
        let mut bins = ElementBins::new(n);
        let mut expected = vec![0_u64; 10];
        for block in 0..400_u32 {
            let spikes: Vec<Spike> = (0..100).map(|i| Spike { step: block * 500 + i * 5, lane: i % 10 }).collect();
            spikes.iter().for_each(|s| expected[s.lane as usize] += 1);
            bins.push(&spikes, 5_000);
        }
        assert!(bins.n_bytes() <= MAX_BYTES && bins.width() > WIDTH && bins.width().is_power_of_two());
        let all: Vec<Bin> = bins.between(0, u64::MAX).collect();
        let sum = |e: usize| all.iter().map(|b| u64::from(b.counts[e])).sum::<u64>();
        assert_eq!((0..10).map(sum).collect::<Vec<_>>(), expected);
        assert!(all.windows(2).all(|w| w[0].to == w[1].from));
        let (first, last) = (all.first().expect("bins").from, all.last().expect("bins").to);
        assert!(first <= 5_000 && last > 204_900);
        let part: u64 =
            bins.between(105_000, 105_001).map(|b| b.counts.iter().map(|c| u64::from(*c)).sum::<u64>()).sum();
        assert!(part > 0 && part < 4_000, "{part}");
    }
}
