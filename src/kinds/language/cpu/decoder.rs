//! Decoders on the threads of a backend.

use crate::{kinds::language::backend::Decoder, sim::SimError};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The threads of a backend.
///
/// # Errors
/// The system has none left.
pub fn threads(n: usize) -> Result<ThreadPool, SimError> {
    let pool = ThreadPoolBuilder::new().num_threads(n.max(1)).build();
    pool.map_err(|error| SimError::Device(format!("cannot start {n} threads: {error}")))
}

/// A decoder that runs on the threads of its backend.
pub struct Pooled<'a, D> {
    /// The decoder.
    pub decoder: D,
    /// The threads.
    pub pool: &'a ThreadPool,
}

impl<D: Decoder + Send> Decoder for Pooled<'_, D> {
    fn len(&self) -> usize {
        self.decoder.len()
    }

    fn clear(&mut self) {
        self.decoder.clear();
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let Self { decoder, pool } = self;
        pool.install(|| decoder.push(tokens))
    }
}
