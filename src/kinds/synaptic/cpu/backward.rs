//! CPU implementation of the loss and of the operations of the [backward pass](crate::kinds::synaptic::network::Backward).

use super::{
    activations::{Activations, BlockActivations, Gradients, Head, Shared},
    forward::{Noise, Run, rows},
    heads::Rows,
    network::{Extent, Network, of_experts, parts_mut, refused},
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::{
            backend::Outcome,
            cpu::{go_on, head::LossRows, multiply, outcome, outcome_of},
        },
        synaptic::{
            experts::{self, ExpertGradients, RouterGradients},
            model::Norm,
            network::{self, Backward, Forward as _},
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

/// Inputs of the gradient computation of a batch.
pub struct BackwardInput<'a, R> {
    /// Token ids, `[tokens]`.
    pub tokens: &'a [u32],
    /// Target ids, `[tokens]`.
    pub targets: &'a [i32],
    /// Number and length of the sequences.
    pub extent: Extent,
    /// Addresses of the random draws; `None` for a pass without draws.
    pub noise: Option<&'a Noise>,
    /// Gradient of the loss with respect to the loss of one target.
    pub scale: R,
    /// Gradient of the loss with respect to the auxiliary loss of a block.
    pub aux_weight: f64,
}

impl<R: Real + Default> Network<R> {
    fn part<'g>(&self, gradient: &'g mut [R], id: ViewId) -> &'g mut [R] {
        &mut gradient[self.layout.map.view(id).range()]
    }

    /// Computes the losses of all tokens from the activations of [`Network::forward`]. Fails if the sizes do not match.
    pub fn losses(&self, targets: &[i32], acts: &mut Activations<R>, stop: &StopFlag) -> Result<Outcome, SimError> {
        let (mut pass, extent) = (Pass::default(), Extent { sequences: 1, seq_len: targets.len() });
        let mut run = Run { targets, stop: stop.clone(), ..Run::new(self, &[], extent, &mut pass) };
        outcome(run.losses(&mut acts.head))
    }

    /// Computes the losses of all tokens, and adds the gradients of `scale` times their sum plus the weighted auxiliary
    /// losses to `gradient`. Adds the first-order contributions of experts to `contributions` (`[L, E]`). Fails if the
    /// sizes do not match.
    pub fn backward(
        &self,
        input: &BackwardInput<'_, R>,
        acts: &mut Activations<R>,
        (gradient, contributions): (&mut [R], &mut [f64]),
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        let BackwardInput { tokens, targets, extent, noise, scale, aux_weight } = *input;
        let run = Run::new(self, tokens, extent, pass);
        let mut run = Run { targets, noise, scales: (scale, aux_weight), contributions, ..run };
        let Activations { streams, blocks, shared: s, head, gradients: t } = acts;
        let streams = rows(streams, extent.n_tokens() * self.config.width);
        let done = network::loss_backward(&mut run, streams[self.config.layers], head, t, gradient);
        outcome(done.and_then(|()| network::blocks_backward(&mut run, &streams, blocks, s, t, gradient)))
    }

    /// Adds the gradients of the temperatures. The gradient of the scale s = temperature / sqrt(D) is `Σ q dq / s`, so the
    /// gradient of the temperature is `Σ q dq / temperature`.
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

    /// Backpropagates `dy`, the gradient of the normalised heads, through norm and rotation to `dx`. Fails if the sizes do
    /// not match.
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

    /// Computes `dx = dy W + beta dx` and `dW += dyᵀ x`. Fails if the sizes do not match or the pass is stopped.
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

    /// Backpropagates through a LayerNorm. Adds to `dx` and to the gradients of the parameters of the norm. Fails if the
    /// sizes do not match.
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

