//! Forward pass of the model. Functions fail if an operation fails; those that run several blocks also fail if the pass is to
//! be stopped.

use super::{Block, DropSite, Head, Run, Stats, Tensor, gain, split, weight};
use crate::{
    gpu::nvtx,
    kinds::transformer::{
        choices::NormPlacement,
        model::{self, Linear, Norm},
        plan::{BlockTensors, Plan},
    },
    nn::layers::BlockForward,
};
use std::ops::DerefMut;

impl<O: BlockForward> Run<'_, O> {
    /// Computes `y = norm(x)` and its statistics.
    pub(super) fn norm(
        &mut self,
        of: Norm,
        x: &Tensor<O>,
        y: &mut Tensor<O>,
        stats: &mut Stats<O>,
    ) -> Result<(), O::Error> {
        let op = self.norm_op();
        self.ops.section("norm", |ops| ops.norm(&op, gain(of), x, y, stats))
    }

    /// Computes the sum of token and learned position embeddings (token embeddings only if the model has no learned
    /// positions), with dropout.
    fn embed(&mut self, y: &mut Tensor<O>) -> Result<(), O::Error> {
        self.ops.section("embed", |ops| {
            ops.embed(self.layout.wte, self.layout.wpe, y)?;
            ops.drop_in_place(DropSite::Embedding.number(), y)
        })
    }

    /// Rotates queries and keys by the angles of their positions, or back if `is_inverse`. Has no effect in models without
    /// rotary embeddings.
    pub(super) fn rotate(&mut self, qkv: &mut Tensor<O>, is_inverse: bool) -> Result<(), O::Error> {
        match self.config.rope(&self.shape, self.offset) {
            Some(op) => self.ops.section("rope", |ops| ops.rotate(&op, qkv, is_inverse)),
            None => Ok(()),
        }
    }

    /// Runs block `b` from the residual stream `input` to `output`. Without `output`, computes only what the backward pass
    /// reads.
    pub fn block(
        &mut self,
        b: usize,
        input: &Tensor<O>,
        a: &mut Block<'_, O>,
        output: Option<&mut Tensor<O>>,
        branch: &mut Tensor<O>,
    ) -> Result<(), O::Error> {
        let _range = nvtx::range_of(|| format!("block {b}"));
        let block = self.layout.blocks[b];
        if self.config.placement == NormPlacement::Pre {
            self.norm(block.ln_1, input, a.norm_1, a.stats_1)?;
            self.ops.section("qkv", |ops| ops.linear(weight(block.qkv), a.norm_1, a.qkv, None))?;
        } else {
            self.ops.section("qkv", |ops| ops.linear(weight(block.qkv), input, a.qkv, None))?;
        }
        self.rotate(a.qkv, false)?;
        let attention = self.self_attention(b);
        self.ops.section("attention", |ops| ops.attend(&attention, a.qkv, a.attention, a.lse))?;
        self.add("projection", block.attn_proj, DropSite::Attention(b), a.attention, input, a.mid, branch)?;
        self.second_half(b, &block, a, output, branch)
    }

    /// Runs the second half of a block: the feed-forward layer with its residual, after one norm in pre-norm models and
    /// between two norms in post-norm models.
    fn second_half(
        &mut self,
        b: usize,
        block: &model::Block,
        a: &mut Block<'_, O>,
        output: Option<&mut Tensor<O>>,
        branch: &mut Tensor<O>,
    ) -> Result<(), O::Error> {
        let (is_pre, by) = (self.config.placement == NormPlacement::Pre, self.config.activated());
        if is_pre {
            self.norm(block.ln_2, a.mid, a.norm_2, a.stats_2)?;
        } else {
            self.norm(block.ln_1, a.mid, a.norm_1, a.stats_1)?;
        }
        let x: &Tensor<O> = if is_pre { a.norm_2 } else { a.norm_1 };
        self.ops.section("mlp", |ops| ops.linear_activated(weight(block.fc), by, x, a.fc, a.hidden))?;
        let site = DropSite::FeedForward(b);
        match (is_pre, output) {
            (true, Some(output)) => self.add("mlp", block.mlp_proj, site, a.hidden, a.mid, output, branch),
            (true, None) => Ok(()),
            (false, output) => {
                self.add("mlp", block.mlp_proj, site, a.hidden, a.norm_1, a.sum, branch)?;
                match output {
                    Some(output) => self.norm(block.ln_2, a.sum, output, a.stats_2),
                    // The norm is computed only for its statistics.
                    None => self.norm(block.ln_2, a.sum, a.norm_2, a.stats_2),
                }
            }
        }
    }

    /// Computes `y = residual + drop(x Wᵀ + b)` as the section `name`.
    fn add(
        &mut self,
        name: &'static str,
        linear: Linear,
        site: DropSite,
        x: &Tensor<O>,
        residual: &Tensor<O>,
        y: &mut Tensor<O>,
        branch: &mut Tensor<O>,
    ) -> Result<(), O::Error> {
        self.ops.section(name, |ops| {
            if !ops.has_dropout() {
                return ops.linear(weight(linear), x, y, Some(residual));
            }
            ops.linear(weight(linear), x, branch, None)?;
            ops.drop_and_add(site.number(), branch, residual, y)
        })
    }

    /// Runs the embedding and all blocks; block b keeps the activations that `held[b]` has room for. `streams` receives the
    /// input of each block, and the output of the last one.
    pub fn forward<T, S>(
        &mut self,
        streams: &mut [T],
        held: &mut [BlockTensors<T, S>],
        shared: &mut BlockTensors<T, S>,
        branch: &mut Tensor<O>,
    ) -> Result<(), O::Error>
    where
        T: DerefMut<Target = Tensor<O>>,
        S: DerefMut<Target = Stats<O>>,
    {
        self.embed(&mut streams[0])?;
        for (b, held) in held.iter_mut().enumerate() {
            self.ops.check_stop()?;
            let (before, after) = streams.split_at_mut(b + 1);
            let mut a = BlockTensors::of(held, shared);
            self.block(b, &before[b], &mut a, Some(&mut after[0]), branch)?;
        }
        Ok(())
    }

    /// Runs the embedding and the first `layers` blocks, reusing one block's tensors. Returns the residual stream after
    /// these blocks, in one of the two given buffers.
    pub fn through<'x>(
        &mut self,
        layers: usize,
        (mut x, mut next): (&'x mut Tensor<O>, &'x mut Tensor<O>),
        a: &mut Block<'_, O>,
        branch: &mut Tensor<O>,
    ) -> Result<&'x Tensor<O>, O::Error> {
        self.embed(x)?;
        for b in 0..layers {
            self.ops.check_stop()?;
            self.block(b, x, a, Some(&mut *next), branch)?;
            std::mem::swap(&mut x, &mut next);
        }
        Ok(x)
    }

    /// Writes the final norm of `x` to `head.norm_f`. Post-norm models have no final norm, so `x` is copied.
    pub(super) fn last_norm(&mut self, x: &Tensor<O>, head: &mut Head<'_, O>) -> Result<(), O::Error> {
        match self.layout.ln_f {
            Some(norm) => self.norm(norm, x, head.norm_f, head.stats_f),
            None => self.ops.copy(x, head.norm_f),
        }
    }

    /// Computes the losses from the residual stream after the last block.
    pub fn losses(&mut self, plan: &Plan, last: &Tensor<O>, head: &mut Head<'_, O>) -> Result<(), O::Error> {
        self.last_norm(last, head)?;
        let (of, (x, to)) = (self.head(plan), split(head));
        self.ops.section("head and loss", |ops| ops.losses(of, x, to))
    }

    /// Computes the logits of normalised tokens, `[tokens, padded vocabulary]`.
    fn logits(&mut self, x: &Tensor<O>, logits: &mut Tensor<O>) -> Result<(), O::Error> {
        self.ops.linear((self.layout.head(), None), x, logits, None)
    }

    /// Computes the logits of all tokens of the batch. With a KV cache, the batch continues a text.
    pub fn predict(
        &mut self,
        streams: (&mut Tensor<O>, &mut Tensor<O>),
        a: &mut Block<'_, O>,
        branch: &mut Tensor<O>,
        head: &mut Head<'_, O>,
        logits: &mut Tensor<O>,
    ) -> Result<(), O::Error> {
        let last = self.through(self.config.layers, streams, a, branch)?;
        self.last_norm(last, head)?;
        self.logits(head.norm_f, logits)
    }
}
