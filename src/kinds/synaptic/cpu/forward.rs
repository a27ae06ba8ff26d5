//! CPU implementation of the operations of the [forward pass](crate::kinds::synaptic::network::Forward).

use super::{
    activations::{Activations, BlockActivations, Head, Shared},
    decoder::Cache,
    heads::{Heads, Rows},
    network::{Extent, Network, of_experts, refused},
    plastic::{MixtureTokens, Plastic},
};
use crate::{
    gpu::{Pass, StopFlag},
    kinds::{
        language::{
            backend::Outcome,
            cpu::{go_on, head::LossRows, outcome, outcome_of},
        },
        synaptic::{
            experts,
            network::{self, Forward},
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

/// Addresses of the random draws of a training step.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// Seed of the model.
    pub seed: u64,
    /// Index of the step.
    pub step: u64,
    /// Number of sequences of the step before this micro-batch.
    pub first: usize,
    /// Total number of sequences of the step.
    pub sequences: usize,
}

/// A pass over a batch.
pub struct Run<'a, R> {
    /// Weights, routers and sizes of the model.
    pub network: &'a Network<R>,
    /// Token ids, `[tokens]`.
    pub tokens: &'a [u32],
    /// Target ids, `[tokens]`, for losses.
    pub targets: &'a [i32],
    /// Number and length of the sequences.
    pub extent: Extent,
    /// Addresses of the random draws of release in training; `None` for a pass without draws.
    pub noise: Option<&'a Noise>,
    /// Number of cached tokens, and the cache of each block; `None` for a pass without cache.
    pub cache: Option<(usize, &'a mut [Cache<R>])>,
    /// Memory that the tokens of a text write; `None` without plasticity.
    pub plastic: Option<&'a mut Plastic<R>>,
    /// Gradients of the loss with respect to the loss of one target, and to the auxiliary loss of a block.
    pub scales: (R, f64),
    /// First-order contributions of experts, accumulated, `[L, E]`.
    pub contributions: &'a mut [f64],
    /// Stop flag, checked between operations.
    pub stop: StopFlag,
    /// Pass that collects the times of the operations.
    pub pass: &'a mut Pass,
}

impl<'a, R: Real + Default> Run<'a, R> {
    /// Creates a pass without targets, random draws and cache.
    pub fn new(network: &'a Network<R>, tokens: &'a [u32], extent: Extent, pass: &'a mut Pass) -> Self {
        let (scales, stop) = ((R::zero(), 0.0), pass.stop.clone());
        let (targets, contributions): (&[i32], &mut [f64]) = (&[], &mut []);
        Self {
            network,
            tokens,
            targets,
            extent,
            noise: None,
            cache: None,
            plastic: None,
            scales,
            contributions,
            stop,
            pass,
        }
    }
}

impl<R: Real + Default> Network<R> {
    /// Computes the activations of tokens up to the input of the logits. Release is random only with `noise`. Checks the
    /// stop flag between operations.
    pub fn forward(
        &self,
        tokens: &[u32],
        extent: Extent,
        noise: Option<&Noise>,
        acts: &mut Activations<R>,
        pass: &mut Pass,
    ) -> Result<Outcome, SimError> {
        acts.reserve(&self.config, extent, Heads::<R>::has_factor(&self.dynamics.presynaptic))?;
        let Activations { streams, blocks, shared, head, .. } = acts;
        let mut streams = rows(streams, extent.n_tokens() * self.config.width);
        let mut run = Run { noise, ..Run::new(self, tokens, extent, pass) };
        let done = network::forward(&mut run, &mut streams, blocks, shared);
        let last = &*streams[self.config.layers];
        outcome(done.and_then(|()| run.section("norm", |run| run.last_norm(last, head, shared))))
    }

    /// Looks up the embeddings of tokens. Fails if a token is out of range.
    pub fn embed(&self, tokens: &[u32], y: &mut [R]) -> Result<(), SimError> {
        let op = Embedding::new(tokens.len(), self.config.padded_vocab(), self.config.width, tokens.len().max(1));
        embedding::forward(&op, tokens, self.weight(self.layout.wte), None, None, y).map_err(refused)
    }

    /// Returns the scales of the logits of all query heads of a block.
    pub fn head_scales(&self, block: usize) -> Vec<R> {
        (0..self.config.heads).map(|head| self.head_scale(block, head)).collect()
    }

    /// Returns the release mechanism, which is deterministic without `noise`.
    pub fn presynaptic(&self, noise: Option<&Noise>) -> Presynaptic {
        let op = self.dynamics.presynaptic;
        if noise.is_some() { op } else { Presynaptic { release: Release::Deterministic, ..op } }
    }

    /// Returns the addresses of the random draws of the first head of a block; `None` without `noise`.
    pub fn draws(&self, block: usize, noise: Option<&Noise>) -> Option<Draws> {
        noise.map(|noise| Draws {
            seed: noise.seed,
            step: noise.step,
            head: ((block * noise.sequences + noise.first) * self.config.heads) as u32,
        })
    }

    /// Returns the attention operation over all heads of a block.
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

    /// Rotates `x` (`[tokens, heads D]`) in place by its positions, then computes `y = x / rms(x)` for each head. Fails if
    /// the sizes do not match.
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
}

/// Returns the first `len` elements of each buffer.
pub fn rows<R>(buffers: &mut [Vec<R>], len: usize) -> Vec<&mut [R]> {
    buffers.iter_mut().map(|buffer| &mut buffer[..len]).collect()
}

impl<R: Real + Default> Forward for Run<'_, R> {
    type Error = SimError;
    type Stream = [R];
    type Block<'f> = BlockActivations<R>;
    type Shared<'f> = Shared<R>;
    type Head<'f> = Head<R>;
    type Logits = [R];

    fn section(
        &mut self,
        name: &'static str,
        work: impl FnOnce(&mut Self) -> Result<(), SimError>,
    ) -> Result<(), SimError> {
        let (items, mut pass) = (self.extent.n_tokens() as u64, std::mem::take(self.pass));
        let done = pass.span(name, items, || work(self));
        *self.pass = pass;
        done
    }

    fn embed(&mut self, y: &mut [R]) -> Result<(), SimError> {
        self.network.embed(self.tokens, y)
    }

    fn first_norm(
        &mut self,
        b: usize,
        input: &[R],
        a: &mut BlockActivations<R>,
        _: &mut Shared<R>,
    ) -> Result<(), SimError> {
        let (network, n) = (self.network, self.extent.n_tokens());
        let x = &mut a.norm_1[..n * network.config.width];
        network.norm(network.layout.blocks[b].ln_1, input, x, &mut a.stats_1[..2 * n])
    }

    fn project(&mut self, b: usize, a: &mut BlockActivations<R>, _: &mut Shared<R>) -> Result<(), SimError> {
        let (network, n, stop) = (self.network, self.extent.n_tokens(), &self.stop);
        let (block, width, kv) = (network.layout.blocks[b], network.config.width, network.config.kv_width());
        let x = &a.norm_1[..n * width];
        network.linear_of_batch(block.q, x, &mut a.q_in[..n * width], None, stop)?;
        network.linear_of_batch(block.k, x, &mut a.k_in[..n * kv], None, stop)?;
        network.linear_of_batch(block.v, x, &mut a.v[..n * kv], None, stop)
    }

    fn attend(&mut self, b: usize, a: &mut BlockActivations<R>, s: &mut Shared<R>) -> Result<(), SimError> {
        let (network, extent) = (self.network, self.extent);
        let (n, c) = (extent.n_tokens(), &network.config);
        let (width, kv) = (c.width, c.kv_width());
        let (q, k, v) = (&mut a.q[..n * width], &mut a.k[..n * kv], &a.v[..n * kv]);
        let position = (extent.seq_len, self.cache.as_ref().map_or(0, |(known, _)| *known));
        self.section("rope", |_| {
            let (q_in, k_in) = (&mut a.q_in[..n * width], &mut a.k_in[..n * kv]);
            network.normalize_heads(position, c.heads, q_in, q, &mut a.stats_q[..2 * n * c.heads])?;
            network.normalize_heads(position, c.kv_heads, k_in, k, &mut a.stats_k[..2 * n * c.kv_heads])
        })?;
        let (by_head, attended) = (&mut s.by_head[..n * width], &mut a.attention[..n * width]);
        if let Some((known, caches)) = &mut self.cache {
            return caches[b].attend(network, b, *known, Rows { q, k, v }, by_head, attended);
        }
        let (scales, presynaptic) = (network.head_scales(b), network.presynaptic(self.noise));
        let heads = network.heads(extent, (&scales, &presynaptic), network.draws(b, self.noise), &self.stop);
        let heads = Heads { profiled: self.pass.profiled, ..heads };
        let edges = extent.n_edges(c.heads);
        let factor = if a.factor.is_empty() { &mut [] } else { &mut a.factor[..edges] };
        let timings = heads.forward(Rows { q, k, v }, &mut a.probabilities[..edges], factor, by_head, attended)?;
        timings.iter().for_each(|timing| self.pass.note(timing));
        Ok(())
    }

    fn project_output(&mut self, b: usize, input: &[R], a: &mut BlockActivations<R>) -> Result<(), SimError> {
        let (network, rows) = (self.network, input.len());
        let (x, y) = (&a.attention[..rows], &mut a.mid[..rows]);
        network.linear_of_batch(network.layout.blocks[b].o, x, y, Some(input), &self.stop)
    }

    fn second_norm(&mut self, b: usize, a: &mut BlockActivations<R>) -> Result<(), SimError> {
        let (network, n) = (self.network, self.extent.n_tokens());
        let rows = n * network.config.width;
        let (x, stats) = (&a.mid[..rows], &mut a.stats_2[..2 * n]);
        network.norm(network.layout.blocks[b].ln_2, x, &mut a.norm_2[..rows], stats)
    }

    fn route(&mut self, b: usize, a: &mut BlockActivations<R>) -> Result<(), SimError> {
        go_on(&self.stop)?;
        let network = self.network;
        let x = &a.norm_2[..self.extent.n_tokens() * network.config.width];
        let (router, state) = (&network.dynamics.router, &network.routers[b]);
        experts::forward(router, x, network.router_weights(b), state, &mut a.routing).map_err(refused)
    }

    fn mix(&mut self, b: usize, a: &mut BlockActivations<R>, output: &mut [R]) -> Result<(), SimError> {
        let (network, rows) = (self.network, output.len());
        output.copy_from_slice(&a.mid[..rows]);
        network
            .mixture()
            .forward(&a.norm_2[..rows], &a.routing, network.expert_weights(b), &mut a.mixture, output, &self.stop)
            .map_err(of_experts)
    }

    fn write_memory(&mut self, b: usize, a: &mut BlockActivations<R>, output: &mut [R]) -> Result<(), SimError> {
        let rows = output.len();
        let Some(plastic) = &mut self.plastic else { return Ok(()) };
        let at = MixtureTokens { input: &a.norm_2[..rows], residual: &a.mid[..rows], output, routing: &a.routing };
        plastic.step(b, at)
    }

    fn last_norm(&mut self, x: &[R], head: &mut Head<R>, _: &mut Shared<R>) -> Result<(), SimError> {
        let y = &mut head.norm_f[..x.len()];
        self.network.norm(self.network.layout.ln_f, x, y, &mut head.stats_f[..2 * self.extent.n_tokens()])
    }

    fn losses(&mut self, head: &mut Head<R>) -> Result<(), SimError> {
        let Head { norm_f, logits, losses, lse, .. } = head;
        outcome_of(self.network.head().losses(norm_f, self.targets, LossRows { logits, losses, lse }, &self.stop)?)
    }

    fn logits(&mut self, head: &Head<R>, logits: &mut [R]) -> Result<(), SimError> {
        self.network.logits(&head.norm_f[..self.extent.n_tokens() * self.network.config.width], logits)
    }
}
