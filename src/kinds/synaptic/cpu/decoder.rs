//! Decoder with a cache of keys, values and synaptic states.

use super::{
    activations::{BlockActivations, Head, Shared},
    forward::Run,
    heads::{Rows, softmax},
    network::{Extent, Network, refused, zeros},
    plastic::Plastic,
};
use crate::{
    gpu::Pass,
    kinds::{
        language::backend::Decoder,
        synaptic::{
            experts::{GENES, Phenotype},
            network::predict,
            postsynaptic::FastMemory,
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

/// Cache of a block for one text.
pub struct Cache<R> {
    /// Keys, `[T, Hkv D]`.
    keys: Vec<R>,
    /// Values, `[T, Hkv D]`.
    values: Vec<R>,
    /// Synaptic states of each query head.
    synapses: Vec<KeyState<R>>,
    presynaptic: Presynaptic,
}

/// Decoder with a cache. Results do not depend on the lengths of the chunks in which tokens are pushed.
pub struct CpuDecoder<'a, R> {
    network: &'a Network<R>,
    presynaptic: Presynaptic,
    len: usize,
    caches: Vec<Cache<R>>,
    plastic: Option<Plastic<R>>,
    logits: Vec<f32>,
}

impl<'a, R: Real + Default> CpuDecoder<'a, R> {
    /// Creates a decoder with an empty cache. Fails if memory is exhausted.
    pub fn new(network: &'a Network<R>) -> Result<Self, SimError> {
        let (c, presynaptic) = (&network.config, network.presynaptic(None));
        let cache = || zeros("cache of keys and values", c.context * c.kv_width());
        let cache = |_| {
            Ok(Cache {
                keys: cache()?,
                values: cache()?,
                synapses: vec![KeyState::fresh(&presynaptic, c.context); c.heads],
                presynaptic,
            })
        };
        let caches = (0..c.layers).map(cache).collect::<Result<_, SimError>>()?;
        Ok(Self { network, presynaptic, len: 0, caches, plastic: None, logits: vec![] })
    }

    /// Enables plasticity: the memory is written after each token.
    pub fn plastic(mut self, op: FastMemory) -> Self {
        let genomes = self.network.layout.blocks.iter().map(|block| self.network.weight(block.genome));
        let phenotypes = genomes.map(|genome| genome.chunks_exact(GENES).map(Phenotype::of).collect());
        self.plastic = Some(Plastic::new(op, phenotypes.collect()));
        self
    }

    /// Returns the synaptic states of a query head after the tokens so far.
    pub fn synapses(&self, block: usize, head: usize) -> &KeyState<R> {
        &self.caches[block].synapses[head]
    }
}

impl<R: Real + Default> Cache<R> {
    /// Attends from new tokens to all tokens so far, of which `known` are in the cache. Writes `y` `[n, H D]`; `by_head` is
    /// workspace of the same size. Fails if the sizes do not match.
    pub fn attend(
        &mut self,
        network: &Network<R>,
        block: usize,
        known: usize,
        x: Rows<'_, R>,
        by_head: &mut [R],
        y: &mut [R],
    ) -> Result<(), SimError> {
        let c = &network.config;
        let (n, kv, d) = (x.q.len() / c.width, c.kv_width(), c.head_dim());
        let Self { keys, values, synapses, presynaptic } = self;
        keys[known * kv..][..n * kv].copy_from_slice(x.k);
        values[known * kv..][..n * kv].copy_from_slice(x.v);
        let heads = by_head.par_chunks_mut(n * d).zip(synapses).enumerate();
        heads.try_for_each(|(head, (y, synapses))| {
            let place = head / c.group() * d;
            let of_head = (&x.q[head * d..], &keys[place..], &values[place..]);
            attend(network, (block, head), (known, n), presynaptic, of_head, synapses, y)
        })?;
        for (head, rows) in by_head.chunks_exact(n * d).enumerate() {
            for (token, row) in rows.chunks_exact(d).enumerate() {
                y[token * c.width + head * d..][..d].copy_from_slice(row);
            }
        }
        Ok(())
    }
}

/// Computes the output `[n, D]` of a query head for `n` tokens that follow `len` others. Fails if the sizes do not match.
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
        let (rows, known) = (n * c.width, self.len);
        let buffer = |len: usize| zeros("activations of a text", len);
        let (mut x, mut next, mut block) = (buffer(rows)?, buffer(rows)?, BlockActivations::default());
        block.reserve(c, n, (0, false))?;
        let mut shared = Shared { by_head: buffer(rows)?, kv_by_head: vec![] };
        let mut head = Head { norm_f: buffer(rows)?, stats_f: buffer(2 * n)?, ..Head::default() };
        let mut logits = zeros("logits", n * c.padded_vocab())?;
        let (mut pass, extent) = (Pass::default(), Extent { sequences: 1, seq_len: n });
        let mut run = Run::new(network, tokens, extent, &mut pass);
        (run.cache, run.plastic) = (Some((known, &mut self.caches[..])), self.plastic.as_mut());
        let of_block = (&mut block, &mut shared);
        predict(&mut run, c.layers, (&mut x[..], &mut next[..]), of_block, &mut head, &mut logits[..])?;
        self.len += n;
        self.logits = logits.into_iter().map(|x: R| x.f64() as f32).collect();
        Ok(&self.logits)
    }
}
