//! Token and position embeddings: `y[i] = table[token[i]] + positions[p(i)]`.
//!
//! The table is `[vocab, features]`, the positions `[context, features]` or absent, `y` is `[tokens, features]`. A batch of
//! sequences is more tokens: token i has position `offset + i mod seq_len`, unless a list of position ids says otherwise.
//!
//! Backward, with `dy = ∂loss/∂y`: `dtable[v] += Σ dy[i]` over all i with `token[i] = v`, and
//! `dpositions[q] += Σ dy[i]` over all i with `p(i) = q`. See e.g. Radford et al. (2019), "Language models are
//! unsupervised multitask learners" for learned positions; fixed ones are in [`sinusoid`].
//!
//! [`cpu`] is the definition; its page states the order of the sums.

pub mod cpu;
pub mod cuda;
pub mod sinusoid;

pub use cpu::{backward, forward};

/// The sizes of an embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Embedding {
    /// Tokens of all sequences.
    pub tokens: usize,
    /// Rows of the table.
    pub vocab: usize,
    /// Elements of a row.
    pub features: usize,
    /// Tokens of a sequence; the last one may be shorter.
    pub seq_len: usize,
    /// Position of the first token of every sequence: the length of the cache when a text is continued.
    pub offset: usize,
}

impl Embedding {
    /// Sequences that begin at position 0.
    pub const fn new(tokens: usize, vocab: usize, features: usize, seq_len: usize) -> Self {
        Self { tokens, vocab, features, seq_len, offset: 0 }
    }

    /// Sequences that begin at this position.
    #[must_use]
    pub const fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// The largest position, where no list of position ids is given.
    pub const fn last_position(&self) -> usize {
        let longest = if self.tokens < self.seq_len { self.tokens } else { self.seq_len };
        self.offset + longest.saturating_sub(1)
    }

    /// Checks lengths in elements. `positions` and `position_ids` are 0 where they are absent.
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

/// Why tokens were not embedded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EmbeddingError {
    /// A buffer has another length.
    #[error("{what} need {needed} elements, and {given} are given")]
    Length {
        /// Which.
        what: &'static str,
        /// By the declaration.
        needed: usize,
        /// Given.
        given: usize,
    },
    /// A token that the table does not have.
    #[error("token {token} at place {place} is not among the {vocab} of the vocabulary")]
    Token {
        /// The token.
        token: u32,
        /// Its index in the batch.
        place: usize,
        /// Rows of the table.
        vocab: usize,
    },
    /// A position that has no embedding.
    #[error("position {position} is beyond the context of {context} tokens")]
    Position {
        /// The position.
        position: usize,
        /// Rows of the position embeddings.
        context: usize,
    },
}
