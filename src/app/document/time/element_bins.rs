//! Spikes per element and time bin for the part of the run whose single spikes are no longer in memory, at several
//! resolutions and in bounded memory. Counts of any group and row order can be computed from the bins.

use super::{
    bin_pyramid::{BinPyramid, Merge},
    spikes,
};
use crate::sim::Spike;
use std::sync::Arc;

/// Minimum and maximum number of steps of the finest bins.
const WIDTHS: (u64, u64) = (64, 16_384);
/// Bytes of bins per byte of single spikes, as numerator and denominator.
const SHARE: (usize, usize) = (9, 20);

/// Spikes per element, saturating. Readers share the list.
type Counts = Arc<Vec<u16>>;

impl Merge for Counts {
    fn merge(&mut self, later: &Self) {
        let sums = Self::make_mut(self).iter_mut().zip(later.iter());
        sums.for_each(|(sum, n)| *sum = sum.saturating_add(*n));
    }
}

#[derive(Clone, Debug)]
pub struct ElementBins {
    /// Number of elements.
    n: usize,
    bins: BinPyramid<Counts>,
}

impl Default for ElementBins {
    fn default() -> Self {
        Self::new(0)
    }
}

#[derive(Clone, Debug)]
pub struct Bin {
    /// First step of the bin, absolute.
    pub from: u64,
    /// First step after the bin, absolute.
    pub to: u64,
    /// Spikes per element, saturating.
    pub counts: Arc<Vec<u16>>,
}

/// Returns the memory limit of the bins of a probe, bytes.
fn memory() -> usize {
    spikes::limit() * size_of::<Spike>() / SHARE.1 * SHARE.0
}

/// Returns the width of the finest bins, steps. A bin contains about as many spikes as the set has elements, so that the
/// memory of bins does not exceed that of the spikes.
fn width(n: usize, spikes: &[Spike]) -> u64 {
    let steps = spikes.first().zip(spikes.last()).map_or(1, |(a, b)| u64::from(b.step.saturating_sub(a.step)) + 1);
    let per_bin = (n as u64).saturating_mul(steps) / (spikes.len() as u64).max(1);
    per_bin.max(1).next_power_of_two().clamp(WIDTHS.0, WIDTHS.1)
}

/// Returns the maximum number of bins for `n` elements.
fn most(n: usize) -> usize {
    (memory() / (2 * n.max(1))).clamp(16, 8192)
}

impl ElementBins {
    /// Creates bins of a set of `n` elements.
    pub fn new(n: usize) -> Self {
        Self { n, bins: BinPyramid::new(WIDTHS.0, most(n)) }
    }

    /// Sets the number of elements to a larger `n`.
    pub fn grow(&mut self, n: usize) {
        self.n = n;
        self.bins.bins_mut().for_each(|bin| Arc::make_mut(bin).resize(n, 0));
    }

    /// Counts spikes, whose steps are relative to `origin` and ascending.
    pub fn push(&mut self, spikes: &[Spike], origin: u64) {
        if self.bins.n_bins() == 0 {
            self.bins = BinPyramid::new(width(self.n, spikes), most(self.n));
        }
        self.bins.set_most(most(self.n));
        let (mut rest, n, width) = (spikes, self.n, self.bins.finest_width());
        let bin_of = |spike: &Spike| (origin + u64::from(spike.step)) / width;
        while let Some(first) = rest.first() {
            let bin = bin_of(first);
            let part = rest.partition_point(|s| bin_of(s) <= bin).max(1);
            let count = |counts: &mut Counts| {
                let counts = Arc::make_mut(counts);
                for spike in &rest[..part] {
                    if let Some(count) = counts.get_mut(spike.lane as usize) {
                        *count = count.saturating_add(1);
                    }
                }
            };
            self.bins.change(origin + u64::from(first.step), || Arc::new(vec![0; n]), count);
            rest = &rest[part..];
        }
    }

    /// Returns the widths of the narrowest and the widest bins that overlap steps `from..to`, steps; `None` if there are no
    /// such bins.
    pub fn widths(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.bins.widths(from, to)
    }

    /// Iterates over the bins that overlap steps `from..to`, in each part at the finest resolution kept.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Bin> {
        self.bins.between(from, to).map(|span| Bin { from: span.from, to: span.to, counts: span.bin.clone() })
    }

    /// Returns the memory used, bytes.
    pub fn n_bytes(&self) -> usize {
        self.bins.n_bins() * self.n * 2
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
            let spikes: Vec<Spike> = (0..100).map(|i| Spike { step: block * 32_000 + i * 320, lane: i % 10 }).collect();
            spikes.iter().for_each(|s| expected[s.lane as usize] += 1);
            bins.push(&spikes, 5_000);
        }
        assert!(bins.n_bytes() <= memory(), "{}", bins.n_bytes());
        let (narrow, wide) = bins.widths(0, u64::MAX).expect("bins");
        assert!(narrow == WIDTHS.1 && wide > 4 * narrow && wide.is_power_of_two());
        let all: Vec<Bin> = bins.between(0, u64::MAX).collect();
        let sum = |e: usize| all.iter().map(|b| u64::from(b.counts[e])).sum::<u64>();
        assert_eq!((0..10).map(sum).collect::<Vec<_>>(), expected);
        assert!(all.windows(2).all(|w| w[0].to <= w[1].from));
        let (first, last) = (all.first().expect("bins").from, all.last().expect("bins").to);
        assert!(first <= 5_000 && last > 12_804_000);
        let part: u64 =
            bins.between(6_405_000, 6_405_001).map(|b| b.counts.iter().map(|c| u64::from(*c)).sum::<u64>()).sum();
        assert!(part > 0 && part < 4_000, "{part}");
        let dense: Vec<Spike> = (0..1_000).map(|i| Spike { step: i / 100, lane: i % 10 }).collect();
        assert_eq!([width(10, &dense), width(30_000, &dense), width(300_000, &[])], [64, 512, 16_384]);
    }
}
