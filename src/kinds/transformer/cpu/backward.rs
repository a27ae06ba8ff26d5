//! The loss and the backward pass. Gradients of parameters are added to.

use super::{
    activations::{Activations, BlockActivations},
    forward::{DropSite, Noise},
    network::{Extent, Network, refused},
};
use crate::{
    gpu::StopFlag,
    kinds::{
        language::{backend::Outcome, cpu::head::LossRows},
        transformer::{
            choices::NormPlacement,
            model::{Layer, Linear, Norm},
        },
    },
    nn::{
        activation,
        attention::{self, Attention, Gradients, Inputs},
        elementwise::bias_gradient,
        embedding::{self, Embedding},
        gemm::{Epilogue, Gemm, cpu::gemm},
        norm,
        parameters::ViewId,
        real::Real,
    },
    sim::SimError,
};

/// Gradients of a batch: of all parameters, of the weight of a loss.
pub struct BackwardInput<'a, R> {
    /// Tokens.
    pub tokens: &'a [u32],
    /// Targets.
    pub targets: &'a [i32],
    /// Sequences.
    pub extent: &'a Extent<'a>,
    /// Dropout.
    pub noise: Option<&'a Noise>,
    /// Gradient of the loss of each target.
    pub scale: R,
    /// For each layer whether it is frozen; empty for none. Gradients of its matrices and embeddings are not computed.
    pub frozen: &'a [bool],
}

impl<R: Real + Default> Network<R> {
    /// Whether the gradient of a parameter is not needed.
    fn is_frozen(&self, input: &BackwardInput<'_, R>, id: ViewId) -> bool {
        let layer = self.layout.layer(id).index(self.config.layers);
        input.frozen.get(layer).copied().unwrap_or(false)
    }

