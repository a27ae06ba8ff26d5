//! Device buffers of a transformer.

use super::network::Network;
use crate::{
    buffers,
    gpu::{Arena, Buf, Cell, Gpu},
    kinds::{
        language::{
            cuda::{
                format::ModelFormat,
                model::{ModelBuffers, ModelSizes},
            },
            plan::{BatchShape, logit_rows},
        },
        transformer::{
            choices::Checkpointing,
            model::{Config, Layout},
            plan::Plan,
        },
    },
    nn::{
        attention::cuda::sums_of_queries,
        dropout::cuda::DropoutStep,
        elementwise::cuda::CudaElementwise,
        embedding::{Embedding, cuda::CudaEmbedding},
        norm::{Norm, NormKind, cuda::CudaNorm},
        optimizer::{Matrix, MatrixRun},
        parameters::{View, ViewId},
    },
};
use std::sync::Arc;

/// All device buffers of a transformer.
pub type DeviceBuffers<T> = ModelBuffers<Network<T>>;

/// Sizes that determine [`TransformerBuffers`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerSizes {
    /// Number of elements of the key cache of all blocks, and of the value cache.
    pub cache: usize,
    /// Number of elements of the logits of one decoded chunk.
    pub logits: usize,
}

/// Maximum number of tokens that are decoded at a time.
const PIECE: usize = 64;

/// Approximate number of logits that are in memory at a time.
const LOGITS: usize = 1 << 28;

/// Returns the tensor sizes of a pass over a batch.
pub fn plan(config: &Config, shape: &BatchShape, mode: Checkpointing, has_dropout: bool) -> Plan {
    Plan::new(config, shape, (mode, has_dropout), logit_rows(LOGITS, config.padded_vocab(), shape.n_tokens()))
}

/// Options of the backward pass that affect its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackwardPass {
    /// Recomputation of activations.
    pub mode: Checkpointing,
    /// Whether gradients of queries are accumulated by atomics in f32 buffers.
    pub has_sums: bool,
}

/// Returns the size in bytes of the temporaries of one operation of a block or of the embedding. `has_sums` has the meaning of
/// the field of [`BackwardPass`].
fn temporaries(config: &Config, shape: &BatchShape, has_sums: bool) -> usize {
    let n = shape.n_tokens();
    let (sequences, longest) = shape.attended();
    let lse = sequences * config.heads * longest;
    let embedding = CudaEmbedding::scratch_bytes(&Embedding::new(n, config.padded_vocab(), config.width, 1));
    let widest = config.width.max(config.fc_width()).max(config.qkv_width());
    let norm = Norm { rows: n, columns: config.width, eps: config.eps, kind: NormKind::Layer };
    let norm = Arena::bytes_of(&CudaNorm::temporaries(&norm));
    let bias = Arena::bytes_of(&CudaElementwise::temporaries_of_bias_gradient(n, widest));
    let sums = if has_sums { sums_of_queries(sequences, config.heads, longest, config.head_dim()) } else { 0 };
    embedding.max(Arena::bytes_of(&[(lse, 4), (sums, 4)])).max(norm).max(bias)
}

/// Returns the buffer sizes for batches of up to `sequences` sequences of the context length.
pub fn sizes<T: ModelFormat>(
    config: &Config,
    layout: &Layout,
    sequences: usize,
    backward: BackwardPass,
) -> ModelSizes<TransformerSizes> {
    let shape = BatchShape::full(sequences, config.context);
    let matrix = |view: &View| match view.shape[..] {
        [rows, columns] => Some(MatrixRun::from(Matrix { start: view.start, rows, columns })),
        _ => None,
    };
    let hidden = |(i, view): (usize, &View)| {
        let is_hidden = layout.role(ViewId(i)).is_hidden_matrix();
        if is_hidden { matrix(view) } else { None }
    };
    let matrices: Vec<MatrixRun> = layout.map.views().enumerate().filter_map(hidden).collect();
    // Reserves memory for dropout, because it may be switched on during training.
    let training = arena_bytes::<T>(config, &shape, backward);
    let cache = config.layers * config.context * config.kv_heads * config.head_dim();
    ModelSizes::new(
        TransformerSizes { cache, logits: config.context.min(PIECE) * config.padded_vocab() },
        &layout.map,
        &matrices,
        &shape,
        (training.max(text_arena_bytes::<T>(config)), true),
    )
}

/// Returns the size of the arena to inspect or decode one sequence, bytes.
pub fn text_arena_bytes<T: ModelFormat>(config: &Config) -> usize {
    let shape = BatchShape::full(1, config.context);
    let plan = plan(config, &shape, Checkpointing::Nothing, false);
    let map = Arena::bytes_of(&[(config.context * config.context, 4)]);
    let parts = Arena::bytes_of(&[(8 * config.heads * 64 * (config.head_dim() + 2), 4)]);
    plan.forward_bytes::<T, f32>(map.max(parts.max(temporaries(config, &shape, false))))
}

/// Returns the size of the arena for a batch, bytes. Many short packed sequences need more memory than full sequences with
/// as many tokens.
pub fn arena_bytes<T: ModelFormat>(config: &Config, shape: &BatchShape, backward: BackwardPass) -> usize {
    let BackwardPass { mode, has_sums } = backward;
    let temporaries = temporaries(config, shape, has_sums);
    let plan = plan(config, shape, mode, true);
    plan.bytes::<T, f32>(temporaries).max(plan.forward_bytes::<T, f32>(temporaries))
}

buffers! {
    /// Dropout settings of a step, and the KV cache of a text.
    pub struct TransformerBuffers<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: TransformerSizes) {
        "batch" {
            /// Step, probability and first element for dropout of elements.
            pub noise: Cell<DropoutStep> = Workspace "dropout" 1;
            /// Step, probability and first token for dropout of attention probabilities.
            pub attention_noise: Cell<DropoutStep> = Workspace "dropout of attention" 1;
        }
        "activations" {
            /// Keys of all blocks, `[blocks, context, n_kv d]`.
            pub keys: Buf<T> = Workspace "cache of keys" s.cache;
            /// Values of all blocks, `[blocks, context, n_kv d]`.
            pub values: Buf<T> = Workspace "cache of values" s.cache;
            /// Logits of a decoded chunk, `[tokens, padded vocabulary]`.
            pub logits: Buf<T> = Workspace "logits of a text" s.logits;
        }
    }
}
