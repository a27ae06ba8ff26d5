//! Interface between the simulation and its backends. The CPU backend is the definition.

use super::strategy::{Course, Settings, TensorChange};
use crate::{
    data::text::Corpus,
    gpu::Pass,
    kinds::language::backend as language,
    num::exact,
    sim::{Progress, SimError},
};

pub use crate::kinds::language::backend::*;

/// Units of a loss per nat: losses are sums of integers.
pub const LOSS_UNITS: f32 = 16_777_216.0;

/// Input of a generation.
#[derive(Clone, Copy)]
pub struct GenerationInput<'a> {
    /// Number of the generation, counted from 0.
    pub number: u64,
    /// Settings of the strategy.
    pub settings: &'a Settings,
    /// Settings of this generation.
    pub course: Course,
    /// Text; the members read sequences of its training part.
    pub text: &'a Corpus,
    /// Whether each layer keeps its parameters.
    pub frozen: &'a [bool],
}

/// Statistics of a generation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GenerationStats {
    /// Mean loss over all members and their tokens, nats.
    pub loss: f32,
    /// Fitness of each evaluated pair: loss of the negative member less that of the positive one, nats per token.
    pub fitness: Vec<f32>,
    /// Correlation of the losses of the two members over all pairs; NaN if one of them is constant.
    pub correlation: f32,
    /// Changes of each tensor: matrices, then vectors.
    pub changes: Vec<TensorChange>,
}

impl GenerationStats {
    /// Computes the statistics from the losses of the members in units of 2^-24 nat, each summed over `rows` tokens.
    pub fn new(losses: &[[i64; 2]], rows: usize, changes: Vec<TensorChange>) -> Self {
        let nats = 1.0 / (f64::from(LOSS_UNITS) * rows.max(1) as f64);
        let sum: i64 = losses.iter().flatten().sum();
        let fitness = losses.iter().map(|[plus, minus]| ((minus - plus) as f64 * nats) as f32).collect();
        Self {
            loss: (sum as f64 * nats / (2 * losses.len()).max(1) as f64) as f32,
            fitness,
            correlation: correlation(losses) as f32,
            changes,
        }
    }

    /// Returns the statistics that all language kinds have.
    pub const fn common(&self) -> StepStats {
        StepStats { loss: self.loss, gradient: None }
    }
}

fn correlation(losses: &[[i64; 2]]) -> f64 {
    let n = losses.len().max(1) as f64;
    let mean = [0, 1].map(|side| losses.iter().map(|pair| pair[side] as f64).sum::<f64>() / n);
    let [mut both, mut plus, mut minus] = [0.0; 3];
    for pair in losses {
        let [a, b] = [0, 1].map(|side| pair[side] as f64 - mean[side]);
        (both, plus, minus) = (both + a * b, plus + a * a, minus + b * b);
    }
    both / (plus * minus).sqrt()
}

/// Values of the unperturbed model that can be inspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// Products of queries with the keys of the same and earlier tokens in a layer, `[tokens, tokens]`; 0 elsewhere.
    Attention(usize),
    /// Change that each step writes into the memory of a layer, `[tokens, H]`.
    Writes(usize),
    /// Two shares per layer, `[layers, 2]`: the share of rounded outputs of attention that are not 0, and the mean of
    /// 1 - exp(-β λ).
    Liveness,
}

/// Population that is evolved and inspected on one device. Parameters are exchanged in f32: matrices before they are rounded.
pub trait Backend: language::Backend {
    /// Runs a generation. Stops between groups of members within 100 ms if possible; finished members are kept for the
    /// next call with the same input. Fails if the vocabulary has more than 65,536 tokens or the device fails.
    fn generation(&mut self, input: &GenerationInput<'_>, pass: &mut Pass) -> Result<Outcome, SimError>;
    /// Appends to `out` the statistics of the generations that [`take_stats`](language::Backend::take_stats) has
    /// reported since the last call, oldest first. Fails if the device fails.
    fn take_generations(&mut self, out: &mut Vec<GenerationStats>) -> Result<(), SimError>;
    /// Sets whether launches are captured as graphs, for measurements; results do not depend on it. Backends without launches ignore
    /// it.
    fn set_capturing(&mut self, _is_capturing: bool) {}
    /// Returns the running mean square of Z of each tensor; `None` before the first generation. Fails if the device fails.
    fn mean_squares(&self) -> Result<Vec<Option<f32>>, SimError>;
    /// Sets the running mean squares. Fails if the device fails.
    fn set_mean_squares(&mut self, values: &[Option<f32>]) -> Result<(), SimError>;
    /// Returns values of the unperturbed model for one sequence. Tokens beyond the context are left out; the list is
    /// empty if the layer of the site does not exist. Fails if the device fails.
    fn inspect(&self, tokens: &[u32], site: Site, progress: &Progress) -> Result<Vec<f32>, SimError>;
}

/// Returns the mean loss of the tokens of a text under biases alone, `ln Σ exp(b) - b[t]` in nats per token. `counts`
/// holds the number of occurrences of each token.
pub fn bias_loss(biases: &[f32], counts: &[u64]) -> f32 {
    let max = biases.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = biases.iter().map(|b| f64::from(exact::exp(b - max))).sum();
    let (n, of_targets) = biases
        .iter()
        .zip(counts)
        .fold((0, 0.0), |(n, sum), (bias, count)| (n + count, sum + f64::from(bias - max) * *count as f64));
    (sum.ln() - of_targets / n.max(1) as f64) as f32
}
