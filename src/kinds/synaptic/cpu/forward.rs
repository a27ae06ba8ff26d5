//! The forward pass.

use super::{
    activations::{Activations, BlockActivations},
    heads::{Heads, Rows},
    network::{Extent, Network, of_experts, refused},
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::{
            backend::Outcome,
            cpu::{go_on, outcome},
        },
        synaptic::{
            experts,
            presynaptic::{Draws, Presynaptic, Release},
        },
    },
    nn::{
        embedding::{self, Embedding},
        norm,
        real::Real,
    },
    sim::SimError,
};

/// Where the random draws of a training step are.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Seed of the model.
    pub seed: u64,
    /// Number of the step.
    pub step: u64,
    /// Sequences of the step before these.
    pub first: usize,
    /// Sequences of the step.
    pub sequences: usize,
}

impl<R: Real + Default> Network<R> {
    /// Activations of tokens up to the input of the logits. Release is random with `noise` only. Looks at the stop
    /// flag between operations.
    pub fn forward(
        &self,
        tokens: &[u32],
        extent: Extent,
        noise: Option<&Noise>,
        acts: &mut Activations<R>,
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        outcome(self.pass_forward(tokens, extent, noise, acts, pass))
    }

    fn pass_forward(
        &self,
        tokens: &[u32],
        extent: Extent,
        noise: Option<&Noise>,
        acts: &mut Activations<R>,
        pass: &mut Pass,
    ) -> Result<(), SimError> {
        let (n, width) = (extent.n_tokens(), self.config.width);
        acts.reserve(&self.config, extent, Heads::<R>::has_factor(&self.dynamics.presynaptic))?;
        let items = n as u64;
        pass.span("embed", items, || self.embed(tokens, &mut acts.blocks[0].input[..n * width]))?;
        for b in 0..self.config.layers {
            let (before, after) = acts.blocks.split_at_mut(b + 1);
            let output = after.first_mut().map_or(&mut acts.last, |next| &mut next.input);
            let block = &mut before[b];
            self.attend(b, extent, noise, block, &mut acts.by_head[..n * width], pass)?;
            self.mix(b, n, block, &mut output[..n * width], pass)?;
        }
        let (x, y) = (&acts.last[..n * width], &mut acts.norm_f[..n * width]);
        self.norm(self.layout.ln_f, x, y, &mut acts.stats_f[..2 * n])
    }

    /// Vectors of tokens.
    pub fn embed(&self, tokens: &[u32], y: &mut [R]) -> Result<(), SimError> {
        let op = Embedding::new(tokens.len(), self.config.padded_vocab(), self.config.width, tokens.len().max(1));
        embedding::forward(&op, tokens, self.weight(self.layout.wte), None, None, y).map_err(refused)
    }

    /// Factors of the logits of all query heads of a block.
    pub fn head_scales(&self, block: usize) -> Vec<R> {
        (0..self.config.heads).map(|head| self.head_scale(block, head)).collect()
    }

    /// Release without random draws, unless there is `noise`.
    pub fn presynaptic(&self, noise: Option<&Noise>) -> Presynaptic {
        let op = self.dynamics.presynaptic;
        if noise.is_some() { op } else { Presynaptic { release: Release::Deterministic, ..op } }
    }

    /// The random draws of the first head of a block.
    pub fn draws(&self, block: usize, noise: Option<&Noise>) -> Option<Draws> {
        noise.map(|noise| Draws {
            seed: noise.seed,
            step: noise.step,
            head: ((block * noise.sequences + noise.first) * self.config.heads) as u32,
        })
    }

