//! Tensors that a pass holds, and the size of the arena they are allocated from.
//!
//! The arena is a stack: activations kept for the backward pass, above them the tensors shared by all blocks, above those
//! the temporaries of one operation. Attention keeps the probabilities and the derivatives of the bias of all edges, `2 B H
//! T² 4` bytes per block.

use crate::{
    gpu::{Arena, Slice, ViewMut},
    kinds::{
        language::{
            cuda::format::ModelFormat,
            plan::{BatchShape, HeadSizes, HeadTensors as HeadGroup, logit_rows, tensors},
        },
        synaptic::{
            backend::Dynamics,
            experts::{
                FEATURES, Mixture,
                cuda::{CudaExperts, DeviceRouting, DeviceRows},
            },
            model::Config,
            presynaptic::{
                Mode,
                cuda::{CudaPresynaptic, ScanExtent},
            },
        },
    },
    nn::{
        embedding::{Embedding, cuda::CudaEmbedding},
        norm::{Norm, NormKind, cuda::CudaNorm},
    },
};

tensors! {
    /// Activations of a block, kept from its forward to its backward pass.
    BlockGroup<T, F, U>, BlockSizes {
        /// Output of the first norm, `[tokens, C]`.
        norm_1: T,
        /// Statistics of the first norm, `[tokens, 2]`.
        stats_1: F,
        /// Scaled queries by head, `[B, H, T, D]`.
        q: F,
        /// Keys by head, `[B, Hkv, T, D]`.
        k: F,
        /// Values by head, `[B, Hkv, T, D]`.
        v: F,
        /// Reciprocal root mean squares of queries and keys, `[tokens, H + Hkv]`.
        rstd: F,
        /// Attention probabilities, `[B, H, T, T]`.
        probabilities: F,
        /// Derivative of the presynaptic bias of each edge, `[B, H, T, T]`; empty without release.
        factor: F,
        /// Output of attention, `[tokens, C]`.
        attention: T,
        /// Sum of the block's input and the projected attention, `[tokens, C]`.
        mid: F,
        /// Output of the second norm, `[tokens, C]`.
        norm_2: F,
        /// Statistics of the second norm, `[tokens, 2]`.
        stats_2: F,
        /// Probe features, `[tokens, 24]`.
        features: F,
        /// Reciprocal norms of the probe features, `[tokens]`.
        inverse_norms: F,
        /// Selected experts, `[tokens, k]`.
        indices: U,
        /// Gates of the selected experts, `[tokens, k]`.
        gates: F,
        /// Cosines of the features with the embeddings of the selected experts, `[tokens, k]`.
        cosines: F,
        /// Tokens per expert, `[E]`.
        counts: U,
        /// First row of each expert, and the number of rows, `[E + 1]`.
        offsets: U,
        /// Assignment of each row, `[tokens k]`.
        order: U,
        /// Row of each assignment, `[tokens k]`.
        ranks: U,
        /// Inputs of the experts by row, `[tokens k, C]`.
        inputs: T,
        /// Input of the squared ReLU, `[tokens k, hidden]`.
        linear: T,
        /// Output of the squared ReLU, `[tokens k, hidden]`.
        hidden: T,
        /// Outputs of the experts by row, `[tokens k, C]`.
        outputs: F,
    }
}

/// Activations of a block in an arena.
pub type BlockTensors<'f, T> = BlockGroup<ViewMut<'f, T>, ViewMut<'f, f32>, ViewMut<'f, u32>>;
/// Tensors that all blocks share, in an arena.
pub type SharedTensors<'f, T> = SharedGroup<ViewMut<'f, T>, ViewMut<'f, f32>>;
/// Mutable references to the tensors that all blocks share.
pub type Shared<'a, T> = SharedGroup<&'a mut Slice<T>, &'a mut Slice<f32>>;
/// Gradients within blocks in an arena.
pub type BackwardTensors<'f> = BackwardGroup<ViewMut<'f, f32>>;
/// Intermediates of the head, in an arena.
pub type HeadTensors<'f, T> = HeadGroup<ViewMut<'f, T>, ViewMut<'f, f32>>;

