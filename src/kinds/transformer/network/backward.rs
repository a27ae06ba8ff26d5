//! Loss and backward pass. Gradients of parameters are accumulated. Functions fail if an operation fails or the pass is
//! to be stopped.

use super::{Backward, Block, DropSite, Head, Run, Stats, Stream, Tensor, gain, split, weight};
use crate::{
    gpu::nvtx,
    kinds::transformer::{
        choices::{Checkpointing, NormPlacement},
        model::Norm,
        plan::{BlockTensors, Plan},
    },
    nn::layers::BlockBackward,
};
use std::{mem, ops::DerefMut};

impl<O: BlockBackward> Run<'_, O> {
    fn norm_backward(
        &mut self,
        of: Norm,
        known: (&Tensor<O>, &Tensor<O>, &Stats<O>),
        dx: &mut Tensor<O>,
        gradient: &mut O::Gradient,
    ) -> Result<(), O::Error> {
        let op = self.norm_op();
        self.ops.section("norm backward", |ops| ops.norm_backward(&op, gain(of), known, dx, gradient))
    }

    /// Recomputes the activations of block `b` that are not held.
    fn recompute(
        &mut self,
        b: usize,
        mode: Checkpointing,
        input: &Tensor<O>,
        a: &mut Block<'_, O>,
        branch: &mut Tensor<O>,
    ) -> Result<(), O::Error> {
        let (block, is_pre) = (self.layout.blocks[b], self.config.placement == NormPlacement::Pre);
        if mode == Checkpointing::Blocks {
            return self.block(b, input, a, None, branch);
        }
        if mode == Checkpointing::Norms {
            self.norm(block.ln_1, if is_pre { input } else { a.mid }, a.norm_1, a.stats_1)?;
            if is_pre {
                self.norm(block.ln_2, a.mid, a.norm_2, a.stats_2)?;
            }
        }
        if mode != Checkpointing::Nothing {
            self.ops.activate(self.config.activated(), a.fc, a.hidden)?;
        }
        Ok(())
    }

    /// Backpropagates through block `b`: replaces `g.d`, the gradient of the block's output, by the gradient of the block's
    /// input.
    fn block_backward(
        &mut self,
        b: usize,
        input: &Tensor<O>,
        a: &mut Block<'_, O>,
        g: &mut Stream<'_, O>,
        t: &mut Backward<'_, O>,
        branch: &mut Tensor<O>,
        gradient: &mut O::Gradient,
    ) -> Result<(), O::Error> {
        let _range = nvtx::range_of(|| format!("block {b}, backward"));
        let (block, is_pre) = (self.layout.blocks[b], self.config.placement == NormPlacement::Pre);
        let (mut d, mut other) = (&mut *g.d, &mut *g.other);
        if !is_pre {
            self.ops.clear(other)?;
            self.norm_backward(block.ln_2, (d, a.sum, a.stats_2), other, gradient)?;
            mem::swap(&mut d, &mut other);
        }
        // Feed-forward layer: `other` becomes the gradient with respect to the input of its first matrix.
        let (of, by) = (weight(block.mlp_proj), self.config.activated());
        let x: &Tensor<O> = if is_pre { a.norm_2 } else { a.norm_1 };
        self.ops.section("mlp backward", |ops| {
            let dy = ops.dropped(DropSite::FeedForward(b).number(), d, branch)?;
            ops.linear_activated_backward(of, by, (dy, a.hidden, a.fc), t.dhidden, t.dfc, gradient)?;
            ops.linear_backward(weight(block.fc), (t.dfc, x), other, gradient)
        })?;
        if is_pre {
            self.norm_backward(block.ln_2, (other, a.mid, a.stats_2), d, gradient)?;
        } else {
            self.ops.add(d, other)?;
            self.ops.clear(other)?;
            self.norm_backward(block.ln_1, (d, a.mid, a.stats_1), other, gradient)?;
            mem::swap(&mut d, &mut other);
        }
        // Attention: the buffer of the input's gradient receives the gradient of attention's output.
        self.ops.section("projection backward", |ops| {
            let dy = ops.dropped(DropSite::Attention(b).number(), d, branch)?;
            ops.linear_backward(weight(block.attn_proj), (dy, a.attention), other, gradient)
        })?;
        let (attention, known) = (self.self_attention(b), (&*a.qkv, &*a.attention, &*a.lse));
        self.ops.section("attention backward", |ops| ops.attention_backward(&attention, known, other, t.dqkv))?;
        self.rotate(t.dqkv, true)?;
        let x: &Tensor<O> = if is_pre { a.norm_1 } else { input };
        self.ops.section("qkv backward", |ops| ops.linear_backward(weight(block.qkv), (t.dqkv, x), other, gradient))?;
        if is_pre {
            self.norm_backward(block.ln_1, (other, input, a.stats_1), d, gradient)
        } else {
            // The buffers were swapped twice, so `d` is `g.d` again.
            self.ops.add(d, other)
        }
    }

    /// Computes the losses, and the gradient of the residual stream after the last block.
    pub fn loss_backward(
        &mut self,
        plan: &Plan,
        last: &Tensor<O>,
        head: &mut Head<'_, O>,
        g: &mut Stream<'_, O>,
        gradient: &mut O::Gradient,
    ) -> Result<(), O::Error> {
        self.last_norm(last, head)?;
        let (of, (x, to)) = (self.head(plan), split(head));
        let Some(ln_f) = self.layout.ln_f else {
            return self.ops.section("head and loss", |ops| ops.head_backward(of, x, to, g.d, gradient));
        };
        self.ops.section("head and loss", |ops| ops.head_backward(of, x, to, g.other, gradient))?;
        self.ops.clear(g.d)?;
        self.norm_backward(ln_f, (g.other, last, head.stats_f), g.d, gradient)
    }

    /// Backpropagates through all blocks and the embedding.
    pub fn blocks_backward<T, S>(
        &mut self,
        mode: Checkpointing,
        streams: &[T],
        (held, shared): (&mut [BlockTensors<T, S>], &mut BlockTensors<T, S>),
        g: &mut Stream<'_, O>,
        t: &mut Backward<'_, O>,
        branch: &mut Tensor<O>,
        gradient: &mut O::Gradient,
    ) -> Result<(), O::Error>
    where
        T: DerefMut<Target = Tensor<O>>,
        S: DerefMut<Target = Stats<O>>,
    {
        for b in (0..held.len()).rev() {
            self.ops.check_stop()?;
            if !self.is_trained_to(b) {
                return Ok(());
            }
            let mut a = BlockTensors::of(&mut held[b], shared);
            self.recompute(b, mode, &streams[b], &mut a, branch)?;
            self.block_backward(b, &streams[b], &mut a, g, t, branch, gradient)?;
        }
        if !self.ops.is_trained(self.layout.wte) {
            return Ok(());
        }
        self.ops.section("embed backward", |ops| {
            ops.drop_in_place(DropSite::Embedding.number(), g.d)?;
            ops.embedding_backward((self.layout.wte, self.layout.wpe), g.d, gradient)
        })
    }

    /// Whether the embedding or any block up to `b` is trained. A block is frozen only as a whole.
    fn is_trained_to(&self, b: usize) -> bool {
        let mut blocks = self.layout.blocks[..=b].iter();
        self.ops.is_trained(self.layout.wte) || blocks.any(|block| self.ops.is_trained(block.qkv.weight))
    }
}
