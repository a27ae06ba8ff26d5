//! Arriving synapses, summed per target. Nearly every unit hears something in every step, so, unlike
//! [`Arrivals`](super::super::split::Arrivals), nobody keeps a list of who did.

use crate::{data::Csr, kinds::spiking::stimuli::Gain};
use std::ops::Range;

/// Sums per target of one part.
pub struct Sums {
    /// One per target from the start of the part, and room for whole blocks.
    pub of: Vec<i32>,
    /// First target.
    first: u32,
}

impl Sums {
    /// For this many targets from `first` on.
    pub fn new(first: u32, room: usize) -> Self {
        Self { of: vec![0; room], first }
    }

    /// Delivers one spike over the given words.
    #[inline]
    pub fn deliver(&mut self, wiring: &Csr, words: Range<usize>) {
        let (bits, mask, first) = (wiring.target_bits, (1_u32 << wiring.target_bits) - 1, self.first);
        let sums = &mut self.of[..];
        for word in &wiring.words[words.clone()] {
            let sum = &mut sums[((word & mask) - first) as usize];
            *sum = sum.wrapping_add((*word as i32) >> bits);
        }
        if !wiring.overflow.is_empty() {
            self.correct(wiring, words);
        }
    }

    /// Adds what did not fit into the packed counts.
    fn correct(&mut self, wiring: &Csr, words: Range<usize>) {
        let at = wiring.overflow.partition_point(|(i, _)| (*i as usize) < words.start);
        for (i, exact) in wiring.overflow[at..].iter().take_while(|(i, _)| (*i as usize) < words.end) {
            let word = wiring.words[*i as usize];
            self.add(wiring.target(word), exact - wiring.count(word));
        }
    }

    /// Delivers one spike with changed weights.
    pub fn deliver_scaled(&mut self, wiring: &Csr, words: Range<usize>, gain: Gain) {
        for i in words {
            let word = wiring.words[i];
            let exact = wiring.overflow.binary_search_by_key(&(i as u32), |(at, _)| *at);
            let count = exact.map_or_else(|_| wiring.count(word), |k| wiring.overflow[k].1);
            self.add(wiring.target(word), gain.apply(count));
        }
    }

    fn add(&mut self, target: u32, count: i32) {
        let sum = &mut self.of[(target - self.first) as usize];
        *sum = sum.wrapping_add(count);
    }
}
