//! Activations that the forward pass keeps for the backward pass, and workspace.

use super::network::{Extent, zeros};
use crate::{
    kinds::{
        language::cpu::head::LOGIT_ROWS,
        synaptic::{
            experts::{MixtureWork, RouterWork, Routing},
            model::Config,
        },
    },
    nn::real::Real,
    sim::SimError,
};

/// Activations of a block.
#[derive(Default)]
pub struct BlockActivations<R> {
    /// Output of the first norm, `[tokens, C]`.
    pub norm_1: Vec<R>,
    /// Statistics of the first norm, `[tokens, 2]`.
    pub stats_1: Vec<R>,
    /// Queries after rotation and before their norm, `[tokens, H D]`.
    pub q_in: Vec<R>,
    /// Keys after rotation and before their norm, `[tokens, Hkv D]`.
    pub k_in: Vec<R>,
    /// Normalised queries, `[tokens, H D]`.
    pub q: Vec<R>,
    /// Normalised keys, `[tokens, Hkv D]`.
    pub k: Vec<R>,
    /// Values, `[tokens, Hkv D]`.
    pub v: Vec<R>,
    /// Statistics of the norms of queries, `[tokens H, 2]`.
    pub stats_q: Vec<R>,
    /// Statistics of the norms of keys, `[tokens Hkv, 2]`.
    pub stats_k: Vec<R>,
    /// Attention probabilities, `[B, H, T, T]`; 0 for masked edges.
    pub probabilities: Vec<R>,
    /// Derivative of the presynaptic bias of an edge with respect to its logit, `[B, H, T, T]`; empty without release.
    pub factor: Vec<R>,
    /// Output of attention, `[tokens, C]`.
    pub attention: Vec<R>,
    /// Sum of the block's input and the projected attention, `[tokens, C]`.
    pub mid: Vec<R>,
    /// Output of the second norm, `[tokens, C]`.
    pub norm_2: Vec<R>,
    /// Statistics of the second norm, `[tokens, 2]`.
    pub stats_2: Vec<R>,
    /// Selected experts, gates and groups of the router.
    pub routing: Routing<R>,
    /// Activations of the experts.
    pub mixture: MixtureWork<R>,
}

/// Workspace that all blocks share.
#[derive(Default)]
pub struct Shared<R> {
    /// Output of attention or its gradient in head-major order, `[B, H, T, D]`.
    pub by_head: Vec<R>,
    /// Gradients of keys and values, `[2, B, Hkv, T, D]`.
    pub kv_by_head: Vec<R>,
}

/// Intermediates of the head.
#[derive(Default)]
pub struct Head<R> {
    /// Output of the final norm, `[tokens, C]`.
    pub norm_f: Vec<R>,
    /// Statistics of the final norm, `[tokens, 2]`.
    pub stats_f: Vec<R>,
    /// Workspace for logits and then their gradients, for a chunk of rows.
    pub logits: Vec<R>,
    /// Loss of each token, `[tokens]`.
    pub losses: Vec<R>,
    /// Log-sum-exp of the logits of each token, `[tokens]`.
    pub lse: Vec<R>,
}

/// Gradients of the activations of one block.
#[derive(Default)]
pub struct Gradients<R> {
    /// Gradient of the residual stream, `[tokens, C]`.
    pub d: Vec<R>,
    /// Gradient of the output of a norm, `[tokens, C]`.
    pub d_norm: Vec<R>,
    /// Gradient of the output of attention, `[tokens, C]`.
    pub d_attention: Vec<R>,
    /// Gradients of the queries, `[tokens, H D]`, and of keys and values, `[2, tokens, Hkv D]`.
    pub d_heads: [Vec<R>; 2],
    /// Gradients of the gates, `[tokens, k]`.
    pub d_gates: Vec<R>,
    /// Workspace of the router's backward pass.
    pub router: RouterWork<R>,
}

/// Activations of a model, and gradients for the block in its backward pass.
#[derive(Default)]
pub struct Activations<R> {
    /// Inputs of the blocks, and the output of the last one.
    pub streams: Vec<Vec<R>>,
    /// Activations of each block.
    pub blocks: Vec<BlockActivations<R>>,
    /// Workspace that all blocks share.
    pub shared: Shared<R>,
    /// Intermediates of the head.
    pub head: Head<R>,
    /// Gradients of the activations of the current block.
    pub gradients: Gradients<R>,
}

