//! Token and position embeddings: `y[i] = table[token[i]] + positions[p(i)]`.
//!
//! The table is `[vocab, features]`, the positions `[context, features]` or absent, `y` is `[tokens, features]`. The sequences of
//! a batch follow each other: token i has position `offset + i mod seq_len`, unless a list of position ids is given.
//!
//! Backward, with `dy = ∂loss/∂y`: `dtable[v] += Σ dy[i]` over all i with `token[i] = v`, and
//! `dpositions[q] += Σ dy[i]` over all i with `p(i) = q`. Learned positions follow Radford et al. (2019), "Language models are
//! unsupervised multitask learners"; [`sinusoid`] has fixed positions.
//!
//! [`cpu`] is the definition; its documentation states the order of the sums.

pub mod cpu;
pub mod cuda;
pub mod sinusoid;

pub use cpu::{backward, forward};

/// Sizes of an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedding {
    /// Number of tokens in all sequences.
    pub tokens: usize,
    /// Number of rows in the table.
    pub vocab: usize,
    /// Number of elements per row.
    pub features: usize,
    /// Number of tokens per sequence; the last sequence may be shorter.
    pub seq_len: usize,
    /// Position of the first token of every sequence; when a text is continued, the length of the KV cache.
    pub offset: usize,
}

impl Embedding {
    /// Declares sequences that begin at position 0.
    pub const fn new(tokens: usize, vocab: usize, features: usize, seq_len: usize) -> Self {
        Self { tokens, vocab, features, seq_len, offset: 0 }
    }

    /// Sets the position of the first token of every sequence.
    #[must_use]
    pub const fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Returns the largest position of tokens without a list of position ids.
    pub const fn last_position(&self) -> usize {
        let longest = if self.tokens < self.seq_len { self.tokens } else { self.seq_len };
        self.offset + longest.saturating_sub(1)
    }

    /// Checks lengths in elements. `positions` and `position_ids` are `None` if absent. Fails if a length differs from the
    /// declaration, or a position without ids is outside the table.
    pub fn check(
        &self,
        (table, tokens, y): (usize, usize, usize),
        positions: Option<usize>,
        position_ids: Option<usize>,
    ) -> Result<(), EmbeddingError> {
        let needs = |what, needed: usize, given| {
            if needed == given { Ok(()) } else { Err(EmbeddingError::Length { what, needed, given }) }
        };
        let product = |a: usize, b: usize| a.saturating_mul(b);
        needs("the table", product(self.vocab, self.features), table)?;
        needs("the tokens", self.tokens, tokens)?;
        needs("the embedded tokens", product(self.tokens, self.features), y)?;
        if let Some(given) = position_ids {
            needs("the position ids", self.tokens, given)?;
        }
        let Some(positions) = positions.filter(|_| self.tokens > 0) else { return Ok(()) };
        let context = positions / self.features.max(1);
        needs("the position embeddings", product(context, self.features), positions)?;
        if position_ids.is_some() {
            return Ok(());
        }
        if self.seq_len == 0 {
            return Err(EmbeddingError::Length { what: "a sequence", needed: 1, given: 0 });
        }
        if self.last_position() >= context {
            return Err(EmbeddingError::Position { position: self.last_position(), context });
        }
        Ok(())
    }
}

/// Reason why tokens were not embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// The length of a buffer differs from the declared one.
    #[error("{what} need {needed} elements, and {given} are given")]
    Length {
        /// Name of the buffer.
        what: &'static str,
        /// Declared number of elements.
        needed: usize,
        /// Number of elements given.
        given: usize,
    },
    /// A token is outside the table.
    #[error("token {token} at place {place} is not among the {vocab} of the vocabulary")]
    Token {
        /// Value of the token.
        token: u32,
        /// Index of the token in the batch.
        place: usize,
        /// Number of rows in the table.
        vocab: usize,
    },
    /// A position has no embedding.
    #[error("position {position} is beyond the context of {context} tokens")]
    Position {
        /// Position of the token.
        position: usize,
        /// Number of rows in the position embeddings.
        context: usize,
    },
}
