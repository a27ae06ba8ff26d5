//! Everything a model holds on a device.

use super::plan::{BatchShape, Plan};
use crate::{
    buffers,
    gpu::{Arena, Buf, Cell, Gpu},
    kinds::{
        language::backend::MAX_WAITING_STEPS,
        synaptic::{
            backend::Dynamics,
            experts::{
                FEATURES,
                cuda::{BatchWeights, STATISTICS, StepTokens},
            },
            life::ExpertRecord,
            model::{Config, Layout},
            presynaptic::{
                Presynaptic,
                cuda::{KeyMemory, ReleaseStep},
            },
        },
        transformer::cuda::kernels::{StepParams, StepRecord, VIEW_PARTS, ViewRange},
    },
    nn::{
        cross_entropy::cuda::LossTotal,
        optimizer::{
            ParameterGroups,
            cuda::{CudaOptimizer, OptimizerRule, OptimizerSettings, OptimizerState},
        },
        parameters::ALIGN,
    },
};
use std::sync::Arc;

/// Tokens of a step whose selected experts are kept.
pub const SHOWN_TOKENS: usize = 256;

/// What the sizes of the buffers follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Elements of the parameters.
    pub n: usize,
    /// Named parameters.
    pub views: usize,
    /// Blocks.
    pub layers: usize,
    /// Experts of a block.
    pub experts: usize,
    /// Experts per token.
    pub top_k: usize,
    /// Tokens of the largest batch.
    pub tokens: usize,
    /// Bytes of the arena.
    pub arena: usize,
    /// Elements of the caches of keys and of values, of all blocks.
    pub cache: usize,
    /// Numbers of the synapses of a text, of all blocks.
    pub synapses: usize,
    /// Elements of the weights before a step, when changes are measured.
    pub before: usize,
}

impl Sizes {
    /// For batches of up to that many sequences of the context.
    pub fn new(config: &Config, layout: &Layout, dynamics: &Dynamics, sequences: usize) -> Self {
        let shape = BatchShape { sequences, seq_len: config.context };
        let optimizer: usize = CudaOptimizer::temporaries(&layout.map, &[])
            .into_iter()
            .map(|temporary| Arena::bytes_of(&[temporary]))
            .sum();
        Self {
            n: layout.map.len(),
            views: layout.map.views().len(),
            layers: config.layers,
            experts: config.experts,
            top_k: config.top_k,
            tokens: shape.n_tokens(),
            arena: arena_bytes(config, dynamics, &shape).max(optimizer),
            cache: config.layers * config.context * config.kv_width(),
            synapses: synapses(config, &dynamics.presynaptic),
            before: 0,
        }
    }
}

/// Numbers of the synapses of a text.
pub const fn synapses(config: &Config, op: &Presynaptic) -> usize {
    config.layers * KeyMemory::len(op, config.heads, config.context)
}

/// Bytes of an arena for a batch, and for a text that is looked at or continued.
pub fn arena_bytes(config: &Config, dynamics: &Dynamics, shape: &BatchShape) -> usize {
    let one = BatchShape { sequences: 1, seq_len: config.context };
    let plan = Plan::new(config, dynamics, shape, shape.seq_len);
    let one = Plan::new(config, dynamics, &one, config.context);
    plan.bytes().max(plan.forward_bytes()).max(one.forward_bytes())
}

