//! Copy of a model that samples a text on its own thread, concurrently with training steps.

use super::{backend::TextNetwork, decoder::Pooled};
use crate::{
    kinds::{
        language::backend::{Decoder, TextModel},
        shared::threads::Threads,
    },
    sim::SimError,
};

/// Copied network with its thread.
pub struct TextCopy<N> {
    network: N,
    threads: Threads,
}

impl<N: TextNetwork> TextCopy<N> {
    /// Wraps a copied network with a pool of one thread.
    pub fn new(network: N) -> Self {
        Self { network, threads: Threads::new(1) }
    }
}

impl<N: TextNetwork> TextModel for TextCopy<N> {
    fn decoder(&mut self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(Box::new(Pooled { decoder: self.network.decoder()?, threads: &self.threads }))
    }
}
