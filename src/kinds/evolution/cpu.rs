//! CPU definition of a member of the population: losses of a batch of sequences.
//!
//! All rows of all sequences pass a layer together. For a member of sign s, perturbation E and scale σ = 2^-shift, every matrix W
//! is replaced by the integers `(W << shift) + s E`. Their product with 8-bit activations is exact, and is scaled by
//! `2^-shift / sqrt(columns)`. Operations on floats are f32, rounded once each, in the order written.

use super::{
    model::{Role, Sizes, Vector, Weights},
    noise::{Factors, Perturbation},
    pass::Pass,
};
use crate::{
    nn::{
        delta_rule::{
            Method,
            cpu::{self as delta_rule, Scratch, StateFormat, Step, coefficients},
        },
        quantized::cpu as quantized,
        real::wide,
    },
    num::exact,
};

/// Units of a loss per nat: losses are sums of integers.
pub const LOSS_UNITS: f32 = 16_777_216.0;
/// Units per 1 of the exponentials in the denominator of a softmax.
const EXP_UNITS: f32 = 1_073_741_824.0;

/// Scales of activations, and how attention enters the residual stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scales {
    /// Scale after the input projection.
    pub activation: f32,
    /// Scale in the MLP.
    pub mlp_activation: f32,
    /// Scale of the norm.
    pub norm: f32,
    /// Scale of the output of attention before it is rounded.
    pub residual: f32,
    /// Scale of the output of the MLP before it is rounded.
    pub mlp_residual: f32,
    /// Whether embeddings keep their perturbation in fixed point, and attention is divided by its mean magnitude. Otherwise most
    /// perturbations of embeddings and most outputs of attention round to 0.
    pub is_live: bool,
}

impl Scales {
    /// The published program: attention has no effect at its sizes.
    pub const SEED: Self =
        Self { activation: 1.0, mlp_activation: 1.0, norm: 1.0, residual: 1.0, mlp_residual: 1.0, is_live: false };
    /// Scales at which every matrix has an effect.
    pub const LIVE: Self = Self { activation: 3.0, mlp_activation: 3.0, is_live: true, ..Self::SEED };
}

/// Attention of a model: the rule, and how its state is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attention {
    pub method: Method,
    /// Format of the state between steps; `None` computes in chunk form, without a state.
    pub state: Option<StateFormat>,
}

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
    /// 1, -1, or 0.
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

/// Values of a layer, all rows.
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

