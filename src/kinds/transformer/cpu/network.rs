//! Weights, tables, and the layers that both passes use.

use super::decoder::CpuDecoder;
pub use crate::kinds::language::cpu::{refused, zeros};
use crate::{
    kinds::{
        language::{
            backend::Decoder,
            cpu::{backend::TextNetwork, copy, head::Head},
        },
        transformer::{
            choices::{ActivationFunction, NormFunction, PairLayout},
            model::{Config, Layout, Linear, Norm, Position},
        },
    },
    nn::{
        activation::Activation,
        attention::{Attention, Lengths as AttentionLengths},
        embedding::sinusoid,
        gemm::{Epilogue, Gemm, cpu::gemm},
        norm::{self, NormKind},
        parameters::ViewId,
        real::Real,
        rope::{Rope, RopeLayout, RopeTable},
    },
    sim::SimError,
};
use std::sync::Arc;

/// Weights and what follows from the sizes of the model.
pub struct Network<R> {
    /// Sizes.
    pub config: Config,
    /// Ranges of the weights.
    pub layout: Arc<Layout>,
    /// All weights.
    pub weights: Vec<R>,
    /// Angles of rotary positions.
    pub rope: Option<RopeTable<R>>,
    /// Vectors of sinusoidal positions, `[T, C]`.
    pub sinusoid: Option<Vec<R>>,
}

impl<R: Real + Default> TextNetwork for Network<R> {
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(self)
    }
}

/// Tokens of the longest of packed sequences.
fn longest(offsets: &[i32]) -> usize {
    offsets.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
}

/// How tokens are divided into sequences.
#[derive(Clone, Copy)]
pub struct Extent<'a> {
    /// Sequences.
    pub sequences: usize,
    /// Tokens per sequence.
    pub seq_len: usize,
    /// Lengths of padded sequences.
    pub lens: Option<&'a [i32]>,
    /// Offsets of packed sequences; then there is one row of tokens.
    pub offsets: Option<&'a [i32]>,
    /// Position of each token, of packed sequences.
    pub positions: Option<&'a [u32]>,
}

impl Extent<'_> {
    /// Tokens.
    pub const fn n_tokens(&self) -> usize {
        self.sequences * self.seq_len
    }
}

impl<R: Real + Default> Network<R> {
    /// A copy, if there is memory for it.
    pub fn copied(&self) -> Result<Self, SimError> {
        let weights = copy("copy of the weights", &self.weights)?;
        let (config, layout) = (self.config.clone(), self.layout.clone());
        Ok(Self { config, layout, weights, rope: self.rope.clone(), sinusoid: self.sinusoid.clone() })
    }

    /// With zero weights.
    pub fn new(config: &Config, layout: &Arc<Layout>) -> Result<Self, SimError> {
        let rope = match config.positions {
            Position::Rope { base, .. } => Some(RopeTable::new(config.context, config.head_dim(), base)),
            _ => None,
        };
        let sinusoid = (config.positions == Position::Sinusoidal).then(|| {
            let table = sinusoid::table(config.context, config.width, sinusoid::BASE);
            table.into_iter().map(R::of).collect()
        });
        let weights = zeros("weights", layout.map.len())?;
        Ok(Self { config: config.clone(), layout: layout.clone(), weights, rope, sinusoid })
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let rope = self.rope.as_ref().map_or(0, |rope| rope.cos.len() + rope.sin.len());
        let sinusoid = self.sinusoid.as_ref().map_or(0, Vec::len);
        ((self.weights.len() + rope + sinusoid) * size_of::<R>()) as u64
    }

    /// Values of a parameter.
    pub fn weight(&self, id: ViewId) -> &[R] {
        &self.weights[self.layout.map.view(id).range()]
    }

    /// The vectors added to embeddings.
    pub fn positions(&self) -> Option<&[R]> {
        self.layout.wpe.map(|wpe| self.weight(wpe)).or(self.sinusoid.as_deref())
    }

