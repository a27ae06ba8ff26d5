//! CPU definition of a member of the population: losses of a batch of sequences.
//!
//! | file | subject |
//! | --- | --- |
//! | this one | members, and their losses |
//! | `forward` | forward pass of several members |
//! | `attention` | linear attention of all sequences |
//! | `pass` | products of activations with perturbed weights |
//! | `drawn` | perturbations of pairs, and their weighted sums |
//! | `activation_sums` | weighted sums for perturbed activations |
//! | [`sequence`] | state of linear attention along a sequence |
//! | [`population`] | generations: losses of all pairs, and the update |
//! | [`decoder`] | decoder that writes text |
//! | [`backend`] | backend of the simulation |
//! | `inspection` | values of the unperturbed model for views |
//!
//! A layer is computed for all rows of all sequences together. For a member of sign s, perturbation E and scale σ =
//! 2^-shift, every matrix W is replaced by the integers `(W << shift) + s E`. Their product with 8-bit activations is
//! exact, and is scaled by `2^-shift / sqrt(columns)`. Operations on floats are f32, rounded once each, in the order
//! written.

mod activation_sums;
mod attention;
pub mod backend;
pub mod decoder;
mod drawn;
mod forward;
mod inspection;
mod pass;
pub mod population;
pub mod sequence;

use self::{forward::Buffers, pass::Shared};
use super::{
    activation_noise::ActivationSigns,
    backend::LOSS_UNITS,
    model::Weights,
    network::Network,
    noise::{Factors, Perturbation},
};
use crate::{
    nn::{
        delta_rule::cpu::Step,
        real::{self, wide_fn},
    },
    num::exact,
};

/// Fixed-point units per 1.0 of the exponentials in the denominator of a softmax.
const EXP_UNITS: f32 = 1_073_741_824.0;

/// Members that are evaluated together, each on the same number of sequences.
#[derive(Clone, Copy)]
pub struct Members<'a> {
    pub weights: &'a Weights,
    /// Perturbations are scaled by 2^-shift.
    pub shift: u32,
    pub list: &'a [Member<'a>],
}

/// One of the two members of a pair, or the unperturbed model.
#[derive(Clone, Copy)]
pub struct Member<'a> {
    pub noise: Noise<'a>,
    /// Sign of the perturbation: 1 or -1; 0 for the unperturbed model.
    pub sign: i8,
}

/// Perturbation of a member.
#[derive(Clone, Copy)]
pub enum Noise<'a> {
    /// The unperturbed model.
    None,
    /// One integer per weight.
    FullRank(&'a Perturbation),
    /// Two thin factors per matrix.
    LowRank(&'a Factors),
    /// Signs of the activations of a pair. The rows of the pass begin at row `first` of the pair.
    Activations { signs: &'a ActivationSigns, first: usize },
}

impl Member<'static> {
    /// The unperturbed model.
    pub const UNPERTURBED: Self = Self { noise: Noise::None, sign: 0 };
}

/// Values of a layer for all rows.
pub struct LayerValues<'a> {
    pub layer: usize,
    /// Residual stream before the layer, `[rows, H]`.
    pub x: &'a [i8],
    /// Normalised input of attention.
    pub y: &'a [i8],
    pub query: &'a [f32],
    pub key: &'a [f32],
    pub value: &'a [f32],
    /// Scalars of the delta rule, one per row.
    pub steps: &'a [Step<f32>],
    /// Output of attention before scaling.
    pub output: &'a [f32],
    /// Normalised input of the MLP.
    pub y_mlp: &'a [i8],
    /// Hidden layer of the MLP, `[rows, F]`.
    pub hidden: &'a [i8],
    /// Output of the MLP before scaling.
    pub mlp_output: &'a [f32],
}