buffers! {
    /// Weights, states and workspace.
    pub struct DeviceBuffers(gpu: Arc<Gpu>, s: Sizes) {
        "parameters" {
            /// Weights.
            pub weights: Buf<f32> = State "weights" s.n;
        }
        "gradient" {
            /// Of the step.
            pub gradient: Buf<f32> = Workspace "gradient" s.n;
        }
        "optimiser" {
            /// First moments.
            pub means: Buf<f32> = State "first moments" s.n;
            /// Second moments.
            pub squares: Buf<f32> = State "second moments" s.n;
            /// Updates.
            pub state: Buf<OptimizerState> = Derived "optimiser state" 1;
            /// Learning rate and others.
            pub settings: Cell<OptimizerSettings> = Derived "optimiser settings" 1;
            /// Rules of groups.
            pub rules: Buf<OptimizerRule> = Derived "rules of parameters" s.views;
            /// Group of each run of parameters.
            pub groups: Buf<u16> = Derived "groups of parameters" s.n / ALIGN;
        }
        "routers" {
            /// Embeddings of experts, `[L, E, 24]`.
            pub embeddings: Buf<f32> = State "embeddings of experts" s.layers * s.experts * FEATURES;
            /// `[L, E]`
            pub fatigue: Buf<f32> = State "fatigue of experts" s.layers * s.experts;
            /// `[L, E]`
            pub energy: Buf<f32> = State "energy of experts" s.layers * s.experts;
            /// `[L, E]`
            pub balance: Buf<f32> = State "balance of experts" s.layers * s.experts;
            /// 1 for living experts, `[L, E]`.
            pub alive: Buf<u32> = State "living experts" s.layers * s.experts;
            /// 1 for frozen blocks.
            pub frozen: Buf<u32> = Derived "frozen blocks" s.layers;
        }
        "batch" {
            /// Tokens.
            pub tokens: Buf<u32> = Workspace "tokens" s.tokens;
            /// Targets.
            pub targets: Buf<i32> = Workspace "targets" s.tokens;
            /// Share of the targets of the step.
            pub batch: Cell<BatchWeights> = Workspace "micro-batch" 1;
            /// Where random draws are.
            pub draws: Cell<ReleaseStep> = Workspace "random release" 1;
            /// What the host says about the step.
            pub params: Cell<StepParams> = Workspace "step" 1;
            /// Tokens of the step.
            pub step_tokens: Cell<StepTokens> = Workspace "tokens of the step" 1;
            /// Gradient of the loss of a target; 1.
            pub scale: Buf<f32> = Workspace "gradient of a loss" 2;
            /// Sum of the losses of the step.
            pub total: Buf<LossTotal> = Workspace "loss" 1;
            /// Raised where a token is out of range.
            pub flag: Buf<u32> = Workspace "invalid token" 1;
        }
        "activations" {
            /// Activations and temporaries.
            pub arena: Arena = Workspace "activations" s.arena;
            /// Cache of keys of all blocks.
            pub keys: Buf<f32> = Workspace "cache of keys" s.cache;
            /// Cache of values of all blocks.
            pub values: Buf<f32> = Workspace "cache of values" s.cache;
            /// Synapses of a text.
            pub synapses: Buf<f32> = Workspace "synapses of a text" s.synapses;
        }
        "readback" {
            /// Losses and norms of steps that the host has not read.
            pub records: Buf<StepRecord> = Readback "records of steps" MAX_WAITING_STEPS;
            /// What the experts did in the step, `[L, E, 32]`.
            pub statistics: Buf<f64> = Readback "statistics of experts" s.layers * s.experts * STATISTICS;
            /// What scores take from steps that the host has not read, `[steps, L, E]`.
            pub expert_records: Buf<ExpertRecord> =
                Readback "records of experts" MAX_WAITING_STEPS * s.layers * s.experts;
            /// Auxiliary losses of the step, `[L]`.
            pub aux: Buf<f64> = Readback "auxiliary losses" s.layers;
            /// What the last tokens of the step selected, `[L, 256, k]`.
            pub selected: Buf<u32> = Readback "selected experts" s.layers * SHOWN_TOKENS * s.top_k;
            /// Their gates.
            pub selected_gates: Buf<f32> = Readback "gates of selected experts" s.layers * SHOWN_TOKENS * s.top_k;
            /// Ranges of the named parameters.
            pub views: Buf<ViewRange> = Derived "ranges of parameters" s.views;
            /// Sums of squares of parts of the parameters.
            pub partials: Buf<f64> = Workspace "sums of squares" 3 * s.views * VIEW_PARTS as usize;
            /// Norms of the named parameters.
            pub norms: Buf<f32> = Readback "norms of parameters" 3 * s.views;
            /// Weights before a step whose changes are measured.
            pub before: Option<Buf<f32>> = Workspace "weights before a step" s.before;
            /// Weights and moments of frozen experts during an update.
            pub kept: Option<Buf<f32>> = Workspace "frozen experts" 0;
        }
        plain {
            /// The groups that rules and groups on the device are of.
            pub known: Option<ParameterGroups> = None;
        }
    }
}
