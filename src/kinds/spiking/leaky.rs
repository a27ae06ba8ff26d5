//! Leaky units with uniform noise: the definition of a step, its order and its rounding. Every backend follows this definition
//! bit for bit: [`cpu::leaky`](super::cpu::leaky) is fast, [`cpu::leaky::reference`](super::cpu::leaky::reference) is literal.
//!
//! # Origin
//!
//! The model is that of FastFly (<https://github.com/eonfathom/FastFly>), a demonstration of the fly connectome on a
//! GPU: it has threshold 1, rest and reset 0, no refractory period, no synaptic kinetics, and a delay of one step. The
//! model serves as a benchmark; as a model of the fly it has no advantage over [`Lif`](super::Lif). Differences from
//! FastFly: weights stay integers (FastFly: 8 bits and a scale per neuron), sums do not depend on their order, and the
//! noise comes from Philox (FastFly: a hash of `neuron XOR f(step)`, so that the noise of one step is a permutation
//! over the neurons of the noise of any other step).
//!
//! Connectomes of this size have two states in this model: nearly silent, and self-sustained firing. In the synthetic fly
//! network, a noise of 0.4 starts the firing, which continues if the noise is lowered to 0.2 during the run; if the noise
//! starts at 0.2, the network can stay silent.
//!
//! # The step
//!
//! State: v of every neuron, in single precision, in units of the threshold (written as mV, see [`Leaky`]). In step n,
//! for every neuron i:
//!
//! 1. `sum`: the synapse counts of all connections onto i whose neuron spiked in step n - 1, each after
//!    [`Gain::apply`](super::stimuli::Gain::apply) with the gain active in step n, added as wrapping 32-bit
//!    integers. 0 in step 0, and 0 if i is closed.
//! 2. `kicks`: the weights of all kicks to i in step n, each rounded to single precision, added from the left:
//!    sources in the order of [`ActiveStimuli::sources`](super::stimuli::ActiveStimuli), then manual kicks. +0 if there are
//!    none, or if i is closed.
//! 3. `current`: the current of the stimuli active in step n; +0 if there is none.
//! 4. `unit`: [`signed_unit`](crate::num::uniform::signed_unit) of the word `n % 4` of the Philox call at
//!    (seed, [`NOISE`], n / 4, i).
//! 5. With every product and every sum rounded separately (never fused), in single precision:
//!
//! ```text
//! c = w_unit * f32(sum)          f32 rounds to nearest, ties to even
//! c = c + (current + kicks)
//! c = c + unit * amplitude
//! v = decay * v + c
//! ```
//!
//! 6. If `v >= 1`: i spikes in step n, and `v = +0`.
//!
//! Before step 0: `v = unit_from_zero(w) * 0.9`, where w is word 0 of the Philox call at (seed, [`Purpose::Start`],
//! 0, i); see [`start`]. Manual kicks are applied in the first step after the action.
//!
//! A synaptic event is a connection whose presynaptic neuron spiked and is not silenced, whether or not its target uses the
//! input. [`probes::ACTIVE`](super::probes::ACTIVE) counts every unit in every step.

use super::params::Leaky;
use crate::{
    data::Csr,
    num::{
        rng::{Draw, Purpose},
        trains::address,
        uniform::unit_from_zero,
    },
};

/// Address word of the noise. Noise stimuli use streams from 1 on.
pub const NOISE: u32 = address(Purpose::Noise, 0);

/// Spike threshold (inclusive).
pub const THRESHOLD: f32 = 1.0;

/// Upper bound of the initial potentials, in units of the threshold.
const HIGHEST_START: f32 = 0.9;

/// Constants of the leaky model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Weight of one synapse, in units of the threshold.
    pub w_unit: f32,
    /// Maximum magnitude of the noise per step, in units of the threshold.
    pub amplitude: f32,
    /// Factor of v per step.
    pub decay: f32,
}

impl Leaky {
    /// Converts the parameters to constants. Weights are scaled in double precision and rounded once. `mean_count` is
    /// the result of [`mean_count`].
    pub fn derive(&self, mean_count: f64) -> Constants {
        let w_unit = if mean_count > 0.0 { self.mean_weight / mean_count } else { 0.0 };
        Constants { w_unit: w_unit as f32, amplitude: self.noise_amplitude as f32, decay: self.decay as f32 }
    }
}

/// Computes the mean number of synapses per connection; 0 without connections.
pub fn mean_count(connectivity: &Csr) -> f64 {
    if connectivity.is_empty() {
        0.0
    } else {
        connectivity.synapse_counts().n_synapses as f64 / connectivity.len() as f64
    }
}

/// Returns the potential v of a neuron before step 0.
pub const fn start(seed: u64, neuron: u32) -> f32 {
    unit_from_zero(Draw { seed, purpose: Purpose::Start, step: 0, lane: neuron }.words()[0]) * HIGHEST_START
}

impl Constants {
    /// Returns the potential v after a step and before the threshold. `drive` is `current + kicks`, `unit` the noise of
    /// amplitude 1.
    #[inline(always)]
    pub fn step(&self, v: f32, sum: i32, drive: f32, unit: f32) -> f32 {
        let c = self.w_unit * sum as f32;
        let c = c + drive;
        let c = c + unit * self.amplitude;
        self.decay * v + c
    }
}
