//! What the forward pass leaves for the backward pass.

use super::network::zeros;
use crate::{
    kinds::{
        language::cpu::head::LOGIT_ROWS,
        transformer::{choices::NormPlacement, model::Config},
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
    /// Queries, keys and values, rotated.
    pub qkv: Vec<R>,
    /// Output of attention.
    pub attention: Vec<R>,
    /// Logarithms of the sums of its softmax, per head and query.
    pub lse: Vec<R>,
    /// Input plus projected attention.
    pub mid: Vec<R>,
    /// Output of the second norm, of pre-norm blocks.
    pub norm_2: Vec<R>,
    /// Its statistics.
    pub stats_2: Vec<R>,
    /// Input of the activation function.
    pub fc: Vec<R>,
    /// Its output.
    pub hidden: Vec<R>,
    /// Input of the second norm, of post-norm blocks.
    pub sum: Vec<R>,
}

/// Activations of a model and the gradients of the block that is passed back, for a number of tokens.
#[derive(Default)]
pub struct Activations<R> {
    /// Tokens that there is room for.
    pub capacity: usize,
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
    /// Gradient of the residual stream, and a second one.
    pub d: [Vec<R>; 2],
    /// Output of a layer, or its gradient.
    pub branch: Vec<R>,
    /// Gradient of queries, keys and values.
    pub dqkv: Vec<R>,
    /// Gradient of the input of the activation function.
    pub dfc: Vec<R>,
    /// Gradient of its output.
    pub dhidden: Vec<R>,
}

impl<R: Real + Default> Activations<R> {
    /// Makes room for that many tokens in that many sequences of them at most. On an error the room is as before.
    pub fn reserve(&mut self, config: &Config, tokens: usize) -> Result<(), SimError> {
        if tokens <= self.capacity {
            return Ok(());
        }
        // The former room is given back first.
        *self = Self::default();
        *self = Self::new(config, tokens)?;
        Ok(())
    }

    fn new(config: &Config, n: usize) -> Result<Self, SimError> {
        let (width, fc, hidden) = (config.width, config.fc_width(), config.hidden);
        let is_post = config.placement == NormPlacement::Post;
        let rows = |columns: usize| zeros("activations", n.saturating_mul(columns));
        let block = |_| {
            Ok(BlockActivations {
                input: rows(width)?,
                norm_1: rows(width)?,
                stats_1: rows(2)?,
                qkv: rows(config.qkv_width())?,
                attention: rows(width)?,
                lse: rows(config.heads)?,
                mid: rows(width)?,
                norm_2: rows(if is_post { 0 } else { width })?,
                stats_2: rows(2)?,
                fc: rows(fc)?,
                hidden: rows(hidden)?,
                sum: rows(if is_post { width } else { 0 })?,
            })
        };
        Ok(Self {
            capacity: n,
            blocks: (0..config.layers).map(block).collect::<Result<_, SimError>>()?,
            last: rows(width)?,
            norm_f: rows(width)?,
            stats_f: rows(2)?,
            logits: zeros("logits", LOGIT_ROWS.min(n).saturating_mul(config.padded_vocab()))?,
            losses: rows(1)?,
            lse: rows(1)?,
            d: [rows(width)?, rows(width)?],
            branch: rows(width)?,
            dqkv: rows(config.qkv_width())?,
            dfc: rows(fc)?,
            dhidden: rows(hidden)?,
        })
    }

    /// Bytes for that many tokens.
    pub fn bytes(config: &Config, tokens: usize) -> u64 {
        let (width, fc, hidden, qkv) = (config.width, config.fc_width(), config.hidden, config.qkv_width());
        let block = 5 * width + 4 + qkv + config.heads + fc + hidden;
        let others = 5 * width + 2 + 2 + qkv + fc + hidden;
        let logits = LOGIT_ROWS.min(tokens) * config.padded_vocab();
        ((tokens * (config.layers * block + others) + logits) * size_of::<R>()) as u64
    }
}
