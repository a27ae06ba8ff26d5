//! Weights, states of the routers, and layers that both passes use.

use super::decoder::CpuDecoder;
pub use crate::kinds::language::cpu::{layers::parts_mut, refused, zeros};
use crate::{
    gpu::StopFlag,
    kinds::{
        language::{
            backend::Decoder,
            cpu::{backend::TextNetwork, copy, head::Head, multiply},
        },
        synaptic::{
            backend::Dynamics,
            experts::{ExpertWeights, ExpertsError, Mixture, RouterState, router::RouterWeights},
            model::{Config, Layout, Norm},
        },
    },
    nn::{
        gemm::{Epilogue, Gemm, cpu::gemm},
        norm::{self, NormKind},
        parameters::ViewId,
        real::Real,
        rope::{Rope, RopeLayout, RopeTable},
    },
    sim::SimError,
};
use std::sync::Arc;

/// Added to the variance in a LayerNorm.
pub const EPS: f64 = 1e-5;
/// Added to the mean square of queries and keys.
pub const HEAD_EPS: f64 = 1e-6;

/// Weights and what follows from the sizes of the model.
pub struct Network<R> {
    /// Sizes.
    pub config: Config,
    /// Ranges of the weights.
    pub layout: Arc<Layout>,
    /// Mechanisms and their constants.
    pub dynamics: Dynamics,
    /// All weights.
    pub weights: Vec<R>,
    /// States of the routers, by block.
    pub routers: Vec<RouterState>,
    /// Angles of rotary positions.
    pub rope: RopeTable<R>,
    /// Gain of the norm of queries and keys, which have none: `[D]`.
    pub ones: Vec<R>,
}

impl<R: Real + Default> TextNetwork for Network<R> {
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(self)
    }
}

/// An error of experts, or that they were stopped.
pub fn of_experts(error: ExpertsError) -> SimError {
    if error == ExpertsError::Stopped { SimError::Cancelled } else { refused(error) }
}

/// Sequences of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Sequences, B.
    pub sequences: usize,
    /// Tokens per sequence.
    pub seq_len: usize,
}

impl Extent {
    /// Tokens.
    pub const fn n_tokens(self) -> usize {
        self.sequences * self.seq_len
    }

    /// Edges of all heads of a block, visible or not.
    pub const fn n_edges(self, heads: usize) -> usize {
        self.sequences * heads * self.seq_len * self.seq_len
    }
}

impl<R: Real + Default> Network<R> {
    /// A copy, if there is memory for it.
    pub fn copied(&self) -> Result<Self, SimError> {
        Ok(Self {
            config: self.config.clone(),
            layout: self.layout.clone(),
            dynamics: self.dynamics.clone(),
            weights: copy("copy of the weights", &self.weights)?,
            routers: self.routers.clone(),
            rope: self.rope.clone(),
            ones: self.ones.clone(),
        })
    }

    /// With zero weights and rested routers without embeddings.
    pub fn new(config: &Config, layout: &Arc<Layout>, dynamics: &Dynamics) -> Result<Self, SimError> {
        dynamics.check(config)?;
        Ok(Self {
            config: config.clone(),
            layout: layout.clone(),
            dynamics: dynamics.clone(),
            weights: zeros("weights", layout.map.len())?,
            routers: vec![RouterState::new(config.experts, vec![]); config.layers],
            rope: RopeTable::new(config.context, config.head_dim(), config.rope_base),
            ones: vec![R::one(); config.head_dim()],
        })
    }

    /// Bytes held.
    pub fn n_bytes(&self) -> u64 {
        let rope = self.rope.cos.len() + self.rope.sin.len();
        ((self.weights.len() + rope) * size_of::<R>()) as u64
    }

    /// Values of a parameter.
    pub fn weight(&self, id: ViewId) -> &[R] {
        &self.weights[self.layout.map.view(id).range()]
    }

    /// The declaration of a LayerNorm of that many tokens.
    pub const fn norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.width, eps: EPS, kind: NormKind::Layer }
    }

    /// `y = LayerNorm(x)`.
    pub fn norm(&self, of: Norm, x: &[R], y: &mut [R], stats: &mut [R]) -> Result<(), SimError> {
        let op = self.norm_op(x.len() / self.config.width);
        norm::forward(&op, x, self.weight(of.weight), Some(self.weight(of.bias)), y, stats).map_err(refused)
    }

    /// The declaration of the norm of heads, `rows` of them.
    pub const fn head_norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.head_dim(), eps: HEAD_EPS, kind: NormKind::Rms }
    }

    /// `y = x Wᵀ`, or with `residual` that added.
    pub fn linear(&self, weight: ViewId, x: &[R], y: &mut [R], residual: Option<&[R]>) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(weight).shape[..] else { return Err(refused("no matrix")) };
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        gemm(&op, x, self.weight(weight), y, residual.map_or(Epilogue::None, Epilogue::Residual)).map_err(refused)
    }

    /// The same of many tokens. Looks at the stop flag.
    pub fn linear_of_batch(
        &self,
        weight: ViewId,
        x: &[R],
        y: &mut [R],
        residual: Option<&[R]>,
        stop: &StopFlag,
    ) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(weight).shape[..] else { return Err(refused("no matrix")) };
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        multiply(&op, x, self.weight(weight), y, residual, stop)
    }

    /// Logits of normalised tokens.
    pub fn logits(&self, x: &[R], logits: &mut [R]) -> Result<(), SimError> {
        self.head().logits(x, logits)
    }

    /// The matrix of logits.
    pub fn head(&self) -> Head<'_, R> {
        Head { weight: self.weight(self.layout.lm_head), width: self.config.width, vocab: self.config.vocab }
    }

    /// Rotates heads by their positions, or by the opposite angles. `x` is `[tokens, heads D]`; the positions of every
    /// sequence begin at `offset`.
    pub fn rotate(
        &self,
        (seq_len, offset): (usize, usize),
        heads: usize,
        x: &mut [R],
        is_inverse: bool,
    ) -> Result<(), SimError> {
        let d = self.config.head_dim();
        let op = Rope::new(x.len() / (heads * d), heads, d, seq_len, RopeLayout::Half).offset(offset);
        crate::nn::rope::apply(&op, &self.rope, None, x, is_inverse).map_err(refused)
    }

    /// Factor of the logits of a query head.
    pub fn head_scale(&self, block: usize, head: usize) -> R {
        let temperature = self.layout.blocks[block].temperature.map_or(R::one(), |view| self.weight(view)[head]);
        temperature * R::of(1.0 / (self.config.head_dim() as f64).sqrt())
    }

    /// The weights of the router of a block.
    pub fn router_weights(&self, block: usize) -> RouterWeights<'_, R> {
        let block = self.layout.blocks[block];
        RouterWeights {
            router: self.weight(block.router),
            probe: self.weight(block.probe),
            genome: self.weight(block.genome),
        }
    }

    /// The experts of a block.
    pub const fn mixture(&self) -> Mixture {
        let Config { experts, top_k, width, hidden, .. } = self.config;
        Mixture { experts, top_k, width, hidden }
    }

    /// Their weights.
    pub fn expert_weights(&self, block: usize) -> ExpertWeights<'_, R> {
        let block = self.layout.blocks[block];
        ExpertWeights {
            fc1_weight: self.weight(block.fc1),
            fc1_bias: self.weight(block.fc1_bias),
            fc2_weight: self.weight(block.fc2),
            fc2_bias: self.weight(block.fc2_bias),
        }
    }
}
