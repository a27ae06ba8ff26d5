//! The loss and the backward pass. Gradients of parameters are added to.

use super::{
    activations::{Activations, BlockActivations},
    forward::Noise,
    heads::Rows,
    network::{Extent, Network, of_experts, parts_mut, refused},
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::{
            backend::Outcome,
            cpu::{go_on, head::LossRows, multiply, outcome},
        },
        synaptic::{
            experts::{self, ExpertGradients, RouterGradients},
            model::Norm,
        },
    },
    nn::{
        embedding::{self, Embedding},
        gemm::Gemm,
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
    pub extent: Extent,
    /// Random draws.
    pub noise: Option<&'a Noise>,
    /// Gradient of the loss of each target.
    pub scale: R,
    /// Gradient of the auxiliary loss of each block.
    pub aux_weight: f64,
}

impl<R: Real + Default> Network<R> {
    fn part<'g>(&self, gradient: &'g mut [R], id: ViewId) -> &'g mut [R] {
        &mut gradient[self.layout.map.view(id).range()]
    }

    /// Losses of all tokens, from activations of [`Network::forward`].
    pub fn losses(&self, targets: &[i32], acts: &mut Activations<R>, stop: &StopFlag) -> Result<Outcome, SimError> {
        let Activations { norm_f, logits, losses, lse, .. } = acts;
        self.head().losses(norm_f, targets, LossRows { logits, losses, lse }, stop)
    }

    /// Losses of all tokens, and the gradients of their sum times `scale` plus the auxiliary losses, added to `gradient`.
    /// First-order contributions of experts are added to `contributions` (`[L, E]`).
    pub fn backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        (gradient, contributions): (&mut [R], &mut [f64]),
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        outcome(self.pass_backward(input, acts, (gradient, contributions), pass))
    }

    fn pass_backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        (gradient, contributions): (&mut [R], &mut [f64]),
        pass: &mut Pass,
    ) -> Result<(), SimError> {
        let (n, width) = (input.extent.n_tokens(), self.config.width);
        let (items, stop) = (n as u64, &pass.stop.clone());
        pass.span("head and loss", items, || self.head_backward(input, acts, gradient, stop))?;
        let d = &mut acts.d[..n * width];
        d.fill(R::zero());
        let (x, stats) = (&acts.last[..n * width], &acts.stats_f[..2 * n]);
        self.norm_backward(self.layout.ln_f, &acts.d_norm[..n * width], x, stats, d, gradient)?;
        for b in (0..self.config.layers).rev() {
            let to = &mut contributions[b * self.config.experts..][..self.config.experts];
            pass.span("experts backward", items, || self.mixture_backward(b, input, acts, (&mut *gradient, to), stop))?;
            pass.span("attention backward", items, || self.attention_backward(b, input, acts, gradient, stop))?;
        }
        let op = Embedding::new(n, self.config.padded_vocab(), width, n.max(1));
        let table = self.part(gradient, self.layout.wte);
        embedding::backward(&op, input.tokens, &acts.d[..n * width], table, None, None).map_err(refused)
    }

    /// Losses, gradients of the matrix of logits, and in `d_norm` those of its input.
    fn head_backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        gradient: &mut [R],
        stop: &StopFlag,
    ) -> Result<(), SimError> {
        let Activations { norm_f, logits, losses, lse, d_norm, .. } = acts;
        let (of, rows) = ((input.targets, input.scale), LossRows { logits, losses, lse });
        match self.head().backward(norm_f, of, rows, d_norm, Some(self.part(gradient, self.layout.lm_head)), stop)? {
            Outcome::Done => Ok(()),
            Outcome::Stopped => Err(SimError::Cancelled),
        }
    }

    /// Adds to the gradient `d` of a block's output, which is that of `mid` through the residual, that through the experts.
    fn mixture_backward(
        &self,
        b: usize,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        (gradient, contributions): (&mut [R], &mut [f64]),
        stop: &StopFlag,
    ) -> Result<(), SimError> {
        let (n, c, block) = (input.extent.n_tokens(), &self.config, self.layout.blocks[b]);
        let Activations { blocks, d, d_norm, d_gates, router: work, .. } = acts;
        let a = &mut blocks[b];
        let (d, dx, d_gates) = (&mut d[..n * c.width], &mut d_norm[..n * c.width], &mut d_gates[..n * c.top_k]);
        dx.fill(R::zero());
        let range = |view| self.layout.map.view(view).range();
        let views = [block.router, block.probe, block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
        let [router, probe, fc1_weight, fc1_bias, fc2_weight, fc2_bias] = parts_mut(gradient, views.map(range));
        let gradients = ExpertGradients { fc1_weight, fc1_bias, fc2_weight, fc2_bias };
        self.mixture()
            .backward(&a.routing, self.expert_weights(b), &mut a.mixture, d, dx, gradients, d_gates, stop)
            .map_err(of_experts)?;
        go_on(stop)?;
        experts::contribution(&a.routing, d_gates, contributions);
        let gradients = RouterGradients { router, probe, genome: None };
        let losses = (&*d_gates, input.aux_weight);
        let (op, x) = (&self.dynamics.router, &a.norm_2[..n * c.width]);
        experts::backward(op, x, self.router_weights(b), &a.routing, losses, work, dx, gradients).map_err(refused)?;
        let (x, stats) = (&a.mid[..n * c.width], &a.stats_2[..2 * n]);
        self.norm_backward(block.ln_2, dx, x, stats, d, gradient)
    }

    /// Adds to the gradient `d` of `mid`, which is that of the block's input through the residual, that through attention.
    fn attention_backward(
        &self,
        b: usize,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        gradient: &mut [R],
        stop: &StopFlag,
    ) -> Result<(), SimError> {
        let (extent, c, block) = (input.extent, &self.config, self.layout.blocks[b]);
        let (n, width, kv) = (extent.n_tokens(), c.width, c.kv_width());
        let Activations { blocks, d, d_norm, d_attention, by_head, kv_by_head, d_heads: [dq, other], .. } = acts;
        let a: &BlockActivations<R> = &blocks[b];
        let (d, dx, dy) = (&mut d[..n * width], &mut d_norm[..n * width], &mut d_attention[..n * width]);
        self.linear_backward(block.o, d, &a.attention[..n * width], (&mut *dy, R::zero()), (&mut *gradient, stop))?;
        let (scales, presynaptic) = (self.head_scales(b), self.presynaptic(input.noise));
        let heads = self.heads(extent, (&scales, &presynaptic), None, stop);
        let edges = extent.n_edges(c.heads);
        let known = (&a.probabilities[..edges], if a.factor.is_empty() { &[][..] } else { &a.factor[..edges] });
        let x = Rows { q: &a.q[..n * width], k: &a.k[..n * kv], v: &a.v[..n * kv] };
        let dq = &mut dq[..n * width];
        let (dk, dv) = other[..2 * n * kv].split_at_mut(n * kv);
        let scratch = (&mut by_head[..n * width], &mut kv_by_head[..2 * n * kv]);
        heads.backward(x, dy, known, scratch, [&mut *dq, &mut *dk, &mut *dv])?;
        if let Some(temperature) = block.temperature {
            self.temperature_backward(b, x.q, dq, self.part(gradient, temperature));
        }
        // The gradient of attention's output is used up: its place is that of inputs of norms.
        let x = &a.norm_1[..n * width];
        let before = &mut dy[..n * width];
        let q_in = (&a.q_in[..n * width], &a.stats_q[..2 * n * c.heads]);
        self.heads_backward(extent.seq_len, c.heads, dq, q_in, before)?;
        self.linear_backward(block.q, before, x, (&mut *dx, R::zero()), (&mut *gradient, stop))?;
        let before = &mut dy[..n * kv];
        let k_in = (&a.k_in[..n * kv], &a.stats_k[..2 * n * c.kv_heads]);
        self.heads_backward(extent.seq_len, c.kv_heads, dk, k_in, before)?;
        self.linear_backward(block.k, before, x, (&mut *dx, R::one()), (&mut *gradient, stop))?;
        self.linear_backward(block.v, dv, x, (&mut *dx, R::one()), (&mut *gradient, stop))?;
        let (x, stats) = (&a.input[..n * width], &a.stats_1[..2 * n]);
        self.norm_backward(block.ln_1, dx, x, stats, d, gradient)
    }

    /// Of the factor s = temperature / sqrt(D) of logits: `Σ q dq / temperature`.
    fn temperature_backward(&self, b: usize, q: &[R], dq: &[R], gradient: &mut [R]) {
        let (d, width) = (self.config.head_dim(), self.config.width);
        let root = (d as f64).sqrt();
        for (head, gradient) in gradient.iter_mut().enumerate() {
            let of_token = |(q, dq): (&[R], &[R])| -> f64 {
                let range = head * d..(head + 1) * d;
                q[range.clone()].iter().zip(&dq[range]).map(|(q, dq)| q.f64() * dq.f64()).sum()
            };
            let sum: f64 = q.chunks_exact(width).zip(dq.chunks_exact(width)).map(of_token).sum();
            *gradient += R::of(sum / (self.head_scale(b, head).f64() * root));
        }
    }

    /// Of the gradient `dy` of normalised heads, that of their linear layer in `dx`.
    fn heads_backward(
        &self,
        seq_len: usize,
        heads: usize,
        dy: &[R],
        (x, stats): (&[R], &[R]),
        dx: &mut [R],
    ) -> Result<(), SimError> {
        dx.fill(R::zero());
        let op = self.head_norm_op(x.len() / self.config.head_dim());
        let mut unused = vec![R::zero(); self.config.head_dim()];
        norm::backward(&op, dy, x, &self.ones, stats, dx, &mut unused, None).map_err(refused)?;
        self.rotate((seq_len, 0), heads, dx, true)
    }

    /// `dx = dy W + beta dx`, `dW += dyᵀ x`. Looks at the stop flag.
    fn linear_backward(
        &self,
        weight: ViewId,
        dy: &[R],
        x: &[R],
        (dx, beta): (&mut [R], R),
        (gradient, stop): (&mut [R], &StopFlag),
    ) -> Result<(), SimError> {
        let [outputs, inputs] = self.layout.map.view(weight).shape[..] else { return Err(refused("no matrix")) };
        let rows = dy.len() / outputs;
        let by_weight = Gemm::new(rows, inputs, outputs).scaled(R::one(), beta);
        multiply(&by_weight, dy, self.weight(weight), dx, None, stop)?;
        let by_input = Gemm::new(outputs, inputs, rows).transposed_a().scaled(R::one(), R::one());
        multiply(&by_input, dy, x, self.part(gradient, weight), None, stop)
    }

    /// Adds the gradients of a LayerNorm.
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
        let ranges = [of.weight, of.bias].map(|view| self.layout.map.view(view).range());
        let [dweight, dbias] = parts_mut(gradient, ranges);
        norm::backward(&op, dy, x, self.weight(of.weight), stats, dx, dweight, Some(dbias)).map_err(refused)
    }
}
