//! Weights, router states, and layers that both passes use.

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

/// Constant added to the variance in a LayerNorm.
pub const EPS: f64 = 1e-5;
/// Constant added to the mean square of queries and keys.
pub const HEAD_EPS: f64 = 1e-6;

/// Weights and router states of a model, and tables that are computed from the model's sizes.
pub struct Network<R> {
    /// Sizes and options of the model.
    pub config: Config,
    /// Parameter layout of the model.
    pub layout: Arc<Layout>,
    /// Mechanisms and their constants.
    pub dynamics: Dynamics,
    /// All weights, in the layout of the parameter map.
    pub weights: Vec<R>,
    /// State of the router of each block.
    pub routers: Vec<RouterState>,
    /// Angles of rotary positions.
    pub rope: RopeTable<R>,
    /// Unit weight for the norm of queries and keys, which has no parameters: `[D]`.
    pub ones: Vec<R>,
}

impl<R: Real + Default> TextNetwork for Network<R> {
    fn decoder(&self) -> Result<impl Decoder + Send + '_, SimError> {
        CpuDecoder::new(self)
    }
}

/// Converts an error of the experts. A stop becomes [`SimError::Cancelled`].
pub fn of_experts(error: ExpertsError) -> SimError {
    if error == ExpertsError::Stopped { SimError::Cancelled } else { refused(error) }
}

/// Number and length of the sequences of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of sequences, B.
    pub sequences: usize,
    /// Number of tokens per sequence.
    pub seq_len: usize,
}

impl Extent {
    /// Returns the number of tokens.
    pub const fn n_tokens(self) -> usize {
        self.sequences * self.seq_len
    }

    /// Returns the number of edges of all heads of a block, including masked ones.
    pub const fn n_edges(self, heads: usize) -> usize {
        self.sequences * heads * self.seq_len * self.seq_len
    }
}

impl<R: Real + Default> Network<R> {
    /// Copies the network. Fails if memory is exhausted.
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

    /// Creates a network with zero weights and initial router states with zero embeddings. Fails if the constants do not
    /// fit the sizes, or memory is exhausted.
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

    /// Returns the memory of weights and tables in bytes.
    pub fn n_bytes(&self) -> u64 {
        let rope = self.rope.cos.len() + self.rope.sin.len();
        ((self.weights.len() + rope) * size_of::<R>()) as u64
    }

    /// Returns the values of a parameter.
    pub fn weight(&self, id: ViewId) -> &[R] {
        &self.weights[self.layout.map.view(id).range()]
    }

    /// Returns the LayerNorm operation for `rows` tokens.
    pub const fn norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.width, eps: EPS, kind: NormKind::Layer }
    }

    /// Computes `y = LayerNorm(x)` and its statistics. Fails if the sizes do not match.
    pub fn norm(&self, of: Norm, x: &[R], y: &mut [R], stats: &mut [R]) -> Result<(), SimError> {
        let op = self.norm_op(x.len() / self.config.width);
        norm::forward(&op, x, self.weight(of.weight), Some(self.weight(of.bias)), y, stats).map_err(refused)
    }

    /// Returns the RMS norm operation for `rows` heads.
    pub const fn head_norm_op(&self, rows: usize) -> norm::Norm {
        norm::Norm { rows, columns: self.config.head_dim(), eps: HEAD_EPS, kind: NormKind::Rms }
    }

    /// Computes `y = x Wᵀ`, plus `residual` if there is one. Fails if the sizes do not match.
    pub fn linear(&self, weight: ViewId, x: &[R], y: &mut [R], residual: Option<&[R]>) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(weight).shape[..] else { return Err(refused("no matrix")) };
        let op = Gemm::new(x.len() / inputs, outputs, inputs).transposed_b();
        gemm(&op, x, self.weight(weight), y, residual.map_or(Epilogue::None, Epilogue::Residual)).map_err(refused)
    }

    /// Computes what [`linear`](Self::linear) computes, in parts between which the stop flag is checked. Fails if the sizes
    /// do not match or the pass is stopped.
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

    /// Computes the logits of normalised tokens. Fails if the sizes do not match.
    pub fn logits(&self, x: &[R], logits: &mut [R]) -> Result<(), SimError> {
        self.head().logits(x, logits)
    }

    /// Returns the matrix of logits, with its sizes.
    pub fn head(&self) -> Head<'_, R> {
        Head { weight: self.weight(self.layout.lm_head), width: self.config.width, vocab: self.config.vocab }
    }

    /// Rotates heads by the angles of their positions, or back if `is_inverse`. `x` is `[tokens, heads D]`; the positions
    /// of every sequence begin at `offset`. Fails if the sizes do not match.
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

    /// Returns the scale of the logits of a query head: temperature / sqrt(D).
    pub fn head_scale(&self, block: usize, head: usize) -> R {
        let temperature = self.layout.blocks[block].temperature.map_or(R::one(), |view| self.weight(view)[head]);
        temperature * R::of(1.0 / (self.config.head_dim() as f64).sqrt())
    }

    /// Returns the weights of the router of a block.
    pub fn router_weights(&self, block: usize) -> RouterWeights<'_, R> {
        let block = self.layout.blocks[block];
        RouterWeights {
            router: self.weight(block.router),
            probe: self.weight(block.probe),
            genome: self.weight(block.genome),
        }
    }

    /// Returns the sizes of the mixture of experts.
    pub const fn mixture(&self) -> Mixture {
        let Config { experts, top_k, width, hidden, .. } = self.config;
        Mixture { experts, top_k, width, hidden }
    }

    /// Returns the weights of all experts of a block.
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
