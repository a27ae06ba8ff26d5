//! Permutation of the weights of each postsynaptic neuron: a control that keeps their distribution, and removes what was learned about
//! single inputs.

use crate::num::rng::{Draw, Purpose};

/// Number of binary digits of the position of a synapse among those of its neuron.
const POSITION_BITS: u32 = 26;

/// Address of the draws of a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShuffleDraws {
    /// Seed of the project, mixed with the projection.
    pub seed: u64,
    /// Step before which the weights are permuted.
    pub step: u64,
}

impl ShuffleDraws {
    /// Returns the address for a projection.
    pub const fn of(self, projection: usize) -> Self {
        Self { seed: self.seed ^ (projection as u64) << 40, ..self }
    }
}

/// Permutes the weights of each postsynaptic neuron. `targets` are the neurons of the synapses, by index in the population; the
/// synapses of a neuron are in the order of their presynaptic neurons. The result depends on no other neuron.
pub fn shuffle(weights: &mut [f32], targets: &[u32], draws: ShuffleDraws) {
    let mut order: Vec<usize> = (0..targets.len()).collect();
    order.sort_by_key(|at| targets[*at]); // stable
    for own in order.chunk_by(|a, b| targets[*a] == targets[*b]) {
        // Fisher & Yates.
        for last in (1..own.len()).rev() {
            let step = draws.step << POSITION_BITS | last as u64;
            let at = Draw { seed: draws.seed, purpose: Purpose::Shuffle, step, lane: targets[own[0]] };
            let chosen = ((u64::from(at.words()[0]) * (last as u64 + 1)) >> 32) as usize;
            weights.swap(own[last], own[chosen]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stay_at_their_neuron() {
        let targets: Vec<u32> = (0..300).map(|i| i % 3).collect();
        let start: Vec<f32> = (0..300).map(|i| i as f32).collect();
        let mut all = start.clone();
        shuffle(&mut all, &targets, ShuffleDraws { seed: 1, step: 5 });
        assert!(all != start && all.iter().enumerate().all(|(at, w)| *w as usize % 3 == at % 3));
        // Neurons of other threads change nothing.
        let own: Vec<usize> = (0..300).filter(|at| targets[*at] == 1).collect();
        let mut alone: Vec<f32> = own.iter().map(|at| start[*at]).collect();
        shuffle(&mut alone, &vec![1; 100], ShuffleDraws { seed: 1, step: 5 });
        assert_eq!(alone, own.iter().map(|at| all[*at]).collect::<Vec<_>>());
    }
}
