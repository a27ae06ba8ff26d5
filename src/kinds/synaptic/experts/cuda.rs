//! Mixture of experts on a GPU, by the kernels of `kernels/synaptic/router.cu` and the grouped GEMMs of `nn::gemm`. Buffers
//! have N k rows for any routing, so the host never waits. Sums over tokens are taken in an order that depends only on
//! sizes.

mod args;
mod backward;
mod forward;

pub use args::{BatchWeights, CONTRIBUTION, COUNT, MODULES, RouterKernels, StepTokens};
pub use backward::MatrixGradients;

use super::{Balancing, ExpertsError, FEATURES, LoadStatistics, Mixture, PullOver, Router};
use crate::{
    gpu::{Gpu, GpuError, Grid, Slice},
    kinds::language::cuda::format::ModelFormat,
};
use args::{GATES, PARTS, RouterArgs, RouterRates, TILE};
use std::sync::Arc;

/// Maximum number of experts per layer on a device.
pub const MAX_EXPERTS: usize = args::MAX_EXPERTS as usize;
/// Maximum number of experts per token on a device.
pub const MAX_TOP_K: usize = 32;
/// Number of values per expert in the statistics of a step.
pub const STATISTICS: usize = 32;

/// Genomes and router state of a layer.
#[derive(Clone, Copy)]
pub struct DeviceState<'a> {
    /// Genomes of experts, `[E, 4]`.
    pub genome: &'a Slice<f32>,
    /// Router embeddings, unit vectors, `[E, 24]`.
    pub embeddings: &'a Slice<f32>,
    /// Average load, `[E]`.
    pub fatigue: &'a Slice<f32>,
    /// Energy of experts, `[E]`.
    pub energy: &'a Slice<f32>,
    /// Selection bias, `[E]`.
    pub balance: &'a Slice<f32>,
    /// Nonzero for living experts, `[E]`.
    pub alive: &'a Slice<u32>,
}

/// Genomes of all layers, and the router states that an update changes.
pub struct DeviceStateMut<'a> {
    /// Genomes of all layers.
    pub genome: &'a Slice<f32>,
    /// Nonzero for living experts, `[L, E]`.
    pub alive: &'a Slice<u32>,
    /// Router embeddings, `[L, E, 24]`.
    pub embeddings: &'a mut Slice<f32>,
    /// Workspace for the next embeddings, `[L, E, 24]`.
    pub next: &'a mut Slice<f32>,
    /// Average load, `[L, E]`.
    pub fatigue: &'a mut Slice<f32>,
    /// Energy, `[L, E]`.
    pub energy: &'a mut Slice<f32>,
    /// Selection bias, `[L, E]`.
    pub balance: &'a mut Slice<f32>,
}

/// Routing decisions of a batch, see [`Routing`](super::Routing).
pub struct DeviceRouting<'a> {
    /// Probe features, `[N, 24]`.
    pub features: &'a mut Slice<f32>,
    /// Reciprocal norms of the probe features, `[N]`.
    pub inverse_norms: &'a mut Slice<f32>,
    /// Selected experts, `[N, k]`.
    pub indices: &'a mut Slice<u32>,
    /// Gates, `[N, k]`.
    pub gates: &'a mut Slice<f32>,
    /// Cosines of the features with the embeddings of the selected experts, `[N, k]`.
    pub cosines: &'a mut Slice<f32>,
    /// Tokens per expert, `[E]`.
    pub counts: &'a mut Slice<u32>,
    /// First row of each expert and the number of rows, `[E + 1]`.
    pub offsets: &'a mut Slice<u32>,
    /// Assignment of each row, `[N k]`.
    pub order: &'a mut Slice<u32>,
    /// Row of each assignment, `[N k]`.
    pub ranks: &'a mut Slice<u32>,
}

/// Activations by row of the groups, see [`MixtureWork`](super::MixtureWork).
pub struct DeviceRows<'a, T: ModelFormat> {
    /// Inputs, `[N k, C]`.
    pub inputs: &'a mut Slice<T>,
    /// Input of the squared ReLU, `[N k, hidden]`.
    pub linear: &'a mut Slice<T>,
    /// Output of the squared ReLU, `[N k, hidden]`.
    pub hidden: &'a mut Slice<T>,
    /// Outputs before the gates, `[N k, C]`.
    pub outputs: &'a mut Slice<f32>,
}

/// Router and expert weights of a layer.
#[derive(Clone, Copy)]
pub struct DeviceWeights<'a, T: ModelFormat> {
    /// Router matrix, `[E, C]`.
    pub router: &'a Slice<f32>,
    /// Probe matrix, `[24, C]`.
    pub probe: &'a Slice<f32>,
    /// First matrices, `[E, hidden, C]`.
    pub fc1: &'a Slice<T>,
    /// First biases, `[E, hidden]`.
    pub fc1_bias: &'a Slice<T>,
    /// Second matrices, `[E, C, hidden]`.
    pub fc2: &'a Slice<T>,
    /// Second biases, `[E, C]`.
    pub fc2_bias: &'a Slice<f32>,
}