/// Grows a buffer to at least `len` elements, whose contents are unspecified. Fails if memory is exhausted.
fn room<R: Copy + Default>(buffer: &mut Vec<R>, len: usize) -> Result<(), SimError> {
    if buffer.len() < len {
        *buffer = Vec::new();
        *buffer = zeros("activations", len)?;
    }
    Ok(())
}

impl<R: Real + Default> BlockActivations<R> {
    /// Grows the buffers to `n` tokens and `edges` edges per block. With a KV cache, edges are not kept. Fails if memory is
    /// exhausted.
    pub fn reserve(&mut self, config: &Config, n: usize, (edges, has_factor): (usize, bool)) -> Result<(), SimError> {
        let (width, kv) = (config.width, config.kv_width());
        for (buffer, columns) in [
            (&mut self.norm_1, width),
            (&mut self.stats_1, 2),
            (&mut self.q_in, width),
            (&mut self.k_in, kv),
            (&mut self.q, width),
            (&mut self.k, kv),
            (&mut self.v, kv),
            (&mut self.stats_q, 2 * config.heads),
            (&mut self.stats_k, 2 * config.kv_heads),
            (&mut self.attention, width),
            (&mut self.mid, width),
            (&mut self.norm_2, width),
            (&mut self.stats_2, 2),
        ] {
            room(buffer, n * columns)?;
        }
        room(&mut self.probabilities, edges)?;
        room(&mut self.factor, if has_factor { edges } else { 0 })
    }
}

impl<R: Real + Default> Activations<R> {
    /// Grows the buffers to fit the sequences. `has_factor` states whether derivatives of the presynaptic bias are
    /// kept. Fails if memory is exhausted.
    pub fn reserve(&mut self, config: &Config, extent: Extent, has_factor: bool) -> Result<(), SimError> {
        let (n, width, kv) = (extent.n_tokens(), config.width, config.kv_width());
        let edges = (extent.n_edges(config.heads), has_factor);
        self.streams.resize_with(config.layers + 1, Vec::new);
        self.streams.iter_mut().try_for_each(|stream| room(stream, n * width))?;
        self.blocks.resize_with(config.layers, BlockActivations::default);
        self.blocks.iter_mut().try_for_each(|block| block.reserve(config, n, edges))?;
        let Self {
            shared,
            head,
            gradients: Gradients { d, d_norm, d_attention, d_heads: [d_q, d_kv], d_gates, .. },
            ..
        } = self;
        for (buffer, columns) in [
            (&mut shared.by_head, width),
            (&mut shared.kv_by_head, 2 * kv),
            (&mut head.norm_f, width),
            (&mut head.stats_f, 2),
            (&mut head.losses, 1),
            (&mut head.lse, 1),
            (d, width),
            (d_norm, width),
            (d_attention, width),
            (d_q, width),
            (d_kv, 2 * kv),
            (d_gates, config.top_k),
        ] {
            room(buffer, n * columns)?;
        }
        room(&mut head.logits, LOGIT_ROWS.min(n) * config.padded_vocab())
    }

    /// Returns the size of the activations of a batch of `extent`, bytes.
    pub fn bytes(config: &Config, extent: Extent) -> u64 {
        let (width, kv, k) = (config.width, config.kv_width(), config.top_k);
        let router = 3 * config.experts + 2 * (config.experts + 24) + 1;
        let block = 7 * width + 3 * kv + 4 + 2 * (config.heads + config.kv_heads) + 2 * k * (width + config.hidden);
        let others = 7 * width + 4 * kv + 4 + k;
        let tokens = extent.n_tokens() * (config.layers * (block + router) + others);
        let edges = 2 * config.layers * extent.n_edges(config.heads);
        let logits = LOGIT_ROWS.min(extent.n_tokens()) * config.padded_vocab();
        ((tokens + edges + logits) * size_of::<R>()) as u64
    }
}
