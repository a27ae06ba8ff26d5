//! Decoders that run on the thread pool of a backend.

use crate::{
    kinds::{language::backend::Decoder, shared::threads::Threads},
    sim::SimError,
};

/// Decoder that runs on the thread pool of its backend.
pub struct Pooled<'a, D> {
    /// Decoder whose calls run on the pool.
    pub decoder: D,
    /// Thread pool of the backend.
    pub threads: &'a Threads,
}

impl<D: Decoder + Send> Decoder for Pooled<'_, D> {
    fn len(&self) -> usize {
        self.decoder.len()
    }

    fn clear(&mut self) {
        self.decoder.clear();
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let Self { decoder, threads } = self;
        threads.run(|| decoder.push(tokens))
    }
}