/// Activations of a block that its router and experts use.
pub struct MixtureTensors<'a, T: ModelFormat> {
    /// Input of router and experts, `[tokens, C]`.
    pub x: &'a Slice<f32>,
    /// Residual stream to which the experts' output is added, `[tokens, C]`.
    pub mid: &'a Slice<f32>,
    /// Selected experts, gates and groups.
    pub routing: DeviceRouting<'a>,
    /// Activations of the experts by row.
    pub rows: DeviceRows<'a, T>,
}

impl<T: ModelFormat> BlockTensors<'_, T> {
    /// Returns the activations that router and experts use.
    pub fn mixture(&mut self) -> MixtureTensors<'_, T> {
        MixtureTensors {
            x: &self.norm_2,
            mid: &self.mid,
            routing: DeviceRouting {
                features: &mut self.features,
                inverse_norms: &mut self.inverse_norms,
                indices: &mut self.indices,
                gates: &mut self.gates,
                cosines: &mut self.cosines,
                counts: &mut self.counts,
                offsets: &mut self.offsets,
                order: &mut self.order,
                ranks: &mut self.ranks,
            },
            rows: DeviceRows {
                inputs: &mut self.inputs,
                linear: &mut self.linear,
                hidden: &mut self.hidden,
                outputs: &mut self.outputs,
            },
        }
    }
}

tensors! {
    /// Tensors that the passes of all blocks share.
    SharedGroup<T, F>, SharedSizes {
        /// Queries, keys and values, then their gradients, `[tokens, C + 2 Hkv D]`.
        packed: F,
        /// Attention logits, then gradients of edges, `[B, H, T, T]`.
        edges: F,
        /// Log-sum-exp of the attention logits, `[B, H, T]`.
        lse: F,
        /// Attention or its gradient by head, `[B, H, T, D]`.
        by_head: F,
        /// f32 result before it is rounded, `[tokens, C]`; empty for f32.
        wide: F,
        /// f32 tensor after it is rounded to a GEMM operand; empty for f32.
        rounded: T,
    }
}

tensors! {
    /// Gradients within blocks.
    BackwardGroup<F>, BackwardSizes {
        /// Gradient of a block's output, which the backward pass replaces by the gradient of the block's input, `[tokens,
        /// C]`.
        d: F,
        /// Gradient of a layer's input within the block, `[tokens, C]`.
        other: F,
        /// Gradient of queries by head, `[B, H, T, D]`.
        dq: F,
        /// Gradient of keys by head, `[B, Hkv, T, D]`.
        dk: F,
        /// Gradient of values by head, `[B, Hkv, T, D]`.
        dv: F,
        /// Gradients of gates, `[tokens, k]`.
        dgates: F,
        /// Products of queries and their gradients, `[tokens, H]`; empty without temperatures.
        products: F,
    }
}

/// Approximate number of logits that are in memory at a time.
const LOGITS: usize = 1 << 26;

/// Sizes of the tensors of a pass over a batch. `keys` is the number of keys per query: the tokens of a sequence, or the
/// cached tokens including new ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Number of elements of the residual stream.
    pub stream: usize,
    /// Activations of one block.
    pub block: BlockSizes,
    /// Tensors that all blocks share.
    pub shared: SharedSizes,
    /// Gradients within a block.
    pub backward: BackwardSizes,
    /// Intermediates of the head.
    pub head: HeadSizes,
    /// Number of tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Number of columns of the logits: the padded vocabulary.
    pub vocab: usize,
    /// Size of the temporaries of one operation, bytes.
    pub temporaries: usize,
    layers: usize,
}

