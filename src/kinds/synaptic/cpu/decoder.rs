//! Prediction of the next token with a cache of keys, values and the states of synapses.

use super::{
    heads::softmax,
    network::{Network, refused, zeros},
    plastic::{MixtureTokens, Plastic},
};
use crate::{
    gpu::StopFlag,
    kinds::{
        language::backend::Decoder,
        synaptic::{
            experts::{self, GENES, MixtureWork, Phenotype, Routing},
            postsynaptic::PlasticityRule,
            presynaptic::{self, KeyState, Presynaptic},
        },
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout, cpu::gemm},
        real::{Real, wide},
    },
    sim::SimError,
};
use rayon::prelude::*;

/// What a block remembers of a text.
struct Cache<R> {
    /// `[T, Hkv D]`
    keys: Vec<R>,
    /// `[T, Hkv D]`
    values: Vec<R>,
    /// Synapses of each query head.
    synapses: Vec<KeyState<R>>,
    /// Decisions for the tokens of the last call.
    routing: Routing<R>,
    mixture: MixtureWork<R>,
}

/// A cache. Tokens may be pushed in pieces of any length: the results are the same.
pub struct CpuDecoder<'a, R> {
    network: &'a Network<R>,
    presynaptic: Presynaptic,
    len: usize,
    caches: Vec<Cache<R>>,
    plastic: Option<Plastic<R>>,
    logits: Vec<f32>,
}

/// Buffers of one call.
struct Room<R> {
    x: Vec<R>,
    norm: Vec<R>,
    stats: Vec<R>,
    q_in: Vec<R>,
    k_in: Vec<R>,
    q: Vec<R>,
    k: Vec<R>,
    v: Vec<R>,
    stats_heads: Vec<R>,
    by_head: Vec<R>,
    attention: Vec<R>,
    mid: Vec<R>,
}

impl<'a, R: Real + Default> CpuDecoder<'a, R> {
    /// With an empty cache.
    pub fn new(network: &'a Network<R>) -> Result<Self, SimError> {
        let (c, presynaptic) = (&network.config, network.presynaptic(None));
        let cache = || zeros("cache of keys and values", c.context * c.kv_width());
        let cache = |_| {
            Ok(Cache {
                keys: cache()?,
                values: cache()?,
                synapses: vec![KeyState::fresh(&presynaptic, c.context); c.heads],
                routing: Routing::default(),
                mixture: MixtureWork::default(),
            })
        };
        let caches = (0..c.layers).map(cache).collect::<Result<_, SimError>>()?;
        Ok(Self { network, presynaptic, len: 0, caches, plastic: None, logits: vec![] })
    }

    /// Writes after each token.
    pub fn plastic(mut self, op: PlasticityRule) -> Self {
        let genomes = self.network.layout.blocks.iter().map(|block| self.network.weight(block.genome));
        let phenotypes = genomes.map(|genome| genome.chunks_exact(GENES).map(Phenotype::of).collect());
        self.plastic = Some(Plastic::new(op, phenotypes.collect()));
        self
    }

    /// Synapses of a query head after the tokens so far.
    pub fn synapses(&self, block: usize, head: usize) -> &KeyState<R> {
        &self.caches[block].synapses[head]
    }

    /// What the router of a block decided for the tokens of the last call.
    pub fn routing(&self, block: usize) -> &Routing<R> {
        &self.caches[block].routing
    }

    fn room(&self, n: usize) -> Result<Room<R>, SimError> {
        let c = &self.network.config;
        let (width, kv) = (c.width, c.kv_width());
        let rows = |columns: usize| zeros("activations of a text", n * columns);
        Ok(Room {
            x: rows(width)?,
            norm: rows(width)?,
            stats: rows(2)?,
            q_in: rows(width)?,
            k_in: rows(kv)?,
            q: rows(width)?,
            k: rows(kv)?,
            v: rows(kv)?,
            stats_heads: rows(2 * c.heads)?,
            by_head: rows(width)?,
            attention: rows(width)?,
            mid: rows(width)?,
        })
    }

