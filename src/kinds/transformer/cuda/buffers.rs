//! Everything a model holds on a device.

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

/// What a model holds.
pub type DeviceBuffers<T> = ModelBuffers<Network<T>>;

/// What the sizes of [`TransformerBuffers`] follow from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransformerSizes {
    /// Elements of the caches of keys and of values, of all blocks.
    pub cache: usize,
    /// Logits of the tokens of a text that are read at once.
    pub logits: usize,
}

/// Tokens of a text that are read at once, at most.
const PIECE: usize = 64;

/// Logits that are in memory at a time, about.
const LOGITS: usize = 1 << 28;

/// The tensors of a pass over a batch.
pub fn plan(config: &Config, shape: &BatchShape, mode: Checkpointing, has_dropout: bool) -> Plan {
    Plan::new(config, shape, (mode, has_dropout), logit_rows(LOGITS, config.padded_vocab(), shape.n_tokens()))
}

/// How a backward pass is computed, as far as its memory follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackwardPass {
    /// What is computed again.
    pub mode: Checkpointing,
    /// Whether gradients of queries are added to sums.
    pub has_sums: bool,
}

/// Temporaries of one operation of a block or of the embedding, bytes; `has_sums` as in [`BackwardPass`].
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

/// For batches of up to that many sequences of the context.
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
    // Dropout may be switched on while the model trains.
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

/// Bytes of an arena for a sequence that is looked at, and for one that is continued.
pub fn text_arena_bytes<T: ModelFormat>(config: &Config) -> usize {
    let shape = BatchShape::full(1, config.context);
    let plan = plan(config, &shape, Checkpointing::Nothing, false);
    let map = Arena::bytes_of(&[(config.context * config.context, 4)]);
    let parts = Arena::bytes_of(&[(8 * config.heads * 64 * (config.head_dim() + 2), 4)]);
    plan.forward_bytes::<T, f32>(map.max(parts.max(temporaries(config, &shape, false))))
}

/// Bytes of an arena for a batch. Many short packed sequences need more than as many tokens of full ones.
pub fn arena_bytes<T: ModelFormat>(config: &Config, shape: &BatchShape, backward: BackwardPass) -> usize {
    let BackwardPass { mode, has_sums } = backward;
    let temporaries = temporaries(config, shape, has_sums);
    let plan = plan(config, shape, mode, true);
    plan.bytes::<T, f32>(temporaries).max(plan.forward_bytes::<T, f32>(temporaries))
}

buffers! {
    /// Dropout of a step, and keys and values of a text.
    pub struct TransformerBuffers<T: ModelFormat, struct: ModelFormat>(gpu: Arc<Gpu>, s: TransformerSizes) {
        "batch" {
            /// Step, probability and first element of dropout.
            pub noise: Cell<DropoutStep> = Workspace "dropout" 1;
            /// The same of attention probabilities, with their first token.
            pub attention_noise: Cell<DropoutStep> = Workspace "dropout of attention" 1;
        }
        "activations" {
            /// Cache of keys of all blocks.
            pub keys: Buf<T> = Workspace "cache of keys" s.cache;
            /// Cache of values of all blocks.
            pub values: Buf<T> = Workspace "cache of values" s.cache;
            /// Logits of a piece of a text, `[tokens, padded vocabulary]`.
            pub logits: Buf<T> = Workspace "logits of a text" s.logits;
        }
    }
}
