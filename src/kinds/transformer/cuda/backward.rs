//! The loss and the backward pass; formulas are those of the CPU model. Gradients of parameters are added to.

use super::{
    error::OpError,
    format::ModelFormat,
    forward::chunks,
    network::Run,
    plan::{Backward, Block, BlockTensors, Head, Plan, Stream},
};
use crate::{
    gpu::{Slice, ViewMut, nvtx},
    kinds::transformer::{
        choices::{Checkpointing, NormPlacement},
        cpu::forward::DropSite,
        model::{Linear, Norm},
    },
    nn::{
        attention::{Gradients, Inputs},
        cross_entropy::cuda::LossTotal,
        embedding::Embedding,
        gemm::{Epilogue, Gemm},
        parameters::ViewId,
    },
};
use std::mem;

/// What the loss needs besides activations.
pub struct Loss<'a> {
    /// Gradient of the loss of a target, one element.
    pub scale: &'a Slice<f32>,
    /// Sum of the losses.
    pub total: &'a mut Slice<LossTotal>,
}

impl<T: ModelFormat> Run<'_, T> {
    /// Losses, gradients of the matrix of logits, and in `dx` those of its input.
    pub fn head_backward(
        &mut self,
        plan: &Plan,
        head: &mut Head<'_, T>,
        loss: &mut Loss<'_>,
        dx: &mut Slice<T>,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let (network, width, vocab) = (self.network, self.network.config.width, plan.vocab);
        let (id, ops) = (network.layout.head(), &network.ops);
        for rows in chunks(self.batch.tokens.len(), plan.logit_rows) {
            let (frame, n) = (self.frame.frame(), rows.len());
            let mut logits = frame.take::<T>("logits", n * vocab)?;
            let x = head.norm_f.part(rows.start * width..rows.end * width)?;
            self.logits(&x, &mut logits)?;
            let (op, targets) = (self.loss_op(n), self.batch.targets.part(rows.clone())?);
            let (mut losses, mut lse) = (head.losses.part_mut(rows.clone())?, head.lse.part_mut(rows.clone())?);
            let (losses, lse) = (&mut losses, &mut lse);
            ops.cross_entropy.backward(self.pass, &op, &mut logits, &targets, loss.scale, losses, lse, self.flag)?;
            let mut dx = dx.part_mut(rows.start * width..rows.end * width)?;
            let weight = self.weights.part(network.range(id))?;
            let by_weight = Gemm::new(n, width, vocab);
            ops.gemm.run(self.pass, &by_weight, (&*logits, &weight), &mut *dx, Epilogue::None, ops.options)?;
            self.add_product((vocab, width, n), &logits, &x, id, gradient)?;
        }
        ops.cross_entropy.add_losses(self.pass, head.losses, self.batch.targets, loss.total)?;
        Ok(())
    }

    /// `dW += dyᵀ x`, with the sizes of W and the number of tokens.
    fn add_product(
        &mut self,
        (outputs, inputs, tokens): (usize, usize, usize),
        dy: &Slice<T>,
        x: &Slice<T>,
        id: ViewId,
        gradient: &mut Slice<f32>,
    ) -> Result<(), OpError> {
        let ops = &self.network.ops;
        let op = Gemm::new(outputs, inputs, tokens).transposed_a().scaled(1.0, 1.0);
        let mut to = gradient.part_mut(self.network.range(id))?;
        ops.gemm.run(self.pass, &op, (dy, x), &mut *to, Epilogue::None, ops.options)?;
        Ok(())
    }

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
        let (network, ops) = (self.network, &self.network.ops);
        let [outputs, inputs] = network.layout.map.view(linear.weight).shape[..] else {
            return Err(OpError::no_matrix());
        };
        let tokens = dy.len() / outputs;
        let weight = self.weights.part(network.range(linear.weight))?;
        let by_weight = Gemm::new(tokens, inputs, outputs);
        let epilogue = z.map_or(Epilogue::None, |aux| Epilogue::Gradient { f: network.activation(), aux });
        ops.gemm.run(self.pass, &by_weight, (dy, &weight), dx, epilogue, ops.options)?;
        self.add_product((outputs, inputs, tokens), dy, x, linear.weight, gradient)?;
        if let Some(bias) = linear.bias {
            let mut dbias = gradient.part_mut(network.range(bias))?;
            ops.elementwise.bias_gradient(self.pass, tokens, outputs, dy, &mut dbias, self.frame)?;
        }
        Ok(())
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
        let network = self.network;
        let op = network.norm_op(x.len() / network.config.width);
        let weight = self.weights.part(network.range(of.weight))?;
        // The bias is behind the weight.
        let split = network.range(of.weight).end;
        let (mut before, mut after) = gradient.split_at_mut(split)?;
        let mut dweight = before.part_mut(network.range(of.weight))?;
        let mut dbias = match of.bias {
            Some(bias) => {
                let range = network.range(bias);
                Some(after.part_mut(range.start - split..range.end - split)?)
            }
            None => None,
        };
        let dbias = dbias.as_deref_mut();
        network.ops.norm.backward(self.pass, &op, dy, x, &weight, stats, dx, &mut dweight, dbias, self.frame)?;
        Ok(())
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
            self.network.ops.elementwise.add(self.pass, d, other)?;
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
            self.network.ops.elementwise.add(self.pass, d, other)?;
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
        let Some(ln_f) = self.network.layout.ln_f else {
            return self.head_backward(plan, head, loss, g.d, gradient);
        };
        self.head_backward(plan, head, loss, g.other, gradient)?;
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
        self.embedding_backward(g.d, gradient)
    }

    fn embedding_backward(&mut self, d: &Slice<T>, gradient: &mut Slice<f32>) -> Result<(), OpError> {
        let (network, batch) = (self.network, self.batch);
        let c = &network.config;
        let op = Embedding::new(batch.tokens.len(), c.padded_vocab(), c.width, batch.shape.seq_len.max(1));
        let table = network.range(network.layout.wte);
        let split = table.end;
        let (mut before, mut after) = gradient.split_at_mut(split)?;
        let mut dtable = before.part_mut(table)?;
        let mut dpositions = match network.layout.wpe {
            Some(wpe) => {
                let range = network.range(wpe);
                Some(after.part_mut(range.start - split..range.end - split)?)
            }
            None => None,
        };
        let ids = network.layout.wpe.and(batch.positions);
        let dpositions = dpositions.as_deref_mut();
        let ops = &network.ops.embedding;
        ops.backward(self.pass, &op, batch.tokens, d, &mut dtable, dpositions, ids, self.flag, self.frame)?;
        Ok(())
    }
}
