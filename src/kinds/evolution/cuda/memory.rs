//! Device buffers of a population.

use super::kernels::{Draws, StepArgs};
use crate::{
    buffers,
    gpu::{Buf, Gpu},
    kinds::evolution::{
        activation_noise::ActivationSigns,
        model::{Matrix, Sizes, Vector},
        network::Network,
        strategy::{NoiseForm, Settings},
    },
    nn::parameters::ParameterMap,
    sim::{Buffers as _, MemoryReport},
};
use std::sync::Arc;

/// Approximate memory of the rows that are evaluated together, bytes.
const ROW_BYTES: usize = 1 << 30;
/// Largest number of rows that are evaluated together.
const MAX_ROWS: usize = 1 << 17;
/// Largest number of blocks in the second and third dimension of a grid.
const MAX_BLOCKS: usize = 65_535;
/// Approximate memory of merged weights, or of low-rank signs, bytes.
const NOISE_BYTES: usize = 1 << 29;

/// Sizes of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateSizes {
    /// Elements in the layout of the parameters.
    pub len: usize,
    /// Number of tensors.
    pub tensors: usize,
    /// Number of layers that can be frozen.
    pub layers: usize,
    /// Number of pairs.
    pub pairs: usize,
    /// Number of moments.
    pub moments: usize,
}

buffers! {
    /// Weights, and the buffers of an update.
    pub struct State(gpu: Arc<Gpu>, s: StateSizes) {
        "parameters" {
            /// Ternary weights; 0 in the places of vectors.
            pub weights: Buf<i8> = Saved "weights" s.len;
            /// Weights before they are rounded, and vectors.
            pub shadows: Buf<f32> = Saved "unrounded weights" s.len;
            /// First moments; one element if the rule has none.
            pub first: Buf<f32> = Saved "first moments" if s.moments > 0 { s.len } else { 1 };
            /// Second moments; one element if the rule has none.
            pub second: Buf<f32> = Saved "second moments" if s.moments > 1 { s.len } else { 1 };
            /// Running mean squares of Z; negative before the first generation.
            pub mean_squares: Buf<f32> = Saved "mean squares" s.tensors;
        }
        "update" {
            /// Weights in units of the perturbation.
            pub shifted: Buf<i8> = Derived "shifted weights" s.len;
            /// Draws of the group of pairs that is launched next.
            pub draws: Buf<Draws> = Derived "draws" 1;
            /// Steps of matrices and of vectors.
            pub steps: Buf<StepArgs> = Derived "steps" 2;
            /// Losses of all members, in units of 2^-24 nat.
            pub losses: Buf<u64> = Workspace "losses of members" 2 * s.pairs;
            /// Rank or fitness of each pair.
            pub shaped: Buf<f64> = Workspace "shaped fitness" s.pairs;
            /// Mean and standard deviation of the shaped fitness.
            pub mean_deviation: Buf<f64> = Workspace "mean and deviation of fitness" 2;
            /// Weights of the pairs, in units of 2^-20.
            pub pair_weights: Buf<i64> = Workspace "weights of pairs" s.pairs;
            /// Weighted sums of the perturbations, in units of 2^-20.
            pub z: Buf<i64> = Workspace "weighted sums of perturbations" s.len;
            /// Sum of squares of each tensor in two halves of 32 bits: low, high.
            pub halves: Buf<u64> = Workspace "sums of squares" 2 * s.tensors;
            /// Roots of the mean squares.
            pub roots: Buf<f32> = Workspace "roots" s.tensors;
            /// Number of changed weights and number of weights at their limit, for each tensor.
            pub counts: Buf<u64> = Workspace "changed weights" 2 * s.tensors;
            /// Number of elements of each tensor.
            pub lengths: Buf<u32> = Derived "lengths of tensors" s.tensors;
            /// Whether each layer is frozen.
            pub frozen: Buf<u8> = Derived "frozen layers" s.layers;
        }
    }
}

