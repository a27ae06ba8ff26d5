//! Decoders on a device: texts in pieces that fit the buffers of training.

use super::error::OpError;
use crate::{kinds::language::backend::Decoder, sim::SimError};

/// Reads pieces of a text into a cache.
pub trait PieceReader {
    /// Tokens of the cache at most, and of the vocabulary.
    fn limits(&self) -> [usize; 2];
    /// Tokens that are read at once at most.
    fn piece(&self) -> usize;
    /// Appends tokens to a cache of `first`, and their logits to `logits`.
    fn read(&mut self, first: usize, tokens: &[u32], logits: &mut Vec<f32>) -> Result<(), OpError>;
    /// Forgets what is not written again by the next text.
    fn clear(&mut self) {}
}

/// Reads tokens one after the other, or some at a time; the results are the same.
pub struct PieceDecoder<R> {
    reader: R,
    len: usize,
    logits: Vec<f32>,
}

impl<R: PieceReader> PieceDecoder<R> {
    /// With an empty cache.
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
