//! Everything a model holds on a device.

use super::{
    format::ModelFormat,
    kernels::{StepParams, StepRecord, VIEW_PARTS, ViewRange},
    plan::{BatchShape, Plan},
};
use crate::{
    buffers,
    gpu::{Arena, Buf, Cell, Gpu},
    kinds::transformer::{
        backend::MAX_WAITING_STEPS,
        choices::Checkpointing,
        model::{Config, Layout},
    },
    nn::{
        cross_entropy::cuda::LossTotal,
        dropout::cuda::DropoutStep,
        elementwise::cuda::CudaElementwise,
        embedding::{Embedding, cuda::CudaEmbedding},
        norm::{Norm, NormKind, cuda::CudaNorm},
        optimizer::{
            Matrix, ParameterGroups,
            cuda::{CudaOptimizer, OptimizerRule, OptimizerSettings, OptimizerState},
        },
        parameters::{ALIGN, View, ViewId},
    },
};
use std::sync::Arc;

/// What the sizes of the buffers follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// Elements of the parameters.
    pub n: usize,
    /// Named parameters.
    pub views: usize,
    /// Tokens of the largest batch.
    pub tokens: usize,
    /// Entries of the lists of lengths.
    pub lengths: usize,
    /// Bytes of the arena.
    pub arena: usize,
    /// Elements of the caches of keys and of values, of all blocks.
    pub cache: usize,
    /// Elements of the weights before a step, when changes are measured.
    pub before: usize,
}

/// Temporaries of one operation of a block or of the embedding, bytes.
pub fn temporaries(config: &Config, shape: &BatchShape) -> usize {
    let n = shape.n_tokens();
    let (sequences, longest) = shape.attended();
    let lse = sequences * config.heads * longest;
    let embedding = CudaEmbedding::scratch_bytes(&Embedding::new(n, config.padded_vocab(), config.width, 1));
    let widest = config.width.max(config.fc_width()).max(config.qkv_width());
    let norm = Norm { rows: n, columns: config.width, eps: config.eps, kind: NormKind::Layer };
    let norm = Arena::bytes_of(&CudaNorm::temporaries(&norm));
    let bias = Arena::bytes_of(&CudaElementwise::temporaries_of_bias_gradient(n, widest));
    embedding.max(Arena::bytes_of(&[(lse, 4)])).max(norm).max(bias)
}

impl Sizes {
    /// For batches of up to that many sequences of the context.
    pub fn new<T: ModelFormat>(config: &Config, layout: &Layout, sequences: usize, mode: Checkpointing) -> Self {
        let shape = BatchShape::full(sequences, config.context);
        // Every matrix may become one of Muon.
        let matrix = |view: &View| match view.shape[..] {
            [rows, columns] => Some(Matrix { start: view.start, rows, columns }),
            _ => None,
        };
        let hidden = |(i, view): (usize, &View)| {
            let is_hidden = layout.role(ViewId(i)).is_hidden_matrix();
            if is_hidden { matrix(view) } else { None }
        };
        let matrices: Vec<Matrix> = layout.map.views().enumerate().filter_map(hidden).collect();
        let optimizer: usize = CudaOptimizer::temporaries(&layout.map, &matrices)
            .into_iter()
            .map(|temporary| Arena::bytes_of(&[temporary]))
            .sum();
        // A sequence that is looked at, and one that is continued.
        let one = BatchShape::full(1, config.context);
        let one_plan = Plan::new(config, &one, Checkpointing::Nothing, false);
        let map = Arena::bytes_of(&[(config.context * config.context, 4)]);
        let parts = Arena::bytes_of(&[(8 * config.heads * 64 * (config.head_dim() + 2), 4)]);
        let logits = Arena::bytes_of(&[(one_plan.logit_rows * one_plan.vocab, size_of::<T>())]);
        let one = one_plan.forward_bytes::<T>(map.max(logits + parts.max(temporaries(config, &one))));
        // Dropout may be switched on while the model trains.
        let training = arena_bytes::<T>(config, &shape, mode);
        let cache = config.layers * config.context * config.kv_heads * config.head_dim();
        Self {
            n: layout.map.len(),
            views: layout.map.views().len(),
            tokens: shape.n_tokens(),
            lengths: shape.n_tokens() + 1,
            arena: training.max(one).max(optimizer),
            cache,
            before: 0,
        }
    }
}

/// Bytes of an arena for a batch. Many short packed sequences need more than as many tokens of full ones.
pub fn arena_bytes<T: ModelFormat>(config: &Config, shape: &BatchShape, mode: Checkpointing) -> usize {
    let temporaries = temporaries(config, shape);
    let plan = Plan::new(config, shape, mode, true);
    plan.bytes::<T>(temporaries).max(plan.forward_bytes::<T>(temporaries))
}

buffers! {
    /// Weights, states and workspace.
    pub struct DeviceBuffers<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: Sizes) {
        "parameters" {
            /// Master weights.
            pub weights: Buf<f32> = State "weights" s.n;
            /// Weights in the format of the model, unless it is f32.
            pub copy: Buf<T> = Derived "rounded weights" if T::HAS_COPY { s.n } else { 0 };
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
            /// Updates, loss scale.
            pub state: Buf<OptimizerState> = Derived "optimiser state" 1;
            /// Learning rate and others.
            pub settings: Cell<OptimizerSettings> = Derived "optimiser settings" 1;
            /// Rules of groups.
            pub rules: Buf<OptimizerRule> = Derived "rules of parameters" s.views;
            /// Group of each run of parameters.
            pub groups: Buf<u16> = Derived "groups of parameters" s.n / ALIGN;
        }
        "batch" {
            /// Tokens.
            pub tokens: Buf<u32> = Workspace "tokens" s.tokens;
            /// Targets.
            pub targets: Buf<i32> = Workspace "targets" s.tokens;
            /// Lengths or offsets of sequences.
            pub lengths: Buf<i32> = Workspace "lengths" s.lengths;
            /// Positions of packed tokens.
            pub positions: Buf<u32> = Workspace "positions" s.tokens;
            /// Step, probability and first element of dropout.
            pub noise: Cell<DropoutStep> = Workspace "dropout" 1;
            /// The same of attention probabilities, with their first token.
            pub attention_noise: Cell<DropoutStep> = Workspace "dropout of attention" 1;
            /// What the host says about the step.
            pub params: Cell<StepParams> = Workspace "step" 1;
            /// Gradient of the loss of a target; loss scale of the step.
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
            pub keys: Buf<T> = Workspace "cache of keys" s.cache;
            /// Cache of values of all blocks.
            pub values: Buf<T> = Workspace "cache of values" s.cache;
        }
        "readback" {
            /// Losses and norms of steps that the host has not read.
            pub records: Buf<StepRecord> = Readback "records of steps" MAX_WAITING_STEPS;
            /// Ranges of the named parameters.
            pub views: Buf<ViewRange> = Derived "ranges of parameters" s.views;
            /// Sums of squares of parts of the parameters.
            pub partials: Buf<f64> = Workspace "sums of squares" 3 * s.views * VIEW_PARTS as usize;
            /// Norms of the named parameters.
            pub norms: Buf<f32> = Readback "norms of parameters" 3 * s.views;
            /// Weights before a step whose changes are measured.
            pub before: Option<Buf<f32>> = Workspace "weights before a step" s.before;
        }
        plain {
            /// The groups that rules and groups on the device are of.
            pub known: Option<ParameterGroups> = None;
        }
    }
}