    fn part<'g>(&self, gradient: &'g mut [R], id: ViewId) -> &'g mut [R] {
        &mut gradient[self.layout.map.view(id).range()]
    }

    /// Losses of all tokens, from activations of [`Network::forward`].
    pub fn losses(&self, targets: &[i32], acts: &mut Activations<R>, stop: &StopFlag) -> Result<Outcome, SimError> {
        let Activations { norm_f, logits, losses, lse, .. } = acts;
        self.head().losses(norm_f, targets, LossRows { logits, losses, lse }, stop)
    }

    /// Losses of all tokens, and the gradients of their sum times `scale`, added to `gradient`.
    pub fn backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        gradient: &mut [R],
        stop: &StopFlag,
    ) -> Result<Outcome, SimError> {
        let (n, width) = (input.extent.n_tokens(), self.config.width);
        if self.head_backward(input, acts, gradient, stop)? == Outcome::Stopped {
            return Ok(Outcome::Stopped);
        }
        if let Some(ln_f) = self.layout.ln_f {
            // The gradient of the norm's output is in `d[1]`, that of its input begins at 0.
            let [d, dy] = &mut acts.d;
            d[..n * width].fill(R::zero());
            let (x, stats) = (&acts.last[..n * width], &acts.stats_f[..2 * n]);
            self.norm_backward(ln_f, &dy[..n * width], x, stats, &mut d[..n * width], gradient)?;
        } else {
            acts.d.swap(0, 1);
        }
        for b in (0..self.config.layers).rev() {
            if stop.is_raised() {
                return Ok(Outcome::Stopped);
            }
            // Nothing from the embedding to this block is trained.
            if input.frozen.get(..=Layer::Block(b).index(self.config.layers)).is_some_and(|f| f.iter().all(|f| *f)) {
                return Ok(Outcome::Done);
            }
            self.block_backward(b, input, acts, gradient)?;
        }
        if self.is_frozen(input, self.layout.wte) {
            return Ok(Outcome::Done);
        }
        let d = &mut acts.d[0][..n * width];
        if let Some(noise) = input.noise {
            noise.drop(DropSite::Embedding, width, d)?;
        }
        let op = Embedding::new(n, self.config.padded_vocab(), width, input.extent.seq_len.max(1));
        let ids = self.layout.wpe.and(input.extent.positions);
        let (table, wpe) = (self.layout.map.view(self.layout.wte).range(), self.layout.wpe);
        let (before, after) = gradient.split_at_mut(table.end);
        let positions = wpe.map(|wpe| {
            let range = self.layout.map.view(wpe).range();
            &mut after[range.start - table.end..range.end - table.end]
        });
        embedding::backward(&op, input.tokens, d, &mut before[table], positions, ids).map_err(refused)?;
        Ok(Outcome::Done)
    }

    /// Losses, gradients of the matrix of logits, and in `d[1]` those of its input.
    fn head_backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        gradient: &mut [R],
        stop: &StopFlag,
    ) -> Result<Outcome, SimError> {
        let Activations { norm_f, logits, losses, lse, d: [_, dx], .. } = acts;
        let (of, rows) = ((input.targets, input.scale), LossRows { logits, losses, lse });
        let head = self.layout.head();
        let dweight = if self.is_frozen(input, head) { None } else { Some(self.part(gradient, head)) };
        self.head().backward(norm_f, of, rows, dx, dweight, stop)
    }

    /// Replaces the gradient of a block's output in `d[0]` by that of its input.
    fn block_backward(
        &self,
        b: usize,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (n, c, block) = (input.extent.n_tokens(), &self.config, self.layout.blocks[b]);
        let (width, is_pre) = (c.width, c.placement == NormPlacement::Pre);
        let Activations { blocks, d, branch, dqkv, dfc, dhidden, .. } = acts;
        let a = &blocks[b];
        let [d, other] = d;
        let (mut d, mut other) = (&mut d[..n * width], &mut other[..n * width]);
        let branch = &mut branch[..n * width];
        if !is_pre {
            other.fill(R::zero());
            let (x, stats) = (&a.sum[..n * width], &a.stats_2[..2 * n]);
            self.norm_backward(block.ln_2, d, x, stats, other, gradient)?;
            std::mem::swap(&mut d, &mut other);
        }
        self.feed_forward_backward(b, input, a, d, (branch, dfc, dhidden), other, gradient)?;
        // `other` is the gradient of the input of the first matrix.
        if is_pre {
            let (x, stats) = (&a.mid[..n * width], &a.stats_2[..2 * n]);
            self.norm_backward(block.ln_2, other, x, stats, d, gradient)?;
        } else {
            d.iter_mut().zip(&*other).for_each(|(d, other)| *d += *other);
            other.fill(R::zero());
            let (x, stats) = (&a.mid[..n * width], &a.stats_1[..2 * n]);
            self.norm_backward(block.ln_1, d, x, stats, other, gradient)?;
            std::mem::swap(&mut d, &mut other);
        }
        self.attention_backward(b, input, a, d, (branch, dqkv), other, gradient)?;
        if is_pre {
            let (x, stats) = (&a.input[..n * width], &a.stats_1[..2 * n]);
            self.norm_backward(block.ln_1, other, x, stats, d, gradient)
        } else {
            // Swapped twice: `d` is the first buffer again.
            d.iter_mut().zip(&*other).for_each(|(d, other)| *d += *other);
            Ok(())
        }
    }

    /// Of the gradient `d` of the sum behind the feed-forward layer, that of its input in `dx`.
    #[expect(clippy::too_many_arguments, reason = "buffers of one step of the pass")]
    fn feed_forward_backward(
        &self,
        b: usize,
        input: &BackwardInput<'_, R>,
        a: &BlockActivations<R>,
        d: &[R],
        (branch, dfc, dhidden): (&mut [R], &mut [R], &mut [R]),
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (n, c, block) = (input.extent.n_tokens(), &self.config, self.layout.blocks[b]);
        let d = self.dropped(DropSite::FeedForward(b), input.noise, d, branch)?;
        let (hidden, fc) = (&a.hidden[..n * c.hidden], &a.fc[..n * c.fc_width()]);
        let (dfc, dhidden) = (&mut dfc[..n * c.fc_width()], &mut dhidden[..n * c.hidden]);
        self.linear_backward(input, block.mlp_proj, d, hidden, dhidden, gradient)?;
        activation::backward(self.activation(), n, c.hidden, fc, dhidden, dfc).map_err(refused)?;
        let is_pre = c.placement == NormPlacement::Pre;
        let x = if is_pre { &a.norm_2 } else { &a.norm_1 };
        self.linear_backward(input, block.fc, dfc, &x[..n * c.width], dx, gradient)
    }

    /// Of the gradient `d` of the sum behind attention, that of its input in `dx`.
    #[expect(clippy::too_many_arguments, reason = "buffers of one step of the pass")]
    fn attention_backward(
        &self,
        b: usize,
        input: &BackwardInput<'_, R>,
        a: &BlockActivations<R>,
        d: &[R],
        (branch, dqkv): (&mut [R], &mut [R]),
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (extent, c, block) = (input.extent, &self.config, self.layout.blocks[b]);
        let n = extent.n_tokens();
        let (attended, qkv) = (&a.attention[..n * c.width], &a.qkv[..n * c.qkv_width()]);
        let dqkv = &mut dqkv[..n * c.qkv_width()];
        let d = self.dropped(DropSite::Attention(b), input.noise, d, branch)?;
        // The gradient of attention's output goes where that of its input will be.
        self.linear_backward(input, block.attn_proj, d, attended, dx, gradient)?;
        let dropout = input.noise.and_then(|noise| noise.of_attention(b, c.context));
        let op = Attention { dropout, ..self.attention(extent) };
        let lengths = extent.offsets.or(extent.lens);
        let inputs = Inputs::packed(qkv).lengths(lengths, lengths);
        let known = (attended, &a.lse[..op.lse_len()]);
        attention::cpu::backward(&op, &inputs, known, dx, Gradients::Packed(dqkv), None).map_err(refused)?;
        self.rotate((extent.seq_len, 0), extent.positions, dqkv, true)?;
        let is_pre = c.placement == NormPlacement::Pre;
        let x = if is_pre { &a.norm_1 } else { &a.input };
        self.linear_backward(input, block.qkv, dqkv, &x[..n * c.width], dx, gradient)
    }

    /// The gradient before dropout: `d` itself without dropout.
    fn dropped<'d>(
        &self,
        site: DropSite,
        noise: Option<&Noise>,
        d: &'d [R],
        branch: &'d mut [R],
    ) -> Result<&'d [R], SimError> {
        let Some(noise) = noise else { return Ok(d) };
        if noise.p <= 0.0 {
            return Ok(d);
        }
        branch.copy_from_slice(d);
        noise.drop(site, self.config.width, branch)?;
        Ok(branch)
    }

    /// `dx = dy W`, `dW += dyᵀ x`, `db += Σ dy`; of a frozen layer `dx` alone.
    fn linear_backward(
        &self,
        input: &BackwardInput<'_, R>,
        linear: Linear,
        dy: &[R],
        x: &[R],
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(linear.weight).shape[..] else { return Err(refused("no matrix")) };
        let rows = dy.len() / outputs;
        let by_weight = Gemm::new(rows, inputs, outputs);
        gemm(&by_weight, dy, self.weight(linear.weight), dx, Epilogue::None).map_err(refused)?;
        if self.is_frozen(input, linear.weight) {
            return Ok(());
        }
        let by_input = Gemm::new(outputs, inputs, rows).transposed_a().scaled(R::one(), R::one());
        gemm(&by_input, dy, x, self.part(gradient, linear.weight), Epilogue::None).map_err(refused)?;
        if let Some(bias) = linear.bias {
            bias_gradient(rows, outputs, dy, self.part(gradient, bias)).map_err(refused)?;
        }
        Ok(())
    }

    fn norm_backward(
        &self,
        of: Norm,
        dy: &[R],
        x: &[R],
        stats: &[R],
        dx: &mut [R],
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let op = self.norm_op(x.len() / self.config.width);
        let weight = self.layout.map.view(of.weight).range();
        let (before, after) = gradient.split_at_mut(weight.end);
        let bias = of.bias.map(|bias| {
            let range = self.layout.map.view(bias).range();
            &mut after[range.start - weight.end..range.end - weight.end]
        });
        norm::backward(&op, dy, x, self.weight(of.weight), stats, dx, &mut before[weight], bias).map_err(refused)
    }
}
