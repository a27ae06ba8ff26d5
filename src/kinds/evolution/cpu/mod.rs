//! CPU definition of a member of the population: losses of a batch of sequences.
//!
//! | file | subject |
//! | --- | --- |
//! | this one | forward pass of several members |
//! | `pass` | products of activations with perturbed weights |
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

pub mod backend;
pub mod decoder;
mod inspection;
mod pass;
pub mod population;
pub mod sequence;

use self::{pass::Pass, sequence::Sequence};
use super::{
    backend::LOSS_UNITS,
    model::{Role, Vector, Weights},
    network::Network,
    noise::{Factors, Perturbation},
};
use crate::{
    nn::{
        delta_rule::{
            cpu::{Step, coefficients},
            lanes::{Chunks, LANES},
        },
        quantized::cpu as quantized,
        real::wide_fn,
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
        let logits = self.logits(members, tokens, &mut |_| {});
        let mut losses = vec![0; targets.len()];
        losses_of_rows(&logits, self.sizes.vocabulary, targets, &mut losses);
        losses
    }

    /// Returns the logits of every row. `observe` receives the values of each layer and of the head.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub fn logits(&self, members: Members<'_>, tokens: &[u16], observe: &mut dyn FnMut(Observation<'_>)) -> Vec<f32> {
        self.forward(members, tokens, &mut [], observe)
    }

    /// Returns the logits of every row, as [`Network::logits`]. With `continued`, the attention state of each layer,
    /// the tokens continue a single sequence; if it is empty, every sequence begins at its first token.
    fn forward(
        &self,
        members: Members<'_>,
        tokens: &[u16],
        continued: &mut [Sequence],
        observe: &mut dyn FnMut(Observation<'_>),
    ) -> Vec<f32> {
        let (width, scales, rows) = (self.sizes.width, &self.scales, tokens.len() / members.list.len().max(1));
        let pass = Pass { sizes: &self.sizes, members, rows };
        let first = continued.first().map_or(0, Sequence::n_steps);
        let mut x = self.inputs(&pass, tokens, first);
        let mut y = vec![0; x.len()];
        for layer in 0..self.sizes.layers {
            let before = x.clone();
            quantized::norm_rows(&x, width, scales.norm, &mut y);
            let [query, key, value, gate] =
                [Role::Query, Role::Key, Role::Value, Role::Gate].map(|role| pass.product(role, layer, &y, 0));
            let mut gates = gate;
            for (member, gates) in gates.chunks_exact_mut(rows.max(1)).enumerate() {
                let mut bias = [0.0];
                pass.vector(member, Vector::GateBias, layer, &mut bias);
                gates.iter_mut().for_each(|gate| *gate += bias[0]);
            }
            let of = Inputs { query: &query, key: &key, value: &value, gates: &gates };
            let (steps, output) = self.attend(of, continued.get_mut(layer));
            self.add_attention(&mut x, &output);
            let input = y.clone();
            quantized::norm_rows(&x, width, scales.norm, &mut y);
            let up = pass.product(Role::Up, layer, &y, 0);
            let mut hidden = vec![0; up.len()];
            quantized::gelu(&up, scales.mlp_activation, &mut hidden);
            let down = pass.product(Role::Down, layer, &hidden, 0);
            quantized::add(&mut x, &down, scales.mlp_residual);
            observe(Observation::Layer(LayerValues {
                layer,
                x: &before,
                y: &input,
                query: &query,
                key: &key,
                value: &value,
                steps: &steps,
                output: &output,
                y_mlp: &y,
                hidden: &hidden,
                mlp_output: &down,
            }));
        }
        quantized::norm_rows(&x, width, scales.norm, &mut y);
        let mut logits = pass.product(Role::Head, 0, &y, 0);
        let vocabulary = self.sizes.vocabulary;
        let mut biases = vec![0.0; vocabulary];
        for (member, logits) in logits.chunks_exact_mut((rows * vocabulary).max(1)).enumerate() {
            pass.vector(member, Vector::HeadBias, 0, &mut biases);
            add_to_rows(logits, &biases);
        }
        observe(Observation::Head { x: &x, y: &y, logits: &logits });
        logits
    }

    /// Returns the residual stream after embedding, input projection and positions, of sequences that begin at position `first`.
    fn inputs(&self, pass: &Pass<'_>, tokens: &[u16], first: usize) -> Vec<i8> {
        let (width, scales) = (self.sizes.width, &self.scales);
        let embedded = pass.embed(tokens, scales.is_live);
        let shift = if scales.is_live { pass.members.shift } else { 0 };
        let projected = pass.product(Role::Input, 0, &embedded, shift);
        let mut x = vec![0; projected.len()];
        let (sequence, of_member) = (self.sizes.steps * width, (pass.rows * width).max(1));
        let mut positions = vec![0.0; sequence.min(of_member)];
        let members = x.chunks_exact_mut(of_member).zip(projected.chunks_exact(of_member));
        for (member, (x, z)) in members.enumerate() {
            pass.vector(member, Vector::Positions, first * width, &mut positions);
            quantized::position_gelu(z, &positions, scales.activation, x);
        }
        x
    }

    /// Adds the output of attention to the residual stream.
    fn add_attention(&self, x: &mut [i8], output: &[f32]) {
        match self.scales.is_live {
            true => quantized::add_normalised_rows(x, output, self.sizes.width, self.scales.residual),
            false => quantized::add(x, output, self.scales.residual),
        }
    }

    /// Applies the delta rule to every sequence, or to the next steps of `continued`. Returns the scalars of each step and the
    /// outputs `[rows, H]`. `of` holds queries, keys and values `[rows, H]` and gates `[rows]`.
    fn attend(&self, of: Inputs<'_>, continued: Option<&mut Sequence>) -> (Vec<Step<f32>>, Vec<f32>) {
        let (width, steps) = (self.sizes.width, self.sizes.steps);
        let (mut scalars, mut output) = (vec![Step::default(); of.gates.len()], vec![0.0; of.value.len()]);
        if let Some(sequence) = continued {
            self.attend_alone(of, sequence, &mut scalars, &mut output);
            return (scalars, output);
        }
        let mut first = 0;
        if self.attention.state.is_none() {
            let (mut chunks, rows) = (Chunks::default(), LANES * steps);
            while first + rows <= of.gates.len() {
                let Inputs { query, key, value, gates } = of.rows(first, rows, width);
                let to = (&mut scalars[first..first + rows], &mut output[first * width..(first + rows) * width]);
                chunks.compute(self.attention.method, (query, key, value), gates, to);
                first += rows;
            }
        }
        let mut sequence = Sequence::new(self);
        while first < of.gates.len() {
            let rows = steps.min(of.gates.len() - first);
            sequence.reset();
            let output = &mut output[first * width..(first + rows) * width];
            self.attend_alone(of.rows(first, rows, width), &mut sequence, &mut scalars[first..first + rows], output);
            first += rows;
        }
        (scalars, output)
    }

    /// Applies the delta rule to the next steps of a sequence.
    fn attend_alone(&self, of: Inputs<'_>, sequence: &mut Sequence, scalars: &mut [Step<f32>], output: &mut [f32]) {
        let (mut query, mut key, width) = (of.query.to_vec(), of.key.to_vec(), self.sizes.width);
        let rows = query.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).zip(of.gates);
        for (to, ((query, key), gate)) in scalars.iter_mut().zip(rows) {
            *to = coefficients(self.attention.method, query, key, *gate);
        }
        let alphas: Vec<f32> = scalars.iter().map(|step| step.alpha).collect();
        sequence.extend((&query, &key, of.value), &alphas, output);
    }
}