/// Gradients of the weights of a layer, accumulated.
pub struct DeviceGradients<'a> {
    /// Gradient of the router matrix, `[E, C]`.
    pub router: &'a mut Slice<f32>,
    /// Gradient of the probe matrix, `[24, C]`.
    pub probe: &'a mut Slice<f32>,
    /// Gradients of the first matrices, `[E, hidden, C]`.
    pub fc1: &'a mut Slice<f32>,
    /// Gradients of the first biases, `[E, hidden]`.
    pub fc1_bias: &'a mut Slice<f32>,
    /// Gradients of the second matrices, `[E, C, hidden]`.
    pub fc2: &'a mut Slice<f32>,
    /// Gradients of the second biases, `[E, C]`.
    pub fc2_bias: &'a mut Slice<f32>,
}

/// Sums over a step, accumulated.
pub struct DeviceStatistics<'a> {
    /// Sums per expert, `[E, 32]`: 24 features, gates, contribution, tokens.
    pub experts: &'a mut Slice<f64>,
    /// Sum of the auxiliary loss, one element.
    pub aux: &'a mut Slice<f64>,
}

/// Operations of the mixture of experts on one device.
pub struct CudaExperts {
    kernels: RouterKernels,
    multiprocessors: u32,
    /// Whether terms and updates of the router are those of bio_inspired_nanochat.
    is_earlier: bool,
}

impl CudaExperts {
    /// Loads the router kernels. Fails if they cannot be compiled or loaded.
    pub fn load(gpu: &Arc<Gpu>) -> Result<Self, GpuError> {
        Ok(Self { kernels: RouterKernels::load(gpu)?, multiprocessors: gpu.multiprocessors, is_earlier: false })
    }

    /// Uses the terms and updates of the router of bio_inspired_nanochat instead of those of the CPU backend, to compare
    /// the kernels with its golden files. No simulation uses them.
    #[must_use]
    pub fn with_earlier_router(self) -> Self {
        Self { is_earlier: true, ..self }
    }

    /// Returns the reason why a device does not support a router; `None` if the router is supported.
    pub fn refusal(op: &Router) -> Option<String> {
        if op.experts > MAX_EXPERTS || op.top_k > MAX_TOP_K {
            let (experts, top_k) = (op.experts, op.top_k);
            return Some(format!(
                "{experts} experts, {top_k} per token: a device has at most {MAX_EXPERTS}, {MAX_TOP_K} per token"
            ));
        }
        None
    }

    /// Returns the temporaries of the forward and backward pass, as (element count, element size).
    pub fn temporaries(op: &Mixture, tokens: usize) -> [(usize, usize); 5] {
        let (experts, rows) = (op.experts, tokens * op.top_k);
        [
            (tokens * experts, 4),
            (rows.div_ceil(TILE as usize) * experts, 4),
            (tokens * FEATURES, 4),
            (experts * PARTS as usize * op.hidden.max(op.width), 4),
            (experts * PARTS as usize * STATISTICS, 8),
        ]
    }
}

/// Converts the sums of a layer to the CPU's statistics: load and contributions.
pub fn statistics(tokens: u64, experts: &[f64]) -> (LoadStatistics, Vec<f64>) {
    let n = experts.len() / STATISTICS;
    let (mut load, mut contribution) = (LoadStatistics::new(n), vec![0.0; n]);
    load.tokens = tokens;
    for (e, sums) in experts.chunks_exact(STATISTICS).enumerate() {
        load.counts[e] = sums[COUNT as usize] as u64;
        load.gates[e] = sums[GATES as usize];
        load.features[e * FEATURES..(e + 1) * FEATURES].copy_from_slice(&sums[..FEATURES]);
        contribution[e] = sums[CONTRIBUTION as usize];
    }
    (load, contribution)
}

/// Returns the sizes and constants of the router of the kind, for the kernels.
fn args(op: &Router, tokens: usize, aux_weight: f32, is_aligned: bool) -> RouterArgs {
    RouterArgs {
        tokens: tokens as u32,
        experts: op.experts as u32,
        top_k: op.top_k as u32,
        width: op.width as u32,
        gene: op.gene as f32,
        align: op.align as f32,
        metabolic_bias: op.metabolic_bias as f32,
        aux_weight,
        is_aligned: is_aligned.into(),
        is_reference: 0,
    }
}

fn rates(op: &Router) -> RouterRates {
    let (is_balanced, balance_rate) = match op.balancing {
        Balancing::AuxLoss => (0, 0.0),
        Balancing::Bias { rate } => (1, rate),
    };
    let is_own = u32::from(op.pull_over == PullOver::OwnTokens);
    RouterRates { energy_cost: op.energy_cost, pull: op.pull, push: op.push, balance_rate, is_balanced, is_own }
}

/// Returns a grid with a warp per item. Above 2^15 items, each warp loops over several.
fn warps(n: usize) -> Grid {
    let blocks = n.div_ceil(8).clamp(1, 1 << 12) as u32;
    Grid::Blocks { blocks: [blocks, 1, 1], threads: [256, 1, 1], shared_bytes: 0 }
}

/// Returns the number of elements of the embeddings in shared memory, each padded by one.
fn embedding_floats(op: &Router) -> u32 {
    (op.experts * (FEATURES + 1)) as u32
}

/// Fails if the rows overflow the kernels' index type.
fn check_rows(op: &Mixture, tokens: usize) -> Result<(), ExpertsError> {
    let rows = tokens.saturating_mul(op.top_k);
    if rows > u32::MAX as usize / 2 { Err(ExpertsError::Memory { elements: rows }) } else { Ok(()) }
}