/// Sizes of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkSizes {
    /// Sizes of the model.
    pub sizes: Sizes,
    /// Elements in the layout of the parameters.
    pub len: usize,
    /// Number of pairs that are evaluated together.
    pub pairs: usize,
    /// Number of sequences of each member that are evaluated together.
    pub sequences: usize,
    /// Rows of a workspace.
    pub rows: usize,
    /// Words of signs of each pair; 0 with full rank.
    pub words: usize,
    /// Whether signs perturb activations.
    pub perturbs_activations: bool,
    /// Rank of the perturbations; 0: full.
    pub rank: usize,
}

impl WorkSizes {
    /// Returns the sizes for a population of `pairs` pairs.
    pub fn of(sizes: &Sizes, len: usize, settings: &Settings, pairs: usize) -> Self {
        let rank = if let NoiseForm::LowRank(rank) = settings.noise { rank } else { 0 };
        let words = SignWords::new(sizes, settings).total;
        let noise_bytes = if words == 0 { 2 * len } else { 8 * words };
        let most = (ROW_BYTES / row_bytes(sizes, rank)).min(MAX_ROWS).min(MAX_BLOCKS * sizes.steps);
        let sequences = settings.sequences.min((most / (2 * sizes.steps)).max(1));
        let together =
            (most / (2 * sequences * sizes.steps)).min(NOISE_BYTES / noise_bytes).clamp(1, pairs.min(MAX_BLOCKS / 2));
        let rows = 2 * together * sequences * sizes.steps;
        let perturbs_activations = settings.noise == NoiseForm::Activations;
        Self { sizes: *sizes, len, pairs: together, sequences, rows, words, perturbs_activations, rank }
    }

    /// Returns the sizes for the unperturbed model alone.
    pub fn alone(sizes: &Sizes, len: usize) -> Self {
        let most = (ROW_BYTES / row_bytes(sizes, 0)).min(MAX_ROWS / 8);
        let sequences = (most / sizes.steps).max(1);
        let rows = sequences * sizes.steps;
        Self { sizes: *sizes, len, pairs: 1, sequences, rows, words: 1, perturbs_activations: false, rank: 0 }
    }

    /// Returns the number of integer sums that a row has in its widest product.
    fn sums(&self) -> usize {
        let Sizes { width, mlp_multiple, vocabulary, .. } = self.sizes;
        (3 * width).max(mlp_multiple * width).max(vocabulary)
    }
}

/// Places of the signs of a pair.
#[derive(Clone, Debug, Default)]
pub struct SignWords {
    /// First word of each matrix.
    pub first: Vec<usize>,
    /// Number of words of each matrix.
    pub words: Vec<usize>,
    /// Number of words of a pair; 0 with full rank.
    pub total: usize,
}

impl SignWords {
    /// Returns the places for the settings of a strategy.
    pub fn new(sizes: &Sizes, settings: &Settings) -> Self {
        Self::of(sizes, settings.noise, settings.sequences * sizes.steps)
    }

    /// Returns the places for pairs of `rows` rows.
    pub fn of(sizes: &Sizes, noise: NoiseForm, rows: usize) -> Self {
        let signs = |matrix: Matrix| match noise {
            NoiseForm::FullRank(_) => 0,
            NoiseForm::LowRank(rank) => rank * (matrix.rows + matrix.columns),
            NoiseForm::Activations => rows * ActivationSigns::outputs(&matrix),
        };
        let words: Vec<usize> = sizes.matrices().into_iter().map(|matrix| signs(matrix).div_ceil(64)).collect();
        let first = words.iter().scan(0, |all, words| {
            *all += words;
            Some(*all - words)
        });
        Self { first: first.collect(), total: words.iter().sum(), words }
    }
}

/// Returns the first element of each vector among all vectors, and the number of elements of all vectors.
pub fn first_elements(sizes: &Sizes) -> ([usize; 3], usize) {
    let [head, gates, positions] = Vector::ALL.map(|vector| sizes.len(vector));
    ([0, head, head + gates], head + gates + positions)
}

