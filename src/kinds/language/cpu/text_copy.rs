//! A copy of a model that writes a text on a thread of its own, while the model takes further steps.

use super::{backend::TextNetwork, decoder::Pooled};
use crate::{
    kinds::{
        language::backend::{Decoder, TextModel},
        shared::threads::Threads,
    },
    sim::SimError,
};

/// The copy, and its thread.
pub struct TextCopy<N> {
    network: N,
    threads: Threads,
}

impl<N: TextNetwork> TextCopy<N> {
    /// Takes a copy of what decoders read.
    pub fn new(network: N) -> Self {
        Self { network, threads: Threads::new(1) }
    }
}

impl<N: TextNetwork> TextModel for TextCopy<N> {
    fn decoder(&mut self) -> Result<Box<dyn Decoder + '_>, SimError> {
        Ok(Box::new(Pooled { decoder: self.network.decoder()?, threads: &self.threads }))
    }
}
