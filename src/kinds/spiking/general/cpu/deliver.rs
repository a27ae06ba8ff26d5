//! Delivery of spikes: adds the weights of rows to the sums of arrivals.

use crate::kinds::spiking::{
    general::{
        connections::{Rows, TARGET, Weights},
        plan::TARGET_BITS,
    },
    stimuli::Gain,
};
use std::ops::Range;

/// Sums of arrivals of one partition: a ring of slots, each with the sums of both receptors.
pub struct Arrivals {
    /// Sums by slot, receptor and neuron of the partition.
    pub sums: Vec<i32>,
    /// Number of neurons of the partition, padded.
    pub len: usize,
    /// Number of slots minus 1; the number is a power of two.
    pub mask: u64,
}

/// Destination of a row in a partition.
#[derive(Clone, Copy)]
pub struct Destination {
    /// Index of the sum of neuron `first` among the sums of a slot and receptor.
    pub at: usize,
    /// First neuron of the population in the partition, by index in the population.
    pub first: u32,
    /// Receptor of the projection.
    pub receptor: usize,
    /// Whether the projection has several delays.
    pub has_delays: bool,
}

impl Arrivals {
    /// Creates sums of 0 for `len` neurons and `slots` slots, a power of two.
    pub fn new(len: usize, slots: u32) -> Self {
        Self { sums: vec![0; len * 2 * slots as usize], len, mask: u64::from(slots) - 1 }
    }

    /// Returns the index of the first sum of a step and receptor.
    #[inline]
    pub fn index(&self, step: u64, receptor: usize) -> usize {
        ((step & self.mask) as usize * 2 + receptor) * self.len
    }

    /// Adds part of a row to the sums. `step` is the step in which the smallest delay of its projection ends.
    pub fn deliver(&mut self, step: u64, rows: &Rows, part: Range<usize>, to: Destination, gain: Gain) {
        let words = &rows.words[part.clone()];
        if gain != Gain::NONE {
            return self.add(step, words, to, |i| gain.apply(rows.units(part.start + i)));
        }
        match &rows.weights {
            Weights::Constant(weight) => self.add(step, words, to, |_| *weight),
            Weights::Narrow(weights, shift) => {
                let weights = &weights[part];
                self.add(step, words, to, |i| i32::from(weights[i]) << shift);
            }
            Weights::Wide(weights) => {
                let weights = &weights[part];
                self.add(step, words, to, |i| weights[i]);
            }
        }
    }

    /// Adds `weight(i)` to the sum of the target of each word `i`. `step` is the step in which the smallest delay of the projection
    /// ends.
    #[inline(always)]
    pub fn add(&mut self, step: u64, words: &[u32], to: Destination, weight: impl Fn(usize) -> i32) {
        let first = to.first as usize;
        if to.has_delays {
            let base = to.receptor * self.len + to.at;
            let stride = 2 * self.len;
            for (i, word) in words.iter().enumerate() {
                let slot = ((step + u64::from(word >> TARGET_BITS)) & self.mask) as usize;
                let sum = &mut self.sums[slot * stride + base + (word & TARGET) as usize - first];
                *sum = sum.wrapping_add(weight(i));
            }
        } else {
            let base = self.index(step, to.receptor) + to.at;
            let sums = &mut self.sums[base..];
            for (i, word) in words.iter().enumerate() {
                let sum = &mut sums[*word as usize - first];
                *sum = sum.wrapping_add(weight(i));
            }
        }
    }
}

/// Returns the part of a row with targets in a range. Rows are sorted by target.
pub fn part_of(rows: &Rows, source: u32, targets: &Range<u32>) -> Range<usize> {
    let row = rows.range(source);
    let words = &rows.words[row.clone()];
    let from = words.partition_point(|word| word & TARGET < targets.start);
    let to = from + words[from..].partition_point(|word| word & TARGET < targets.end);
    row.start + from..row.start + to
}
