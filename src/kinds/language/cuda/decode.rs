//! Decoders on a device, which read a text in chunks that fit the buffers of training.

use super::error::OpError;
use crate::{kinds::language::backend::Decoder, sim::SimError};

/// Reader of chunks of a text into a KV cache.
pub trait PieceReader {
    /// Returns the context and vocabulary size.
    fn limits(&self) -> [usize; 2];
    /// Returns the largest number of tokens per chunk.
    fn piece(&self) -> usize;
    /// Appends `tokens` to a cache that contains `first` tokens, and appends their logits to `logits`. Fails if the device
    /// fails.
    fn read(&mut self, first: usize, tokens: &[u32], logits: &mut Vec<f32>) -> Result<(), OpError>;
    /// Clears state that the next text does not overwrite.
    fn clear(&mut self) {}
}

/// Decoder of single tokens or chunks. Both give equal results.
pub struct PieceDecoder<R> {
    reader: R,
    len: usize,
    logits: Vec<f32>,
}

impl<R: PieceReader> PieceDecoder<R> {
    /// Creates a decoder with an empty cache.
    pub const fn new(reader: R) -> Self {
        Self { reader, len: 0, logits: vec![] }
    }
}

impl<R: PieceReader> Decoder for PieceDecoder<R> {
    fn len(&self) -> usize {
        self.len
    }

    fn clear(&mut self) {
        self.len = 0;
        self.reader.clear();
    }

    fn push(&mut self, tokens: &[u32]) -> Result<&[f32], SimError> {
        let ([context, vocab], n) = (self.reader.limits(), self.len + tokens.len());
        if n > context {
            return Err(SimError::Input(format!("a text of {n} tokens exceeds the context of {context}")));
        }
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocab) {
            return Err(SimError::Input(format!("token {token} is not one of the {vocab} of the vocabulary")));
        }
        self.logits.clear();
        for piece in tokens.chunks(self.reader.piece().max(1)) {
            self.reader.read(self.len, piece, &mut self.logits)?;
            self.len += piece.len();
        }
        Ok(&self.logits)
    }
}
