//! Addresses of the draws of a network from rules. Every draw depends on the seed, its projection, a neuron and a
//! number alone, so connections can be made in any order, in parallel, and again. All arithmetic is on integers, except
//! the quantiles of weights and delays, which have equal bits on every machine.

use crate::num::{
    permutation::Permutation,
    rng::{Purpose, philox4x32},
    trains::address,
};

/// Stages of the draws of a projection: the fourth word of the counter.
pub mod stage {
    /// Target, weight and delay of a synapse.
    pub const SYNAPSE: u32 = 0;
    /// Keys of a permutation.
    pub const PERMUTATION: u32 = 1;
    /// Splits of synapses among halves of equal size; the lower bits hold the level.
    pub const HALVES: u32 = 2 << 16;
    /// Splits among parts of different size; the lower bits hold the level and the call.
    pub const PARTS: u32 = 3 << 16;
}

/// Draws of one projection.
#[derive(Clone, Copy, Debug)]
pub struct Draws {
    /// Seed of the project.
    pub seed: u64,
    /// Purpose and stream of the draws.
    pub address: u32,
}

impl Draws {
    /// Creates the draws of a projection, given by its index.
    pub const fn new(seed: u64, projection: usize) -> Self {
        Self { seed, address: address(Purpose::Synapses, projection as u32) }
    }

    const fn words(self, lane: u32, number: u32, stage: u32) -> [u32; 4] {
        philox4x32([lane, self.address, number, stage], [self.seed as u32, (self.seed >> 32) as u32])
    }

    /// Returns the words of a synapse: partner, weight, delay, and one that is not used. `neuron` is the neuron whose
    /// synapses the rule numbers: the postsynaptic one of a fixed in-degree, otherwise the presynaptic one.
    pub const fn synapse(self, neuron: u32, number: u32) -> [u32; 4] {
        self.words(neuron, number, stage::SYNAPSE)
    }

    /// Returns a permutation of `0..n` that belongs to a neuron.
    pub const fn permutation(self, neuron: u32, n: u32) -> Permutation {
        Permutation::new(self.words(neuron, 0, stage::PERMUTATION), n as u64)
    }

    /// Returns the number of `trials` that fall into the first `left` of `len` neurons from `first` on: a binomial
    /// number, as the sum of its trials.
    pub fn split(self, trials: u64, first: u32, left: u32, len: u32) -> u64 {
        let level = len.ilog2();
        match left * 2 == len {
            true => self.count_halves(trials, first, level),
            false => self.count_parts(trials, first, level, (u64::from(left) << 32).div_euclid(len.into()) as u32),
        }
    }

    /// Counts the ones among `trials` random bits.
    fn count_halves(self, trials: u64, first: u32, level: u32) -> u64 {
        let mut ones = 0;
        for block in 0..trials.div_ceil(128) {
            let mut left = trials - block * 128;
            for word in self.words(first, block as u32, stage::HALVES | level) {
                ones += u64::from((word & low_bits(left)).count_ones());
                left = left.saturating_sub(32);
            }
        }
        ones
    }

    /// Counts the words below `threshold` among `trials` random words. The bits of 32 words are compared at once, from the
    /// highest, until all comparisons are decided.
    fn count_parts(self, trials: u64, first: u32, level: u32, threshold: u32) -> u64 {
        let mut below = 0;
        for block in 0..trials.div_ceil(32) {
            let mut open = low_bits(trials - block * 32);
            'bits: for call in 0..8 {
                let words = self.words(first, block as u32, stage::PARTS | level << 8 | call);
                for (i, word) in words.into_iter().enumerate() {
                    if open == 0 {
                        break 'bits;
                    }
                    if threshold >> (31 - (call * 4 + i as u32)) & 1 == 1 {
                        below += u64::from((open & !word).count_ones());
                        open &= word;
                    } else {
                        open &= !word;
                    }
                }
            }
        }
        below
    }
}

/// Returns a mask of the lowest `n` bits, all if `n` is at least 32.
const fn low_bits(n: u64) -> u32 {
    if n >= 32 { u32::MAX } else { (1 << n) - 1 }
}

/// Splits a total number of synapses among `n` neurons, each with the same chance, by a binary tree with a binomial draw at
/// each node. Calls `found` with each neuron and its number, in order.
pub fn divide(draws: Draws, total: u64, n: u32, mut found: impl FnMut(u32, u64)) {
    let mut open = vec![(0, n, total)];
    while let Some((first, len, total)) = open.pop() {
        if len == 1 {
            found(first, total);
            continue;
        }
        let left = left_of(len);
        let first_part = draws.split(total, first, left, len);
        open.push((first + left, len - left, total - first_part));
        open.push((first, left, first_part));
    }
}

/// Returns the number of one neuron as [`divide`] finds it.
pub fn share_of(draws: Draws, mut total: u64, n: u32, neuron: u32) -> u64 {
    let (mut first, mut len) = (0, n);
    while len > 1 {
        let left = left_of(len);
        let first_part = draws.split(total, first, left, len);
        if neuron < first + left {
            (len, total) = (left, first_part);
        } else {
            (first, len, total) = (first + left, len - left, total - first_part);
        }
    }
    total
}

/// Returns the size of the left part of a node: the largest power of two below `len`.
const fn left_of(len: u32) -> u32 {
    1 << (len - 1).ilog2()
}

/// Maps a word to a number below `n`.
pub const fn below(word: u32, n: u32) -> u32 {
    ((word as u64 * n as u64) >> 32) as u32
}

/// Maps a word to a uniform number in (0, 1), both ends excluded.
pub fn unit(word: u32) -> f64 {
    (f64::from(word) + 0.5) * (1.0 / 4_294_967_296.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_is_divided_as_a_multinomial_number() {
        for (n, total) in [(1, 9), (2, 1000), (3, 10_000), (77, 100_000), (1000, 37), (64, 0), (65, 650_001)] {
            let draws = Draws::new(5, 3);
            let mut shares = vec![];
            divide(draws, total, n, |neuron, share| {
                assert_eq!(neuron as usize, shares.len());
                shares.push(share);
            });
            assert_eq!((shares.len(), shares.iter().sum::<u64>()), (n as usize, total));
            assert!((0..n).all(|i| share_of(draws, total, n, i) == shares[i as usize]));
            if total == 0 {
                continue;
            }
            let mean = total as f64 / f64::from(n);
            let chi: f64 = shares.iter().map(|s| (*s as f64 - mean).powi(2) / mean.max(1e-9)).sum();
            let freedom = f64::from(n - 1);
            assert!((chi - freedom).abs() <= 5.0 * (2.0 * freedom).sqrt() + 1e-9, "{n} {total}: {chi} of {freedom}");
        }
    }
}