    /// `mid = input + o(attention(LN1 input))`
    fn attend(
        &self,
        b: usize,
        extent: Extent,
        noise: Option<&Noise>,
        a: &mut BlockActivations<R>,
        by_head: &mut [R],
        pass: &mut Pass,
    ) -> Result<(), SimError> {
        let (n, c, block) = (extent.n_tokens(), &self.config, self.layout.blocks[b]);
        let (width, kv) = (c.width, c.kv_width());
        let (input, x) = (&a.input[..n * width], &mut a.norm_1[..n * width]);
        let (items, stop) = (n as u64, &pass.stop.clone());
        pass.span("norm", items, || self.norm(block.ln_1, input, x, &mut a.stats_1[..2 * n]))?;
        let (q_in, k_in, v) = (&mut a.q_in[..n * width], &mut a.k_in[..n * kv], &mut a.v[..n * kv]);
        pass.span("qkv", items, || {
            self.linear_of_batch(block.q, x, q_in, None, stop)?;
            self.linear_of_batch(block.k, x, k_in, None, stop)?;
            self.linear_of_batch(block.v, x, v, None, stop)
        })?;
        let (q, k) = (&mut a.q[..n * width], &mut a.k[..n * kv]);
        let position = (extent.seq_len, 0);
        pass.span("rope", items, || {
            self.normalize_heads(position, c.heads, q_in, q, &mut a.stats_q[..2 * n * c.heads])?;
            self.normalize_heads(position, c.kv_heads, k_in, k, &mut a.stats_k[..2 * n * c.kv_heads])
        })?;
        let (scales, presynaptic) = (self.head_scales(b), self.presynaptic(noise));
        let heads = self.heads(extent, (&scales, &presynaptic), self.draws(b, noise), stop);
        let heads = Heads { profiled: pass.profiled, ..heads };
        let edges = extent.n_edges(c.heads);
        let factor = if a.factor.is_empty() { &mut [] } else { &mut a.factor[..edges] };
        let attended = &mut a.attention[..n * width];
        let probabilities = &mut a.probabilities[..edges];
        let timings = heads.forward(Rows { q, k, v }, probabilities, factor, by_head, attended)?;
        timings.iter().for_each(|timing| pass.note(timing));
        pass.span("projection", items, || {
            self.linear_of_batch(block.o, attended, &mut a.mid[..n * width], Some(input), stop)
        })
    }

    /// Attention of the heads of a block.
    pub const fn heads<'a>(
        &self,
        extent: Extent,
        (scales, presynaptic): (&'a [R], &'a Presynaptic),
        draws: Option<Draws>,
        stop: &'a StopFlag,
    ) -> Heads<'a, R> {
        let c = &self.config;
        Heads {
            extent,
            heads: c.heads,
            kv_heads: c.kv_heads,
            head_dim: c.head_dim(),
            scales,
            presynaptic,
            draws,
            profiled: false,
            stop,
        }
    }

    /// Rotates `x` (`[tokens, heads D]`) by its positions in place, then `y = x / rms(x)` by head.
    pub fn normalize_heads(
        &self,
        position: (usize, usize),
        heads: usize,
        x: &mut [R],
        y: &mut [R],
        stats: &mut [R],
    ) -> Result<(), SimError> {
        self.rotate(position, heads, x, false)?;
        let op = self.head_norm_op(x.len() / self.config.head_dim());
        norm::forward(&op, x, &self.ones, None, y, stats).map_err(refused)
    }

    /// `output = mid + mixture(LN2 mid)`
    fn mix(
        &self,
        b: usize,
        n: usize,
        a: &mut BlockActivations<R>,
        output: &mut [R],
        pass: &mut Pass,
    ) -> Result<(), SimError> {
        let (width, items) = (self.config.width, n as u64);
        let (mid, x) = (&a.mid[..n * width], &mut a.norm_2[..n * width]);
        pass.span("norm", items, || self.norm(self.layout.blocks[b].ln_2, mid, x, &mut a.stats_2[..2 * n]))?;
        let (router, state) = (&self.dynamics.router, &self.routers[b]);
        let stop = &pass.stop.clone();
        go_on(stop)?;
        pass.span("router", items, || {
            experts::forward(router, x, self.router_weights(b), state, &mut a.routing).map_err(refused)
        })?;
        output.copy_from_slice(mid);
        pass.span("experts", items, || {
            self.mixture()
                .forward(x, &a.routing, self.expert_weights(b), &mut a.mixture, output, stop)
                .map_err(of_experts)
        })
    }
}