    fn block(&mut self, b: usize, room: &mut Room<R>) -> Result<(), SimError> {
        let (network, n, len) = (self.network, room.stats.len() / 2, self.len);
        let (c, block) = (&network.config, network.layout.blocks[b]);
        let Room { x, norm, stats, q_in, k_in, q, k, v, stats_heads, by_head, attention, mid } = room;
        network.norm(block.ln_1, x, norm, stats)?;
        network.linear(block.q, norm, q_in, None)?;
        network.linear(block.k, norm, k_in, None)?;
        network.linear(block.v, norm, v, None)?;
        network.normalize_heads((n, len), c.heads, q_in, q, stats_heads)?;
        network.normalize_heads((n, len), c.kv_heads, k_in, k, &mut stats_heads[..2 * n * c.kv_heads])?;
        let kv = c.kv_width();
        let cache = &mut self.caches[b];
        cache.keys[len * kv..][..n * kv].copy_from_slice(k);
        cache.values[len * kv..][..n * kv].copy_from_slice(v);
        let Cache { keys, values, synapses, routing, mixture } = cache;
        let (d, presynaptic) = (c.head_dim(), &self.presynaptic);
        let heads = by_head.par_chunks_mut(n * d).zip(synapses).enumerate();
        heads.try_for_each(|(head, (y, synapses))| {
            let place = head / c.group() * d;
            let of_head = (&q[head * d..], &keys[place..], &values[place..]);
            attend(network, (b, head), (len, n), presynaptic, of_head, synapses, y)
        })?;
        for (head, rows) in by_head.chunks_exact(n * d).enumerate() {
            for (token, row) in rows.chunks_exact(d).enumerate() {
                attention[token * c.width + head * d..][..d].copy_from_slice(row);
            }
        }
        network.linear(block.o, attention, mid, Some(x))?;
        network.norm(block.ln_2, mid, norm, stats)?;
        let (router, state) = (&network.dynamics.router, &network.routers[b]);
        experts::forward(router, norm, network.router_weights(b), state, routing).map_err(refused)?;
        x.copy_from_slice(mid);
        network
            .mixture()
            .forward(norm, routing, network.expert_weights(b), mixture, x, &StopFlag::default())
            .map_err(refused)?;
        match &mut self.plastic {
            Some(plastic) => {
                let expert = |e| Ok(network.expert(b, e));
                let at = MixtureTokens {
                    input: norm,
                    residual: mid,
                    output: x,
                    routing,
                    energy: &state.energy,
                    expert: &expert,
                };
                plastic.step(b, at)
            }
            None => Ok(()),
        }
    }
}

/// Output `[n, D]` of a query head for `n` tokens after `len` others.
fn attend<R: Real + Default>(
    network: &Network<R>,
    (block, head): (usize, usize),
    (len, n): (usize, usize),
    presynaptic: &Presynaptic,
    (q, keys, values): (&[R], &[R], &[R]),
    synapses: &mut KeyState<R>,
    y: &mut [R],
) -> Result<(), SimError> {
    let (c, n_keys) = (&network.config, len + n);
    let (d, narrow) = (c.head_dim(), Layout::rows(c.kv_width()));
    let mut dots = vec![R::zero(); n * n_keys];
    let mut logits = vec![R::zero(); n * n_keys];
    let scores = Gemm { a: Layout::rows(c.width), b: narrow.transposed(), ..Gemm::new(n, n_keys, d) };
    let scores = scores.scaled(network.head_scale(block, head), R::zero());
    gemm(&scores, q, keys, &mut dots, Epilogue::None).map_err(refused)?;
    presynaptic::forward(presynaptic, len, n, &dots, &mut logits, None, synapses, None);
    wide(|| {
        for (query, row) in logits.chunks_exact_mut(n_keys).enumerate() {
            let (visible, invisible) = row.split_at_mut(len + query + 1);
            softmax(visible);
            invisible.fill(R::zero());
        }
    });
    gemm(&Gemm { b: narrow, ..Gemm::new(n, d, n_keys) }, &logits, values, y, Epilogue::None).map_err(refused)
}

impl<R: Real + Default> Decoder for CpuDecoder<'_, R> {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
        let synapses = self.caches.iter_mut().flat_map(|cache| &mut cache.synapses);
        synapses.for_each(|state| state.reset(&self.presynaptic));
        if let Some(plastic) = &mut self.plastic {
            plastic.clear();
        }
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let (network, n) = (self.network, tokens.len());
        let c = &network.config;
        if self.len + n > c.context {
            let all = self.len + n;
            return Err(SimError::Input(format!("a text of {all} tokens exceeds the context of {}", c.context)));
        }
        let mut room = self.room(n)?;
        network.embed(tokens, &mut room.x)?;
        for b in 0..c.layers {
            self.block(b, &mut room)?;
        }
        self.len += n;
        let Room { x, norm, stats, .. } = &mut room;
        network.norm(network.layout.ln_f, x, norm, stats)?;
        let mut logits = zeros("logits", n * c.padded_vocab())?;
        network.logits(norm, &mut logits)?;
        self.logits = logits.into_iter().map(|x: R| x.f64() as f32).collect();
        Ok(&self.logits)
    }
}