/// Returns the memory of a row in a workspace, bytes.
fn row_bytes(sizes: &Sizes, rank: usize) -> usize {
    let Sizes { width, mlp_multiple, vocabulary, steps, .. } = *sizes;
    let sums = (3 * width).max(mlp_multiple * width).max(vocabulary);
    (2 + mlp_multiple + 4) * width + 4 * sums + 8 * steps + 12 * rank + 24
}

buffers! {
    /// Workspace of the rows that are evaluated together.
    pub struct Work(gpu: Arc<Gpu>, s: WorkSizes) {
        "draws" {
            /// Signs of low-rank perturbations or of activations, `[pairs, words]`.
            pub signs: Buf<u64> = Workspace "signs" (s.pairs * s.words).max(1);
            /// Merged weights, `[members, parameters]`.
            pub merged: Buf<i8> = Workspace "merged weights" if s.words == 0 { 2 * s.pairs * s.len } else { 1 };
            /// Perturbations of vectors, `[pairs, elements]`; 0 if activations are perturbed.
            pub noise: Buf<i8> = Workspace "noise of vectors" s.pairs * first_elements(&s.sizes).1;
            /// Tokens of pairs.
            pub tokens: Buf<u16> = Workspace "tokens" s.rows;
            /// Targets of pairs.
            pub targets: Buf<u16> = Workspace "targets" s.rows;
        }
        "activations" {
            /// Residual stream of all rows.
            pub x: Buf<i8> = Workspace "residual stream" s.rows * s.sizes.width;
            /// Inputs of the multiplications, normalised.
            pub y: Buf<i8> = Workspace "normalised rows" s.rows * s.sizes.width;
            /// Hidden activations of the feed-forward layer.
            pub hidden: Buf<i8> = Workspace "hidden layer" s.rows * s.sizes.mlp_multiple * s.sizes.width;
            /// Integer sums of products.
            pub sums: Buf<i32> = Workspace "sums of products" s.rows * s.sums();
            /// Products of rows with the second factors of low-rank perturbations, `[rows, 3, rank]`: queries, keys, values.
            pub along: Buf<i32> = Workspace "products with second factors" (3 * s.rows * s.rank).max(1);
            /// Strength α of the update at each step.
            pub alphas: Buf<f32> = Workspace "strengths of steps" s.rows;
            /// Factors that normalise queries and keys, `[rows, 2]`.
            pub inverses: Buf<f32> = Workspace "factors of queries and keys" 2 * s.rows;
            /// Outputs of attention.
            pub output: Buf<f32> = Workspace "outputs of attention" s.rows * s.sizes.width;
            /// Products of keys and queries with keys, `[sequences, 2, groups of 8 steps, T, 8]`.
            pub products: Buf<f32> = Workspace "products of keys" 2 * s.rows * s.sizes.steps.next_multiple_of(8);
            /// Losses of rows.
            pub row_losses: Buf<u64> = Workspace "losses of rows" s.rows;
        }
        plain {
            /// Sizes for which the workspace was allocated.
            pub sizes: WorkSizes = *s;
        }
    }
}

/// Returns the sizes of the state.
pub fn state_sizes(network: &Network, map: &ParameterMap, pairs: usize, moments: usize) -> StateSizes {
    StateSizes { len: map.len(), tensors: map.views().len(), layers: network.sizes.layers + 2, pairs, moments }
}

/// Predicts the memory of a population.
pub fn predict(
    network: &Network,
    map: &ParameterMap,
    settings: &Settings,
    (pairs, moments): (usize, usize),
) -> MemoryReport {
    let mut report = State::predict(&state_sizes(network, map, pairs, moments));
    let work = Work::predict(&WorkSizes::of(&network.sizes, map.len(), settings, pairs));
    work.iter().for_each(|held| report.add(held.owner, held.name, held.place, held.bytes));
    report
}
