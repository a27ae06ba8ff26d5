//! The loss and the backward pass; formulas are those of the CPU model. Gradients of parameters are added to.

use super::{
    network::Run,
    plan::{Backward, Block, BlockTensors, Plan, Stream},
};
use crate::{
    gpu::{Slice, ViewMut, nvtx},
    kinds::{
        language::cuda::{error::OpError, format::ModelFormat, layers::Loss, plan::Head},
        transformer::{
            choices::{Checkpointing, NormPlacement},
            cpu::forward::DropSite,
            model::{Linear, Norm},
        },
    },
    nn::{
        attention::{Gradients, Inputs},
        gemm::Epilogue,
    },
};
use std::mem;

impl<T: ModelFormat> Run<'_, T> {
    /// `dx = dy W`, `dW += dyᵀ x`, `db += Σ dy`. With `z`, where `x = f(z)`, dx becomes dz.
    fn linear_backward(
        &mut self,
        linear: Linear,
        dy: &Slice<T>,
        x: &Slice<T>,
        z: Option<&Slice<T>>,
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let f = self.network.activation();
        let epilogue = z.map_or(Epilogue::None, |aux| Epilogue::Gradient { f, aux });
        self.layers().linear_backward((linear.weight, linear.bias), (dy, x), epilogue, dx, gradient)
    }

    fn norm_backward(
        &mut self,
        of: Norm,
        dy: &Slice<T>,
        x: &Slice<T>,
        stats: &Slice<f32>,
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let op = self.network.norm_op(x.len() / self.network.config.width);
        self.layers().norm_backward(&op, (of.weight, of.bias), (dy, x, stats), dx, gradient)
    }

    /// The gradient of a branch before dropout: `d` itself without dropout.
    fn dropped<'d>(
        &mut self,
        site: DropSite,
        d: &'d Slice<T>,
        branch: &'d mut Slice<T>,
    ) -> Result<&'d Slice<T>, OpError> {
        let Some(noise) = self.noise.elements else { return Ok(d) };
        let ops = &self.network.ops;
        if ops.fused.dropout {
            ops.dropout.add(self.pass, site.number(), noise, (d, None), branch)?;
        } else {
            branch.copy_from(d)?;
            self.drop(site, branch)?;
        }
        Ok(branch)
    }

    /// Computes again what is not held.
    fn recompute(
        &mut self,
        b: usize,
        mode: Checkpointing,
        input: &Slice<T>,
        a: &mut Block<'_, T>,
        branch: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let (block, is_pre) = (self.network.layout.blocks[b], self.network.config.placement == NormPlacement::Pre);
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
            self.activate(a.fc, a.hidden)?;
        }
        Ok(())
    }

    /// Replaces the gradient of a block's output in `d` by that of its input.
    pub fn block_backward(
        &mut self,
        b: usize,
        input: &Slice<T>,
        a: &mut Block<'_, T>,
        g: &mut Stream<'_, T>,
        t: &mut Backward<'_, T>,
        branch: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let _range = nvtx::range_of(|| format!("block {b}, backward"));
        let (block, is_pre) = (self.network.layout.blocks[b], self.network.config.placement == NormPlacement::Pre);
        let (mut d, mut other) = (&mut *g.d, &mut *g.other);
        if !is_pre {
            other.clear()?;
            self.norm_backward(block.ln_2, d, a.sum, a.stats_2, other, gradient)?;
            mem::swap(&mut d, &mut other);
        }
        // The feed-forward layer: `other` becomes the gradient of the input of its first matrix.
        let dy = self.dropped(DropSite::FeedForward(b), d, branch)?;
        if self.network.ops.fused.backward {
            self.linear_backward(block.mlp_proj, dy, a.hidden, Some(a.fc), t.dfc, gradient)?;
        } else {
            self.linear_backward(block.mlp_proj, dy, a.hidden, None, t.dhidden, gradient)?;
            self.activation_backward(a.fc, t.dhidden, t.dfc)?;
        }
        let x: &Slice<T> = if is_pre { a.norm_2 } else { a.norm_1 };
        self.linear_backward(block.fc, t.dfc, x, None, other, gradient)?;
        if is_pre {
            self.norm_backward(block.ln_2, other, a.mid, a.stats_2, d, gradient)?;
        } else {
            self.network.ops.model.elementwise.add(self.pass, d, other)?;
            other.clear()?;
            self.norm_backward(block.ln_1, d, a.mid, a.stats_1, other, gradient)?;
            mem::swap(&mut d, &mut other);
        }
        // Attention. The gradient of its output goes where that of its input will be.
        let dy = self.dropped(DropSite::Attention(b), d, branch)?;
        self.linear_backward(block.attn_proj, dy, a.attention, None, other, gradient)?;
        self.attention_backward(b, a, other, t.dqkv)?;
        let x: &Slice<T> = if is_pre { a.norm_1 } else { input };
        self.linear_backward(block.qkv, t.dqkv, x, None, other, gradient)?;
        if is_pre {
            self.norm_backward(block.ln_1, other, input, a.stats_1, d, gradient)
        } else {
            // Swapped twice: `d` is the first buffer again.
            self.network.ops.model.elementwise.add(self.pass, d, other)?;
            Ok(())
        }
    }

    fn activation_backward(&mut self, fc: &Slice<T>, dhidden: &Slice<T>, dfc: &mut Slice<T>) -> Result<(), OpError> {
        let (network, columns) = (self.network, self.network.config.hidden);
        let rows = dhidden.len() / columns;
        network.ops.activation.backward(self.pass, network.activation(), rows, columns, fc, dhidden, dfc)?;
        Ok(())
    }

    fn attention_backward(
        &mut self,
        b: usize,
        a: &Block<'_, T>,
        d_o: &Slice<T>,
        dqkv: &mut Slice<T>,
    ) -> Result<(), OpError> {
        let (network, lengths) = (self.network, self.batch.lengths);
        let op = self.attention(b);
        let inputs = Inputs::packed(&*a.qkv).lengths(lengths, lengths).dropout(self.noise.probabilities);
        let (known, variant) = ((&*a.attention, &*a.lse), network.ops.variant);
        let (to, frame) = (Gradients::Packed(&mut *dqkv), self.frame.frame());
        network.ops.attention.backward(self.pass, &op, &inputs, known, d_o, to, None, variant, &frame)?;
        drop(frame);
        self.rotate(dqkv, true)
    }

    /// Losses, and the gradient of the residual stream behind the last block.
    pub fn loss_backward(
        &mut self,
        plan: &Plan,
        last: &Slice<T>,
        head: &mut Head<'_, T>,
        loss: &mut Loss<'_>,
        g: &mut Stream<'_, T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let of = self.head(plan);
        let Some(ln_f) = self.network.layout.ln_f else {
            return self.layers().head_backward(of, head, loss, g.d, gradient);
        };
        self.layers().head_backward(of, head, loss, g.other, gradient)?;
        g.d.clear()?;
        self.norm_backward(ln_f, g.other, last, head.stats_f, g.d, gradient)
    }

    /// Gradients of all blocks and of the embedding.
    pub fn blocks_backward(
        &mut self,
        mode: Checkpointing,
        streams: &[ViewMut<'_, T>],
        held: &mut [BlockTensors<'_, T>],
        shared: &mut BlockTensors<'_, T>,
        g: &mut Stream<'_, T>,
        t: &mut Backward<'_, T>,
        branch: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        for b in (0..held.len()).rev() {
            let mut a = Block::of(&mut held[b], shared);
            self.recompute(b, mode, &streams[b], &mut a, branch)?;
            self.block_backward(b, &streams[b], &mut a, g, t, branch, gradient)?;
        }
        self.drop(DropSite::Embedding, g.d)?;
        let layout = &self.network.layout;
        self.layers().embedding_backward((layout.wte, layout.wpe), g.d, gradient)
    }
}
