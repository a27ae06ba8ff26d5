//! What the forward pass leaves for the backward pass.

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

/// Activations of a block, `[tokens, …]`.
#[derive(Default)]
pub struct BlockActivations<R> {
    /// Output of the first norm.
    pub norm_1: Vec<R>,
    /// Its statistics.
    pub stats_1: Vec<R>,
    /// Queries before their norm, rotated, `[tokens, H D]`.
    pub q_in: Vec<R>,
    /// Keys before their norm, rotated, `[tokens, Hkv D]`.
    pub k_in: Vec<R>,
    /// Queries.
    pub q: Vec<R>,
    /// Keys.
    pub k: Vec<R>,
    /// Values, `[tokens, Hkv D]`.
    pub v: Vec<R>,
    /// Statistics of the norms of queries, `[tokens H, 2]`.
    pub stats_q: Vec<R>,
    /// Statistics of the norms of keys.
    pub stats_k: Vec<R>,
    /// Probabilities of attention, `[B, H, T, T]`; 0 where invisible.
    pub probabilities: Vec<R>,
    /// Derivative of the presynaptic bias of an edge by its logit, `[B, H, T, T]`; empty without release.
    pub factor: Vec<R>,
    /// Output of attention.
    pub attention: Vec<R>,
    /// Input plus projected attention.
    pub mid: Vec<R>,
    /// Output of the second norm.
    pub norm_2: Vec<R>,
    /// Its statistics.
    pub stats_2: Vec<R>,
    /// What the router decided.
    pub routing: Routing<R>,
    /// Activations of the experts.
    pub mixture: MixtureWork<R>,
}

/// Workspace of all blocks.
#[derive(Default)]
pub struct Shared<R> {
    /// Attention or its gradients, head by head: `[B, H, T, D]`.
    pub by_head: Vec<R>,
    /// Gradients of keys and values, `[2, B, Hkv, T, D]`.
    pub kv_by_head: Vec<R>,
}

/// Input of the logits, and the losses.
#[derive(Default)]
pub struct Head<R> {
    /// Input of the logits.
    pub norm_f: Vec<R>,
    /// Statistics of the last norm.
    pub stats_f: Vec<R>,
    /// Logits of some tokens, then their gradients.
    pub logits: Vec<R>,
    /// Loss of each token.
    pub losses: Vec<R>,
    /// Logarithm of the sum of the softmax over the vocabulary, of each token.
    pub lse: Vec<R>,
}

/// Gradients of activations.
#[derive(Default)]
pub struct Gradients<R> {
    /// Of the residual stream.
    pub d: Vec<R>,
    /// Of the output of a norm.
    pub d_norm: Vec<R>,
    /// Of the output of attention.
    pub d_attention: Vec<R>,
    /// Of queries, `[tokens, H D]`, and of keys and values, `[2, tokens, Hkv D]`.
    pub d_heads: [Vec<R>; 2],
    /// Of gates, `[tokens, k]`.
    pub d_gates: Vec<R>,
    /// Memory of the router's backward pass.
    pub router: RouterWork<R>,
}

/// Activations of a model, and the gradients of the block that is passed back.
#[derive(Default)]
pub struct Activations<R> {
    /// Inputs of the blocks, and the output of the last one.
    pub streams: Vec<Vec<R>>,
    /// By block.
    pub blocks: Vec<BlockActivations<R>>,
    /// Workspace of all blocks.
    pub shared: Shared<R>,
    /// Of the logits.
    pub head: Head<R>,
    /// Gradients.
    pub gradients: Gradients<R>,
}

/// Makes a buffer of at least that length; contents may be anything.
fn room<R: Copy + Default>(buffer: &mut Vec<R>, len: usize) -> Result<(), SimError> {
    if buffer.len() < len {
        *buffer = Vec::new();
        *buffer = zeros("activations", len)?;
    }
    Ok(())
}

impl<R: Real + Default> BlockActivations<R> {
    /// Makes room for so many tokens, with that many edges; those of attention to a cache are not kept.
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
    /// Makes room for sequences; `has_factor` if edges keep the derivative of their bias.
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

    /// Bytes for sequences.
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