/// Inputs of attention: queries, keys and values `[rows, H]`, gates `[rows]`.
#[derive(Clone, Copy)]
struct Inputs<'a> {
    query: &'a [f32],
    key: &'a [f32],
    value: &'a [f32],
    gates: &'a [f32],
}

impl<'a> Inputs<'a> {
    fn rows(&self, first: usize, n: usize, width: usize) -> Self {
        let part = |x: &'a [f32]| &x[first * width..(first + n) * width];
        let gates = &self.gates[first..first + n];
        Self { query: part(self.query), key: part(self.key), value: part(self.value), gates }
    }
}

wide_fn! {
    fn add_to_rows(rows: &mut [f32], addends: &[f32]) {
        for row in rows.chunks_exact_mut(addends.len().max(1)) {
            for (x, addend) in row.iter_mut().zip(addends) {
                *x += addend;
            }
        }
    }
}

wide_fn! {
    fn losses_of_rows(logits: &[f32], vocabulary: usize, targets: &[u16], losses: &mut [i64]) {
        for (to, (row, target)) in losses.iter_mut().zip(logits.chunks_exact(vocabulary).zip(targets)) {
            *to = loss(row, *target);
        }
    }
}

/// Returns the cross entropy of a row of logits in units of 2^-24 nat: `max + ln(Σ exp(z - max) + 1e-9) - z[target]`. The
/// exponentials are rounded to 2^-30 and summed as integers.
#[inline(always)]
pub fn loss(logits: &[f32], target: u16) -> i64 {
    let mut max = f32::NEG_INFINITY;
    for z in logits {
        max = max.max(*z);
    }
    let mut sum = 0;
    for z in logits {
        sum += (exact::exp(z - max) * EXP_UNITS).round_ties_even() as i64;
    }
    let nats = exact::ln(sum as f32 / EXP_UNITS + 1e-9) - (logits[usize::from(target)] - max);
    (nats * LOSS_UNITS).round_ties_even() as i64
}

/// Returns the mean of losses in units of 2^-24 nat, converted to nats.
pub fn mean_nats(losses: &[i64]) -> f64 {
    losses.iter().sum::<i64>() as f64 / f64::from(LOSS_UNITS) / losses.len().max(1) as f64
}
