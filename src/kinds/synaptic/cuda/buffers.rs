//! Device buffers of a synaptic model.

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

/// Number of last tokens of a step whose selected experts are kept.
pub const SHOWN_TOKENS: usize = 256;

/// All device buffers of a synaptic model.
pub type DeviceBuffers<T> = ModelBuffers<Network<T>>;

/// Sizes that determine [`SynapticBuffers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SynapticSizes {
    /// Number of blocks, L.
    pub layers: usize,
    /// Number of experts per block, E.
    pub experts: usize,
    /// Number of selected experts per token, k.
    pub top_k: usize,
    /// Number of elements of the key cache of all blocks, and of the value cache.
    pub cache: usize,
    /// Number of elements of the synaptic states of a text, all blocks.
    pub synapses: usize,
    /// Number of elements of the logits of one decoded chunk.
    pub logits: usize,
}

/// Largest number of tokens that are decoded at a time.
const PIECE: usize = 64;

/// Returns the buffer sizes for batches of up to `sequences` sequences of the context length.
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

/// Returns the number of elements of the synaptic states of a text, all blocks.
pub const fn synapses(config: &Config, op: &Presynaptic) -> usize {
    config.layers * KeyMemory::len(op, config.heads, config.context)
}

/// Returns the size of the arena for a batch, and for inspecting or decoding one text, bytes.
pub fn arena_bytes<T: ModelFormat>(config: &Config, dynamics: &Dynamics, shape: &BatchShape) -> usize {
    let plan = Plan::new::<T>(config, dynamics, shape, shape.seq_len);
    plan.bytes::<T>().max(plan.forward_bytes::<T>()).max(text_arena_bytes::<T>(config, dynamics))
}

/// Returns the size of the arena to inspect or decode one text, bytes.
pub fn text_arena_bytes<T: ModelFormat>(config: &Config, dynamics: &Dynamics) -> usize {
    let shape = BatchShape::full(1, config.context);
    Plan::new::<T>(config, dynamics, &shape, config.context).forward_bytes::<T>()
}

buffers! {
    /// Router states, KV cache and readback of experts.
    pub struct SynapticBuffers<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: SynapticSizes) {
        "routers" {
            /// Router embeddings of experts, unit vectors, `[L, E, 24]`.
            pub embeddings: Buf<f32> = State "embeddings of experts" s.layers * s.experts * FEATURES;
            /// Router embeddings after an update, before they are copied.
            pub next_embeddings: Buf<f32> = Workspace "next embeddings of experts" s.layers * s.experts * FEATURES;
            /// Average load of experts, `[L, E]`.
            pub fatigue: Buf<f32> = State "fatigue of experts" s.layers * s.experts;
            /// Energy of experts, `[L, E]`.
            pub energy: Buf<f32> = State "energy of experts" s.layers * s.experts;
            /// Selection bias for load balancing, `[L, E]`.
            pub balance: Buf<f32> = State "balance of experts" s.layers * s.experts;
            /// Nonzero for living experts, `[L, E]`.
            pub alive: Buf<u32> = State "living experts" s.layers * s.experts;
            /// Nonzero for frozen blocks, `[L]`.
            pub frozen: Buf<u32> = Derived "frozen blocks" s.layers;
        }
        "batch" {
            /// Share of the step's targets in the micro-batch.
            pub micro_batch: Cell<BatchWeights> = Workspace "micro-batch" 1;
            /// Addresses of the random draws of release.
            pub draws: Cell<ReleaseStep> = Workspace "random release" 1;
            /// Number of tokens of the step.
            pub step_tokens: Cell<StepTokens> = Workspace "tokens of the step" 1;
        }
        "activations" {
            /// Keys of all blocks, `[L, Hkv, T, D]`.
            pub keys: Buf<f32> = Workspace "cache of keys" s.cache;
            /// Values of all blocks, `[L, Hkv, T, D]`.
            pub values: Buf<f32> = Workspace "cache of values" s.cache;
            /// Synaptic states of a text, all blocks.
            pub synapses: Buf<f32> = Workspace "synapses of a text" s.synapses;
            /// Position of the next token of a text, and the number of tokens up to and including this token.
            pub place: Buf<i32> = Workspace "place of a token" 2;
            /// Logits of a decoded chunk, `[tokens, padded vocabulary]`.
            pub logits: Buf<T> = Workspace "logits of a text" s.logits;
        }
        "readback" {
            /// Sums of the statistics of experts in the step, `[L, E, 32]`.
            pub statistics: Buf<f64> = Readback "statistics of experts" s.layers * s.experts * STATISTICS;
            /// Records of experts, for scores, of steps that the host has not read, `[steps, L, E]`.
            pub expert_records: Buf<ExpertRecord> =
                Readback "records of experts" MAX_WAITING_STEPS * s.layers * s.experts;
            /// Auxiliary losses of the step, `[L]`.
            pub aux: Buf<f64> = Readback "auxiliary losses" s.layers;
            /// Experts that the last tokens of the step selected, `[L, 256, k]`.
            pub selected: Buf<u32> = Readback "selected experts" s.layers * SHOWN_TOKENS * s.top_k;
            /// Gates of these experts, `[L, 256, k]`.
            pub selected_gates: Buf<f32> = Readback "gates of selected experts" s.layers * SHOWN_TOKENS * s.top_k;
            /// Weights and moments of frozen experts during an update.
            pub kept: Option<Buf<f32>> = Workspace "frozen experts" 0;
        }
        plain {
            /// Frozen blocks that are written to the device; `None` if unknown.
            pub known_frozen: Option<Vec<u32>> = None;
            /// Parameter ranges of frozen experts, kept in the next update.
            pub frozen_ranges: Vec<Range<usize>> = vec![];
        }
    }
}
