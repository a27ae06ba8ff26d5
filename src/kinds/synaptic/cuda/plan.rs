//! Which tensors a pass holds, and the bytes of the arena that they are taken from.
//!
//! The arena is a stack: what the forward pass leaves for the backward pass, above it what all blocks share, above that the
//! temporaries of one operation. Attention holds the probabilities and the derivatives of the bias of all edges, `2 B H T² 4`
//! bytes per block.

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
    /// Activations of a block, from its forward to its backward pass.
    BlockGroup<T, F, U>, BlockSizes {
        /// Output of the first norm, `[tokens, C]`.
        norm_1: T,
        /// Its statistics.
        stats_1: F,
        /// Queries by head, with their factor, `[B, H, T, D]`.
        q: F,
        /// Keys by head, `[B, Hkv, T, D]`.
        k: F,
        /// Values by head.
        v: F,
        /// Reciprocals of the root mean squares of queries and keys, `[tokens, H + Hkv]`.
        rstd: F,
        /// Probabilities of attention, `[B, H, T, T]`.
        probabilities: F,
        /// Derivative of the presynaptic bias of each edge; none without release.
        factor: F,
        /// Output of attention, `[tokens, C]`.
        attention: T,
        /// Input plus projected attention.
        mid: F,
        /// Output of the second norm.
        norm_2: F,
        /// Its statistics.
        stats_2: F,
        /// Probe features, `[tokens, 24]`.
        features: F,
        /// Reciprocals of their lengths.
        inverse_norms: F,
        /// Selected experts, `[tokens, k]`.
        indices: U,
        /// Gates.
        gates: F,
        /// Cosines of the features with the embeddings of the selected experts.
        cosines: F,
        /// Tokens per expert.
        counts: U,
        /// First row of each expert.
        offsets: U,
        /// Assignment of each row.
        order: U,
        /// Row of each assignment.
        ranks: U,
        /// Inputs of experts, by row, `[tokens k, C]`.
        inputs: T,
        /// Before the squared ReLU, `[tokens k, hidden]`.
        linear: T,
        /// Behind it.
        hidden: T,
        /// Outputs of experts, `[tokens k, C]`.
        outputs: F,
    }
}

/// Activations of a block in an arena.
pub type BlockTensors<'f, T> = BlockGroup<ViewMut<'f, T>, ViewMut<'f, f32>, ViewMut<'f, u32>>;
/// What all blocks share, in an arena.
pub type SharedTensors<'f, T> = SharedGroup<ViewMut<'f, T>, ViewMut<'f, f32>>;
/// References to it.
pub type Shared<'a, T> = SharedGroup<&'a mut Slice<T>, &'a mut Slice<f32>>;
/// Gradients within blocks in an arena.
pub type BackwardTensors<'f> = BackwardGroup<ViewMut<'f, f32>>;
/// What the logits need, in an arena.
pub type HeadTensors<'f, T> = HeadGroup<ViewMut<'f, T>, ViewMut<'f, f32>>;

/// The parts of a block's activations that are those of router and experts.
pub struct MixtureTensors<'a, T: ModelFormat> {
    /// Input of router and experts.
    pub x: &'a Slice<f32>,
    /// What their output is added to.
    pub mid: &'a Slice<f32>,
    /// What the router decided.
    pub routing: DeviceRouting<'a>,
    /// Activations of the experts by row.
    pub rows: DeviceRows<'a, T>,
}

impl<T: ModelFormat> BlockTensors<'_, T> {
    /// Those of router and experts.
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
    /// What the passes of all blocks share.
    SharedGroup<T, F>, SharedSizes {
        /// Queries, keys and values, then their gradients, `[tokens, C + 2 Hkv D]`.
        packed: F,
        /// Logits of attention, then gradients, `[B, H, T, T]`.
        edges: F,
        /// Logarithms of the sums of the softmax, `[B, H, T]`.
        lse: F,
        /// Attention or its gradient by head, `[B, H, T, D]`.
        by_head: F,
        /// What is then rounded, `[tokens, C]`; none in f32.
        wide: F,
        /// What was f32, as an operand; none in f32.
        rounded: T,
    }
}

tensors! {
    /// Gradients within blocks.
    BackwardGroup<F>, BackwardSizes {
        /// Of the output of a block, then of its input, `[tokens, C]`.
        d: F,
        /// Of the input of a layer.
        other: F,
        /// Of queries by head.
        dq: F,
        /// Of keys by head.
        dk: F,
        /// Of values by head.
        dv: F,
        /// Of gates, `[tokens, k]`.
        dgates: F,
        /// Products of queries and their gradients, `[tokens, H]`, where logits have a factor.
        products: F,
    }
}

/// Logits that are in memory at a time, about.
const LOGITS: usize = 1 << 26;

/// The tensors of the passes over a batch. `keys` are those that each query may see: the tokens of a sequence, or those of a cache
/// with the new ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Elements of the residual stream.
    pub stream: usize,
    /// Of a block.
    pub block: BlockSizes,
    /// Of all blocks.
    pub shared: SharedSizes,
    /// Within the backward pass.
    pub backward: BackwardSizes,
    /// Of the head.
    pub head: HeadSizes,
    /// Tokens whose logits are in memory at a time.
    pub logit_rows: usize,
    /// Columns of logits.
    pub vocab: usize,
    /// Temporaries of one operation, bytes.
    pub temporaries: usize,
    layers: usize,
}

impl Plan {
    /// Of a model, for a batch.
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

    /// Bytes of an arena for training.
    pub fn bytes<T: ModelFormat>(&self) -> usize {
        let logits = Arena::bytes_of(&[(self.logit_rows * self.vocab, size_of::<T>())]);
        let common = self.held::<T>() + self.backward.bytes::<f32>();
        common + (self.head.bytes::<T, f32>() + logits).max(self.temporaries)
    }

    /// The same for a pass without gradients.
    pub fn forward_bytes<T: ModelFormat>(&self) -> usize {
        let logits = Arena::bytes_of(&[(self.logit_rows * self.vocab, size_of::<T>())]);
        self.held::<T>() + self.head.bytes::<T, f32>() + logits.max(self.temporaries)
    }

    fn held<T: ModelFormat>(&self) -> usize {
        let streams = (self.layers + 1) * Arena::bytes_of(&[(self.stream, 4)]);
        self.layers * self.block.bytes::<T, f32, u32>() + streams + self.shared.bytes::<T, f32>()
    }
}

/// Temporaries of one operation, bytes.
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