impl<R: Real + Default> Backward for Run<'_, R> {
    type Gradient = [R];
    type Gradients<'f> = Gradients<R>;

    fn head_backward(&mut self, head: &mut Head<R>, t: &mut Gradients<R>, gradient: &mut [R]) -> Result<(), SimError> {
        let (network, Head { norm_f, logits, losses, lse, .. }) = (self.network, head);
        let (of, rows) = ((self.targets, self.scales.0), LossRows { logits, losses, lse });
        let dweight = Some(network.part(gradient, network.layout.lm_head));
        outcome_of(network.head().backward(norm_f, of, rows, &mut t.d_norm, dweight, &self.stop)?)
    }

    fn last_norm_backward(
        &mut self,
        last: &[R],
        head: &Head<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (rows, stats) = (last.len(), &head.stats_f[..2 * self.extent.n_tokens()]);
        let (d, dy) = (&mut t.d[..rows], &t.d_norm[..rows]);
        d.fill(R::zero());
        self.network.norm_backward(self.network.layout.ln_f, dy, last, stats, d, gradient)
    }

    fn mixture_backward(
        &mut self,
        b: usize,
        a: &mut BlockActivations<R>,
        _: &mut Shared<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, n) = (self.network, self.extent.n_tokens());
        let (c, block) = (&network.config, network.layout.blocks[b]);
        let Gradients { d, d_norm, d_gates, router: work, .. } = t;
        let (d, dx, d_gates) = (&d[..n * c.width], &mut d_norm[..n * c.width], &mut d_gates[..n * c.top_k]);
        dx.fill(R::zero());
        let range = |view| network.layout.map.view(view).range();
        let views = [block.router, block.probe, block.fc1, block.fc1_bias, block.fc2, block.fc2_bias];
        let [router, probe, fc1_weight, fc1_bias, fc2_weight, fc2_bias] = parts_mut(gradient, views.map(range));
        let gradients = ExpertGradients { fc1_weight, fc1_bias, fc2_weight, fc2_bias };
        let weights = network.expert_weights(b);
        network
            .mixture()
            .backward(&a.routing, weights, &mut a.mixture, d, dx, gradients, d_gates, &self.stop)
            .map_err(of_experts)?;
        go_on(&self.stop)?;
        experts::contribution(&a.routing, d_gates, &mut self.contributions[b * c.experts..][..c.experts]);
        let gradients = RouterGradients { router, probe, genome: None };
        let losses = (&*d_gates, self.scales.1);
        let (op, x) = (&network.dynamics.router, &a.norm_2[..n * c.width]);
        experts::backward(op, x, network.router_weights(b), &a.routing, losses, work, dx, gradients).map_err(refused)
    }

    fn second_norm_backward(
        &mut self,
        b: usize,
        a: &BlockActivations<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, n) = (self.network, self.extent.n_tokens());
        let rows = n * network.config.width;
        let (dy, x, stats) = (&t.d_norm[..rows], &a.mid[..rows], &a.stats_2[..2 * n]);
        network.norm_backward(network.layout.blocks[b].ln_2, dy, x, stats, &mut t.d[..rows], gradient)
    }

    fn output_backward(
        &mut self,
        b: usize,
        a: &BlockActivations<R>,
        _: &mut Shared<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, rows) = (self.network, self.extent.n_tokens() * self.network.config.width);
        let (d, dy, x) = (&t.d[..rows], &mut t.d_attention[..rows], &a.attention[..rows]);
        network.linear_backward(network.layout.blocks[b].o, d, x, (dy, R::zero()), (gradient, &self.stop))
    }

    fn attend_backward(
        &mut self,
        b: usize,
        a: &BlockActivations<R>,
        s: &mut Shared<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, extent) = (self.network, self.extent);
        let (n, c) = (extent.n_tokens(), &network.config);
        let (width, kv) = (c.width, c.kv_width());
        let Gradients { d_attention, d_heads: [dq, other], .. } = t;
        let (scales, presynaptic) = (network.head_scales(b), network.presynaptic(self.noise));
        let heads = network.heads(extent, (&scales, &presynaptic), None, &self.stop);
        let edges = extent.n_edges(c.heads);
        let known = (&a.probabilities[..edges], if a.factor.is_empty() { &[][..] } else { &a.factor[..edges] });
        let x = Rows { q: &a.q[..n * width], k: &a.k[..n * kv], v: &a.v[..n * kv] };
        let dq = &mut dq[..n * width];
        let (dk, dv) = other[..2 * n * kv].split_at_mut(n * kv);
        let scratch = (&mut s.by_head[..n * width], &mut s.kv_by_head[..2 * n * kv]);
        heads.backward(x, &d_attention[..n * width], known, scratch, [&mut *dq, dk, dv])?;
        if let Some(temperature) = network.layout.blocks[b].temperature {
            network.temperature_backward(b, x.q, dq, network.part(gradient, temperature));
        }
        Ok(())
    }

    fn project_backward(
        &mut self,
        b: usize,
        a: &BlockActivations<R>,
        _: &mut Shared<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, extent, stop) = (self.network, self.extent, &self.stop);
        let (n, c, block) = (extent.n_tokens(), &network.config, network.layout.blocks[b]);
        let (width, kv) = (c.width, c.kv_width());
        let Gradients { d_norm, d_attention, d_heads: [dq, other], .. } = t;
        let (dx, dq) = (&mut d_norm[..n * width], &dq[..n * width]);
        let (dk, dv) = other[..2 * n * kv].split_at(n * kv);
        let x = &a.norm_1[..n * width];
        // The gradient of attention's output is no longer needed: its buffer receives the gradients of the inputs of the
        // norms.
        let before = &mut d_attention[..n * width];
        let q_in = (&a.q_in[..n * width], &a.stats_q[..2 * n * c.heads]);
        network.heads_backward(extent.seq_len, c.heads, dq, q_in, before)?;
        network.linear_backward(block.q, before, x, (&mut *dx, R::zero()), (&mut *gradient, stop))?;
        let before = &mut d_attention[..n * kv];
        let k_in = (&a.k_in[..n * kv], &a.stats_k[..2 * n * c.kv_heads]);
        network.heads_backward(extent.seq_len, c.kv_heads, dk, k_in, before)?;
        network.linear_backward(block.k, before, x, (&mut *dx, R::one()), (&mut *gradient, stop))?;
        network.linear_backward(block.v, dv, x, (dx, R::one()), (gradient, stop))
    }

    fn first_norm_backward(
        &mut self,
        b: usize,
        input: &[R],
        a: &BlockActivations<R>,
        t: &mut Gradients<R>,
        gradient: &mut [R],
    ) -> Result<(), SimError> {
        let (network, rows) = (self.network, input.len());
        let (dy, stats) = (&t.d_norm[..rows], &a.stats_1[..2 * self.extent.n_tokens()]);
        network.norm_backward(network.layout.blocks[b].ln_1, dy, input, stats, &mut t.d[..rows], gradient)
    }

    fn embedding_backward(&mut self, t: &mut Gradients<R>, gradient: &mut [R]) -> Result<(), SimError> {
        let (network, n) = (self.network, self.extent.n_tokens());
        let op = Embedding::new(n, network.config.padded_vocab(), network.config.width, n.max(1));
        let table = network.part(gradient, network.layout.wte);
        embedding::backward(&op, self.tokens, &t.d[..n * network.config.width], table, None, None).map_err(refused)
    }
}
