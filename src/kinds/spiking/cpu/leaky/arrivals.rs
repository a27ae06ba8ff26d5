//! Sums of arriving synapses per target. Unlike [`Arrivals`](super::super::partitioning::Arrivals), [`ArrivalSums`] has no list
//! of targets, because nearly every unit has input in every step.

use crate::{data::Csr, kinds::spiking::stimuli::Gain};
use std::ops::Range;

/// Sums of arriving synapse counts per target of one partition.
pub struct ArrivalSums {
    /// Sums by target from `first` on, padded to whole blocks.
    pub of: Vec<i32>,
    /// First target of the partition.
    first: u32,
}

impl ArrivalSums {
    /// Allocates `room` sums for targets from `first` on.
    pub fn new(first: u32, room: usize) -> Self {
        Self { of: vec![0; room], first }
    }

    /// Delivers one spike to the targets of the given words.
    #[inline]
    pub fn deliver(&mut self, connectivity: &Csr, words: Range<usize>) {
        let (bits, mask, first) = (connectivity.target_bits, (1_u32 << connectivity.target_bits) - 1, self.first);
        let sums = &mut self.of[..];
        for word in &connectivity.words[words.clone()] {
            let sum = &mut sums[((word & mask) - first) as usize];
            *sum = sum.wrapping_add((*word as i32) >> bits);
        }
        if !connectivity.overflow.is_empty() {
            self.correct(connectivity, words);
        }
    }

    /// Adds the parts of counts that do not fit into the packed words.
    fn correct(&mut self, connectivity: &Csr, words: Range<usize>) {
        let at = connectivity.overflow.partition_point(|(i, _)| (*i as usize) < words.start);
        for (i, exact) in connectivity.overflow[at..].iter().take_while(|(i, _)| (*i as usize) < words.end) {
            let word = connectivity.words[*i as usize];
            self.add(connectivity.target(word), exact - connectivity.count(word));
        }
    }

    /// Delivers one spike with changed weights.
    pub fn deliver_scaled(&mut self, connectivity: &Csr, words: Range<usize>, gain: Gain) {
        for i in words {
            let word = connectivity.words[i];
            let exact = connectivity.overflow.binary_search_by_key(&(i as u32), |(at, _)| *at);
            let count = exact.map_or_else(|_| connectivity.count(word), |k| connectivity.overflow[k].1);
            self.add(connectivity.target(word), gain.apply(count));
        }
    }

    fn add(&mut self, target: u32, count: i32) {
        let sum = &mut self.of[(target - self.first) as usize];
        *sum = sum.wrapping_add(count);
    }
}
