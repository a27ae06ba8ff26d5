//! Null wirings: random networks that keep chosen properties of another network.
//!
//! | wiring | keeps | randomizes |
//! | --- | --- | --- |
//! | [`NullWiring::Swapped`] | numbers of inputs and outputs of each neuron, its outgoing counts | pairs |
//! | [`NullWiring::WeightsShuffled`] | pairs, signs, counts of each sign as a multiset | count of each pair |
//! | [`NullWiring::SignsShuffled`] | pairs, magnitudes, number of neurons of each sign | sign of each neuron |
//! | [`NullWiring::Random`] | numbers of neurons and connections, counts as a multiset | pairs |
//!
//! Each pair of neurons has at most one connection, before and after: the readers add up repeated pairs. All arithmetic is on
//! integers, and every draw has an address, so a seed gives the same network on every machine.

mod random;
mod shuffles;
mod swaps;

#[cfg(test)]
mod tests;

use super::{Csr, DataError, ProgressFn, report};
use crate::num::rng::{Draw, Purpose};

/// Number of draws between two progress reports.
const STRETCH: usize = 1 << 16;

/// Random wiring of the neurons of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullWiring {
    /// Pairs of connections exchange their targets (Maslov & Sneppen 2002). A connection keeps its presynaptic neuron and its
    /// count; connections of a neuron with itself stay.
    Swapped,
    /// Counts are permuted among connections of the same sign.
    WeightsShuffled,
    /// Signs are permuted among the neurons with a sign, that of the sum of the outgoing counts.
    SignsShuffled,
    /// Each pair of different neurons is connected with the same probability; counts are permuted.
    Random,
}

/// Returns the rewired network. The time is proportional to the number of connections, for `Random` except for a sort; the memory
/// is at most 40 bytes per connection.
///
/// # Errors
/// Fails if a network with connections of neurons with themselves has too many connections for pairs of different neurons, and
/// with [`DataError::Cancelled`].
pub fn rewired(network: Csr, wiring: NullWiring, seed: u64, watch: &ProgressFn) -> Result<Csr, DataError> {
    report(watch, LABEL, 0.0)?;
    let mut edges = Edges::unpack(&network);
    drop(network);
    match wiring {
        NullWiring::Swapped => swaps::swap(&mut edges, seed, watch)?,
        NullWiring::WeightsShuffled => shuffles::shuffle_counts(&mut edges, seed, watch)?,
        NullWiring::SignsShuffled => shuffles::shuffle_signs(&mut edges, seed, watch)?,
        NullWiring::Random => edges = random::draw(edges, seed, watch)?,
    }
    report(watch, LABEL, 0.95)?;
    Ok(edges.pack())
}

/// Name of the stage in progress reports.
const LABEL: &str = "Rewiring";

/// Parts of the addresses of draws: the upper bits of the step.
#[derive(Clone, Copy)]
enum Stage {
    Swap = 0,
    Counts = 1,
    Signs = 2,
    Pairs = 3,
}

/// Returns the words of draw `number` of a stage.
const fn words(seed: u64, stage: Stage, part: u32, number: u32) -> [u32; 4] {
    let step = (stage as u64) << 32 | part as u64;
    Draw { seed, purpose: Purpose::Rewiring, step, lane: number }.words()
}

/// Maps two words to a number below `n`.
const fn below(words: [u32; 4], n: u64) -> u64 {
    let word = (words[0] as u64) << 32 | words[1] as u64;
    ((word as u128 * n as u128) >> 64) as u64
}

/// Connections with exact counts in vectors of their own.
struct Edges {
    /// Start of each row; one more entry than neurons.
    rows: Vec<u32>,
    targets: Vec<u32>,
    counts: Vec<i32>,
}

impl Edges {
    fn unpack(network: &Csr) -> Self {
        let mut counts: Vec<i32> = network.words.iter().map(|word| network.count(*word)).collect();
        network.overflow.iter().for_each(|(at, count)| counts[*at as usize] = *count);
        let targets = network.words.iter().map(|word| network.target(*word)).collect();
        Self { rows: network.rows.clone(), targets, counts }
    }

    fn n(&self) -> u32 {
        self.rows.len().saturating_sub(1) as u32
    }

    fn range(&self, pre: u32) -> std::ops::Range<usize> {
        self.rows[pre as usize] as usize..self.rows[pre as usize + 1] as usize
    }

    /// Sorts each row by target and packs it.
    fn pack(self) -> Csr {
        let target_bits = Csr::target_bits_for(self.n());
        let most = Csr::largest_count(target_bits).unsigned_abs();
        let (mut words, mut overflow, mut row) = (Vec::with_capacity(self.targets.len()), vec![], vec![]);
        for pre in 0..self.n() {
            row.clear();
            row.extend(self.range(pre).map(|at| (self.targets[at], self.counts[at])));
            row.sort_unstable();
            for (target, count) in &row {
                if count.unsigned_abs() > most {
                    overflow.push((words.len() as u32, *count));
                }
                words.push(Csr::pack(target_bits, *target, *count));
            }
        }
        Csr { rows: self.rows, words, target_bits, overflow }
    }
}