/// Values that the forward pass computes, all rows.
pub enum Observation<'a> {
    /// Values of a layer.
    Layer(LayerValues<'a>),
    /// Values of the head: the residual stream, its norm, and the logits `[rows, V]`.
    Head { x: &'a [i8], y: &'a [i8], logits: &'a [f32] },
}

/// The model with its options.
#[derive(Clone, Copy, Debug)]
pub struct Network {
    pub sizes: Sizes,
    pub scales: Scales,
    pub attention: Attention,
}

impl Network {
    /// Returns the loss of every row in units of 2^-24 nat. `tokens` and `targets` are `[members, sequences, T]`.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub fn losses(&self, members: Members<'_>, tokens: &[u16], targets: &[u16]) -> Vec<i64> {
        let logits = self.logits(members, tokens, &mut |_| {});
        let rows = logits.chunks_exact(self.sizes.vocabulary).zip(targets);
        wide(|| rows.map(|(row, target)| loss(row, *target)).collect())
    }

    /// Returns the logits of every row. `observe` receives the values of each layer and of the head.
    ///
    /// # Panics
    /// Panics if a token is not in the vocabulary.
    pub fn logits(&self, members: Members<'_>, tokens: &[u16], observe: &mut dyn FnMut(Observation<'_>)) -> Vec<f32> {
        let (width, scales, rows) = (self.sizes.width, &self.scales, tokens.len() / members.list.len().max(1));
        let pass = Pass { sizes: &self.sizes, members, rows };
        let mut x = self.inputs(&pass, tokens);
        let mut y = vec![0; x.len()];
        for layer in 0..self.sizes.layers {
            let before = x.clone();
            norm(&x, width, scales.norm, &mut y);
            let [query, key, value, gate] =
                [Role::Query, Role::Key, Role::Value, Role::Gate].map(|role| pass.product(role, layer, &y, 0));
            let gates = gate.iter().enumerate().map(|(row, b)| b + pass.vector(row / rows, Vector::GateBias, layer));
            let (steps, output) = self.attend([query.clone(), key.clone()], &value, gates);
            for (x, o) in x.chunks_exact_mut(width).zip(output.chunks_exact(width)) {
                let divisor = if scales.is_live { quantized::mean_magnitude(o) + 1e-6 } else { 1.0 };
                quantized::add(x, o, scales.residual / divisor);
            }
            let input = y.clone();
            norm(&x, width, scales.norm, &mut y);
            let up = pass.product(Role::Up, layer, &y, 0);
            let mut hidden = vec![0; up.len()];
            wide(|| quantized::gelu(&up, scales.mlp_activation, &mut hidden));
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
        norm(&x, width, scales.norm, &mut y);
        let mut logits = pass.product(Role::Head, 0, &y, 0);
        for (row, z) in logits.chunks_exact_mut(self.sizes.vocabulary).enumerate() {
            z.iter_mut().enumerate().for_each(|(i, z)| *z += pass.vector(row / rows, Vector::HeadBias, i));
        }
        observe(Observation::Head { x: &x, y: &y, logits: &logits });
        logits
    }

    /// Returns the residual stream after embedding, input projection and positions.
    fn inputs(&self, pass: &Pass<'_>, tokens: &[u16]) -> Vec<i8> {
        let (width, scales) = (self.sizes.width, &self.scales);
        let embedded = pass.embed(tokens, scales.is_live);
        let shift = if scales.is_live { pass.members.shift } else { 0 };
        let projected = pass.product(Role::Input, 0, &embedded, shift);
        let mut x = vec![0; projected.len()];
        let rows = x.chunks_exact_mut(width).zip(projected.chunks_exact(width));
        for (row, (x, z)) in rows.enumerate() {
            let first = row % pass.rows % self.sizes.steps * width;
            let position = (first..first + width).map(|i| pass.vector(row / pass.rows, Vector::Positions, i));
            wide(|| quantized::position_gelu(z, position, scales.activation, x));
        }
        x
    }

    /// Applies the delta rule to every sequence. Returns the scalars of each step and the outputs `[rows, H]`.
    fn attend(
        &self,
        [mut query, mut key]: [Vec<f32>; 2],
        value: &[f32],
        gates: impl Iterator<Item = f32>,
    ) -> (Vec<Step<f32>>, Vec<f32>) {
        let (width, method) = (self.sizes.width, self.attention.method);
        let rows = query.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).zip(gates);
        let steps: Vec<Step<f32>> = rows.map(|((q, k), gate)| coefficients(method, q, k, gate)).collect();
        let mut output = vec![0.0; value.len()];
        let mut scratch = Scratch::default();
        let sequence = self.sizes.steps * width;
        for (at, output) in output.chunks_mut(sequence).enumerate() {
            let range = at * sequence..at * sequence + output.len();
            let of = (&query[range.clone()], &key[range.clone()], &value[range]);
            let steps = &steps[at * self.sizes.steps..][..output.len() / width];
            match self.attention.state {
                None => {
                    let alphas: Vec<f32> = steps.iter().map(|step| step.alpha).collect();
                    delta_rule::chunk(of, &alphas, output, &mut scratch);
                }
                Some(format) => recur(of, steps, width, format, output),
            }
        }
        (steps, output)
    }
}

fn norm(x: &[i8], width: usize, scale: f32, y: &mut [i8]) {
    for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
        quantized::abs_mean_norm(x, scale, y);
    }
}

/// Takes the steps of a sequence one by one, from the zero state.
fn recur(
    (query, key, value): (&[f32], &[f32], &[f32]),
    steps: &[Step<f32>],
    width: usize,
    format: StateFormat,
    output: &mut [f32],
) {
    let (mut state, mut delta) = (vec![0.0; width * width], vec![0.0; width]);
    for ((at, step), output) in steps.iter().enumerate().zip(output.chunks_exact_mut(width)) {
        let row = at * width..(at + 1) * width;
        let of = (&query[row.clone()], &key[row.clone()], &value[row]);
        delta_rule::step(&mut state, of, step.alpha, format, &mut delta, output);
    }
}

/// Returns the cross entropy of a row of logits in units of 2^-24 nat: `max + ln(Σ exp(z - max) + 1e-9) - z[target]`. The
/// exponentials are rounded to 2^-30 and summed as integers.
pub fn loss(logits: &[f32], target: u16) -> i64 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let unit = |z: &f32| (exact::exp(z - max) * EXP_UNITS).round_ties_even() as u64;
    let sum: u64 = logits.iter().map(unit).sum();
    let nats = exact::ln(sum as f32 / EXP_UNITS + 1e-9) - (logits[usize::from(target)] - max);
    (nats * LOSS_UNITS).round_ties_even() as i64
}

/// Returns the mean of losses of rows, nats.
pub fn mean_nats(losses: &[i64]) -> f64 {
    losses.iter().sum::<i64>() as f64 / f64::from(LOSS_UNITS) / losses.len().max(1) as f64
}