impl Plan {
    /// Plans a pass over a batch of shape `shape`.
    pub fn new<T: ModelFormat>(config: &Config, dynamics: &Dynamics, shape: &BatchShape, keys: usize) -> Self {
        let (n, c, k) = (shape.n_tokens(), config, config.top_k);
        let (width, kv, rows) = (c.width, c.kv_width(), n * k);
        let edges = shape.sequences * c.heads * shape.seq_len * keys;
        let has_release = dynamics.presynaptic.mode != Mode::Off;
        let block = BlockSizes {
            norm_1: n * width,
            stats_1: 2 * n,
            q: n * width,
            k: n * kv,
            v: n * kv,
            rstd: n * (c.heads + c.kv_heads),
            probabilities: edges,
            factor: if has_release { edges } else { 0 },
            attention: n * width,
            mid: n * width,
            norm_2: n * width,
            stats_2: 2 * n,
            features: n * FEATURES,
            inverse_norms: n,
            indices: rows,
            gates: rows,
            cosines: rows,
            counts: c.experts,
            offsets: c.experts + 1,
            order: rows,
            ranks: rows,
            inputs: rows * width,
            linear: rows * c.hidden,
            hidden: rows * c.hidden,
            outputs: rows * width,
        };
        let shared = SharedSizes {
            packed: n * (width + 2 * kv),
            edges,
            lse: shape.sequences * c.heads * shape.seq_len,
            by_head: n * width,
            wide: if T::HAS_COPY { n * width } else { 0 },
            rounded: if T::HAS_COPY { (n * (width + 2 * kv)).max(rows * width) } else { 0 },
        };
        let backward = BackwardSizes {
            d: n * width,
            other: n * width,
            dq: n * width,
            dk: n * kv,
            dv: n * kv,
            dgates: rows,
            products: if c.temperature { n * c.heads } else { 0 },
        };
        Self {
            stream: n * width,
            block,
            shared,
            backward,
            head: HeadSizes::of(n, width),
            logit_rows: logit_rows(LOGITS, c.padded_vocab(), n),
            vocab: c.padded_vocab(),
            temporaries: temporaries(config, dynamics, shape, keys),
            layers: c.layers,
        }
    }

    /// Returns the size of the arena for training, bytes.
    pub fn bytes<T: ModelFormat>(&self) -> usize {
        let logits = Arena::bytes_of(&[(self.logit_rows * self.vocab, size_of::<T>())]);
        let common = self.held::<T>() + self.backward.bytes::<f32>();
        common + (self.head.bytes::<T, f32>() + logits).max(self.temporaries)
    }

    /// Returns the size of the arena for a pass without gradients, bytes.
    pub fn forward_bytes<T: ModelFormat>(&self) -> usize {
        let logits = Arena::bytes_of(&[(self.logit_rows * self.vocab, size_of::<T>())]);
        self.held::<T>() + self.head.bytes::<T, f32>() + logits.max(self.temporaries)
    }

    fn held<T: ModelFormat>(&self) -> usize {
        let streams = (self.layers + 1) * Arena::bytes_of(&[(self.stream, 4)]);
        self.layers * self.block.bytes::<T, f32, u32>() + streams + self.shared.bytes::<T, f32>()
    }
}

/// Returns the size of the temporaries of one operation, bytes.
fn temporaries(config: &Config, dynamics: &Dynamics, shape: &BatchShape, keys: usize) -> usize {
    let n = shape.n_tokens();
    let embedding = CudaEmbedding::scratch_bytes(&Embedding::new(n, config.padded_vocab(), config.width, 1));
    let norm = Norm { rows: n, columns: config.width, eps: 1e-5, kind: NormKind::Layer };
    let Config { experts, top_k, width, hidden, .. } = *config;
    let extent = ScanExtent::sequences(shape.sequences, config.heads, shape.seq_len, 0);
    let extent = ScanExtent { first_query: keys - shape.seq_len, ..extent };
    embedding
        .max(Arena::bytes_of(&CudaNorm::temporaries(&norm)))
        .max(Arena::bytes_of(&CudaExperts::temporaries(&Mixture { experts, top_k, width, hidden }, n)))
        .max(Arena::bytes_of(&CudaPresynaptic::temporaries(&dynamics.presynaptic, &extent)))
}