    /// The declaration of a norm of that many tokens.
    pub fn norm_op(&self, rows: usize) -> norm::Norm {
        let kind = match self.config.norm {
            NormFunction::Layer => NormKind::Layer,
            NormFunction::Rms => NormKind::Rms,
        };
        norm::Norm { rows, columns: self.config.width, eps: self.config.eps, kind }
    }

    /// `y = norm(x)`.
    pub fn norm(&self, of: Norm, x: &[R], y: &mut [R], stats: &mut [R]) -> Result<(), SimError> {
        let op = self.norm_op(x.len() / self.config.width);
        norm::forward(&op, x, self.weight(of.weight), of.bias.map(|bias| self.weight(bias)), y, stats).map_err(refused)
    }

    /// `y = x Wᵀ + b`, or with `residual` that added.
    pub fn linear(&self, of: Linear, x: &[R], y: &mut [R], residual: Option<&[R]>) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(of.weight).shape[..] else { return Err(refused("no matrix")) };
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        let epilogue = match (of.bias.map(|bias| self.weight(bias)), residual) {
            (None, None) => Epilogue::None,
            (Some(bias), None) => Epilogue::Bias(bias),
            (None, Some(residual)) => Epilogue::Residual(residual),
            (Some(bias), Some(residual)) => Epilogue::BiasResidual(bias, residual),
        };
        gemm(&op, x, self.weight(of.weight), y, epilogue).map_err(refused)
    }

    /// Logits of normalised tokens.
    pub fn logits(&self, x: &[R], logits: &mut [R]) -> Result<(), SimError> {
        self.head().logits(x, logits)
    }

    /// The matrix of logits.
    pub fn head(&self) -> Head<'_, R> {
        Head { weight: self.weight(self.layout.head()), width: self.config.width, vocab: self.config.vocab }
    }

    /// The activation function.
    pub const fn activation(&self) -> Activation {
        match self.config.activation {
            ActivationFunction::GeluTanh => Activation::GeluTanh,
            ActivationFunction::GeluErf => Activation::GeluErf,
            ActivationFunction::Relu => Activation::Relu,
            ActivationFunction::ReluSquared => Activation::ReluSquared,
            ActivationFunction::SwiGlu => Activation::SwiGlu,
        }
    }

    /// Attention within the sequences of a batch, on packed queries, keys and values.
    pub fn attention(&self, extent: &Extent<'_>) -> Attention {
        let c = &self.config;
        let (batch, len) = match extent.offsets {
            Some(offsets) => (offsets.len() - 1, longest(offsets)),
            None => (extent.sequences, extent.seq_len),
        };
        let lengths = match (extent.offsets, extent.lens) {
            (Some(_), _) => AttentionLengths::Packed,
            (None, Some(_)) => AttentionLengths::Padded,
            (None, None) => AttentionLengths::Full,
        };
        let op = Attention::packed_qkv(batch, len, c.heads, c.kv_heads, c.head_dim());
        Attention { scale: c.scale, causal: c.causal, window: c.window, lengths, ..op }
    }

    /// Rotates queries and keys by their positions, or by the opposite angles.
    pub fn rotate(
        &self,
        (seq_len, offset): (usize, usize),
        positions: Option<&[u32]>,
        qkv: &mut [R],
        is_inverse: bool,
    ) -> Result<(), SimError> {
        let c = &self.config;
        let (Some(table), Position::Rope { layout, .. }) = (&self.rope, c.positions) else { return Ok(()) };
        let layout = match layout {
            PairLayout::Half => RopeLayout::Half,
            PairLayout::Interleaved => RopeLayout::Interleaved,
        };
        let width = c.qkv_width();
        let op = Rope::new(qkv.len() / width, c.heads + c.kv_heads, c.head_dim(), seq_len, layout);
        crate::nn::rope::apply(&op.stride(width).offset(offset), table, positions, qkv, is_inverse).map_err(refused)
    }
}
