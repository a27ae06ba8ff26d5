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
    /// Input: the residual stream.
    pub input: Vec<R>,
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

/// Activations of a model, and the gradients of the block that is passed back.
#[derive(Default)]
pub struct Activations<R> {
    /// By block.
    pub blocks: Vec<BlockActivations<R>>,
    /// Output of the last block.
    pub last: Vec<R>,
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
    /// Gradient of the residual stream.
    pub d: Vec<R>,
    /// Gradient of the output of a norm.
    pub d_norm: Vec<R>,
    /// Gradient of the output of attention.
    pub d_attention: Vec<R>,
    /// Attention or its gradients, head by head: `[B, H, T, D]`.
    pub by_head: Vec<R>,
    /// Gradients of keys and values, `[2, B, Hkv, T, D]`.
    pub kv_by_head: Vec<R>,
    /// Gradients of queries, `[tokens, H D]`, and of keys and values, `[2, tokens, Hkv D]`.
    pub d_heads: [Vec<R>; 2],
    /// Gradients of gates, `[tokens, k]`.
    pub d_gates: Vec<R>,
    /// Memory of the router's backward pass.
    pub router: RouterWork<R>,
}

/// Makes a buffer of at least that length; contents may be anything.
fn room<R: Copy + Default>(buffer: &mut Vec<R>, len: usize) -> Result<(), SimError> {
    if buffer.len() < len {
        *buffer = Vec::new();
        *buffer = zeros("activations", len)?;
    }
    Ok(())
}

impl<R: Real + Default> Activations<R> {
    /// Makes room for sequences; `has_factor` if edges keep the derivative of their bias.
    pub fn reserve(&mut self, config: &Config, extent: Extent, has_factor: bool) -> Result<(), SimError> {
        let (n, width, kv) = (extent.n_tokens(), config.width, config.kv_width());
        let edges = extent.n_edges(config.heads);
        self.blocks.resize_with(config.layers, BlockActivations::default);
        for b in &mut self.blocks {
            for (buffer, columns) in [
                (&mut b.input, width),
                (&mut b.norm_1, width),
                (&mut b.stats_1, 2),
                (&mut b.q_in, width),
                (&mut b.k_in, kv),
                (&mut b.q, width),
                (&mut b.k, kv),
                (&mut b.v, kv),
                (&mut b.stats_q, 2 * config.heads),
                (&mut b.stats_k, 2 * config.kv_heads),
                (&mut b.attention, width),
                (&mut b.mid, width),
                (&mut b.norm_2, width),
                (&mut b.stats_2, 2),
            ] {
                room(buffer, n * columns)?;
            }
            room(&mut b.probabilities, edges)?;
            room(&mut b.factor, if has_factor { edges } else { 0 })?;
        }
        let [d_q, d_kv] = &mut self.d_heads;
        for (buffer, columns) in [
            (&mut self.last, width),
            (&mut self.norm_f, width),
            (&mut self.stats_f, 2),
            (&mut self.losses, 1),
            (&mut self.lse, 1),
            (&mut self.d, width),
            (&mut self.d_norm, width),
            (&mut self.d_attention, width),
            (&mut self.by_head, width),
            (&mut self.kv_by_head, 2 * kv),
            (d_q, width),
            (d_kv, 2 * kv),
            (&mut self.d_gates, config.top_k),
        ] {
            room(buffer, n * columns)?;
        }
        room(&mut self.logits, LOGIT_ROWS.min(n) * config.padded_vocab())
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
