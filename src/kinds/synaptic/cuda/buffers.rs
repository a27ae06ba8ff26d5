//! Everything a model holds on a device.

use super::{network::Network, optimizer::matrices, plan::Plan};
use crate::{
    buffers,
    gpu::{Buf, Cell, Gpu},
    kinds::{
        language::{
            backend::MAX_WAITING_STEPS,
            cuda::{
                format::ModelFormat,
                model::{ModelBuffers, ModelSizes},
            },
            plan::BatchShape,
        },
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
    },
    nn::optimizer::MatrixRun,
};
use std::{ops::Range, sync::Arc};

/// Tokens of a step whose selected experts are kept.
pub const SHOWN_TOKENS: usize = 256;

/// What a model holds.
pub type DeviceBuffers<T> = ModelBuffers<Network<T>>;

/// What the sizes of [`SynapticBuffers`] follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SynapticSizes {
    /// Blocks.
    pub layers: usize,
    /// Experts of a block.
    pub experts: usize,
    /// Experts per token.
    pub top_k: usize,
    /// Elements of the caches of keys and of values, of all blocks.
    pub cache: usize,
    /// Numbers of the synapses of a text, of all blocks.
    pub synapses: usize,
    /// Logits of the tokens of a text that are read at once.
    pub logits: usize,
}

/// Tokens of a text that are read at once, at most.
const PIECE: usize = 64;

/// For batches of up to that many sequences of the context.
pub fn sizes<T: ModelFormat>(
    config: &Config,
    layout: &Layout,
    dynamics: &Dynamics,
    sequences: usize,
) -> ModelSizes<SynapticSizes> {
    let shape = BatchShape::full(sequences, config.context);
    let kind = SynapticSizes {
        layers: config.layers,
        experts: config.experts,
        top_k: config.top_k,
        cache: config.layers * config.context * config.kv_width(),
        synapses: synapses(config, &dynamics.presynaptic),
        logits: config.context.min(PIECE) * config.padded_vocab(),
    };
    let matrices: Vec<MatrixRun> = matrices(layout, config.experts).map(|(_, run)| run).collect();
    let arena = arena_bytes::<T>(config, dynamics, &shape);
    ModelSizes::new(kind, &layout.map, &matrices, &shape, (arena, false))
}

/// Numbers of the synapses of a text.
pub const fn synapses(config: &Config, op: &Presynaptic) -> usize {
    config.layers * KeyMemory::len(op, config.heads, config.context)
}

/// Bytes of an arena for a batch, and for a text that is looked at or continued.
pub fn arena_bytes<T: ModelFormat>(config: &Config, dynamics: &Dynamics, shape: &BatchShape) -> usize {
    let plan = Plan::new::<T>(config, dynamics, shape, shape.seq_len);
    plan.bytes::<T>().max(plan.forward_bytes::<T>()).max(text_arena_bytes::<T>(config, dynamics))
}

/// Bytes of an arena for a text that is looked at or continued.
pub fn text_arena_bytes<T: ModelFormat>(config: &Config, dynamics: &Dynamics) -> usize {
    let shape = BatchShape::full(1, config.context);
    Plan::new::<T>(config, dynamics, &shape, config.context).forward_bytes::<T>()
}

buffers! {
    /// States of routers, and workspace.
    pub struct SynapticBuffers<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: SynapticSizes) {
        "routers" {
            /// Embeddings of experts, `[L, E, 24]`.
            pub embeddings: Buf<f32> = State "embeddings of experts" s.layers * s.experts * FEATURES;
            /// Those behind an update, before they are copied.
            pub next_embeddings: Buf<f32> = Workspace "next embeddings of experts" s.layers * s.experts * FEATURES;
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
            /// Share of the targets of the step.
            pub micro_batch: Cell<BatchWeights> = Workspace "micro-batch" 1;
            /// Where random draws are.
            pub draws: Cell<ReleaseStep> = Workspace "random release" 1;
            /// Tokens of the step.
            pub step_tokens: Cell<StepTokens> = Workspace "tokens of the step" 1;
        }
        "activations" {
            /// Cache of keys of all blocks.
            pub keys: Buf<f32> = Workspace "cache of keys" s.cache;
            /// Cache of values of all blocks.
            pub values: Buf<f32> = Workspace "cache of values" s.cache;
            /// Synapses of a text.
            pub synapses: Buf<f32> = Workspace "synapses of a text" s.synapses;
            /// Place of the next token of a text, and the number of tokens with it.
            pub place: Buf<i32> = Workspace "place of a token" 2;
            /// Logits of a piece of a text, `[tokens, padded vocabulary]`.
            pub logits: Buf<T> = Workspace "logits of a text" s.logits;
        }
        "readback" {
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
            /// Weights and moments of frozen experts during an update.
            pub kept: Option<Buf<f32>> = Workspace "frozen experts" 0;
        }
        plain {
            /// The frozen blocks that the device knows.
            pub known_frozen: Option<Vec<u32>> = None;
            /// What frozen experts keep in the next update.
            pub frozen_ranges: Vec<Range<usize>> = vec![];
        }
    }
}
