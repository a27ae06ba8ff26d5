//! Decoder with a KV cache on the CPU.

use super::network::{Network, zeros};
use crate::{
    kinds::{
        language::{
            cpu::{blocks::Cache, layers::HostBatch},
            plan::BatchShape,
        },
        transformer::backend::Decoder,
    },
    nn::real::Real,
    sim::SimError,
};

/// Decoder with a KV cache.
pub struct CpuDecoder<'a, R> {
    network: &'a Network<R>,
    len: usize,
    /// Keys and values of each block, `[T, n_kv d]`.
    caches: Vec<[Vec<R>; 2]>,
    logits: Vec<f32>,
}

impl<'a, R: Real + Default> CpuDecoder<'a, R> {
    /// Creates a decoder with an empty cache. Fails if memory is exhausted.
    pub fn new(network: &'a Network<R>) -> Result<Self, SimError> {
        let c = &network.config;
        let cache = || zeros("cache of keys and values", c.context * c.kv_heads * c.head_dim());
        let caches = (0..c.layers).map(|_| Ok([cache()?, cache()?])).collect::<Result<_, SimError>>()?;
        Ok(Self { network, len: 0, caches, logits: vec![] })
    }
}

impl<R: Real + Default> Decoder for CpuDecoder<'_, R> {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let (all, context) = (self.len + tokens.len(), self.network.config.context);
        if all > context {
            return Err(SimError::Input(format!("a text of {all} tokens exceeds the context of {context}")));
        }
        let batch = HostBatch { offset: self.len, ..HostBatch::full(BatchShape::full(1, tokens.len()), tokens) };
        let logits = self.network.logits(batch, Some(Cache { blocks: &mut self.caches }))?;
        self.len = all;
        self.logits = logits.into_iter().map(|x| x.f64() as f32).collect();
        Ok(&self.logits)
    }
}