/// Values that the forward pass computes for all rows.
pub enum Observation<'a> {
    /// Values of a layer.
    Layer(LayerValues<'a>),
    /// Values of the head: the residual stream, its norm, and the logits `[rows, V]`.
    Head { x: &'a [i8], y: &'a [i8], logits: &'a [f32] },
}

impl Network {
    /// Returns the loss of every row in units of 2^-24 nat. `tokens` and `targets` are `[members, sequences, T]`.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub fn losses(&self, members: Members<'_>, tokens: &[u16], targets: &[u16]) -> Vec<i64> {
        let shared = Shared::new(&self.sizes, members.weights);
        self.losses_with(&shared, members, (tokens, targets), &mut Buffers::default())
    }

    /// Returns the losses as [`Network::losses`], with the matrices of the members' weights in `shared`.
    fn losses_with(
        &self,
        shared: &Shared,
        members: Members<'_>,
        (tokens, targets): (&[u16], &[u16]),
        buffers: &mut Buffers,
    ) -> Vec<i64> {
        self.forward((shared, members), tokens, &mut [], buffers, None);
        let mut losses = vec![0; targets.len()];
        losses_of_rows(&buffers.logits, self.sizes.vocabulary, targets, &mut losses);
        losses
    }

    /// Returns the logits of every row. `observe` receives the values of each layer and of the head.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub fn logits(&self, members: Members<'_>, tokens: &[u16], observe: &mut dyn FnMut(Observation<'_>)) -> Vec<f32> {
        let (shared, mut buffers) = (Shared::new(&self.sizes, members.weights), Buffers::default());
        self.forward((&shared, members), tokens, &mut [], &mut buffers, Some(observe));
        buffers.logits
    }
}

/// Number of rows, and of exponentials of a row, that are computed together.
const TOGETHER: usize = 16;

wide_fn! {
    /// Writes the cross entropy of each row of logits in units of 2^-24 nat: `max + ln(Σ exp(z - max) + 1e-9) - z[target]`. The
    /// exponentials are rounded to 2^-30 and summed as integers.
    fn losses_of_rows(logits: &[f32], vocabulary: usize, targets: &[u16], losses: &mut [i64]) {
        let groups = logits.chunks(TOGETHER * vocabulary).zip(targets.chunks(TOGETHER));
        for (losses, (logits, targets)) in losses.chunks_mut(TOGETHER).zip(groups) {
            let (mut sums, mut chosen) = ([1.0; TOGETHER], [0.0; TOGETHER]);
            for (row, (logits, target)) in logits.chunks_exact(vocabulary).zip(targets).enumerate() {
                let max = real::max(logits);
                sums[row] = sum_of_exponentials(logits, max) as f32 / EXP_UNITS + 1e-9;
                chosen[row] = logits[usize::from(*target)] - max;
            }
            for row in 0..TOGETHER {
                sums[row] = (exact::ln(sums[row]) - chosen[row]) * LOSS_UNITS;
            }
            for (loss, units) in losses.iter_mut().zip(&sums) {
                *loss = units.round_ties_even() as i64;
            }
        }
    }
}

/// Returns the cross entropy of a row of logits in units of 2^-24 nat.
pub fn loss(logits: &[f32], target: u16) -> i64 {
    let mut loss = [0];
    losses_of_rows(logits, logits.len(), &[target], &mut loss);
    loss[0]
}

/// Returns `Σ exp(z - max)` in units of 2^-30.
#[inline(always)]
fn sum_of_exponentials(logits: &[f32], max: f32) -> i64 {
    let (mut sum, parts) = (0, logits.chunks_exact(TOGETHER));
    for z in parts.remainder() {
        sum += whole(exact::exp(z - max) * EXP_UNITS);
    }
    for part in parts {
        let mut shares = [0.0; TOGETHER];
        for i in 0..TOGETHER {
            shares[i] = exact::exp(part[i] - max) * EXP_UNITS;
        }
        for share in &shares {
            sum += whole(*share);
        }
    }
    sum
}

/// Rounds a number from 0 to 2^50, half to even. NaN becomes 0.
#[inline(always)]
fn whole(x: f32) -> i64 {
    let number = f64::from(if x.is_nan() { 0.0 } else { x });
    ((number + exact::WHOLE_F64).to_bits() - exact::WHOLE_F64.to_bits()) as i64
}

/// Returns the mean of losses in units of 2^-24 nat, converted to nats.
pub fn mean_nats(losses: &[i64]) -> f64 {
    losses.iter().sum::<i64>() as f64 / f64::from(LOSS_UNITS) / losses.len().max(1) as f64
}
