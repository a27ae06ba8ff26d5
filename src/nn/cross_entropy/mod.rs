//! Cross-entropy of logits, fused with its gradient.
//!
//! For a row of logits z with target t over a vocabulary of V: `lse = ln Σ exp(z[j])`, `loss = lse - z[t]` (nats), and backward
//! `dz[j] = scale (exp(z[j] - lse) - [j = t])`. The gradient overwrites the logits, so that one buffer serves both. `scale` is
//! the gradient of the loss of a row: 1 / number of targets for their mean, times the loss scale.
//!
//! Rows whose target is [`IGNORE`] have loss 0 and gradient 0; their `lse` is computed. Columns from V on are padding, which
//! makes the width a multiple of 64: they may hold any values, are excluded from the sums, and get gradient 0.
//!
//! Rows are independent: a caller without memory for all logits processes a range of rows per call. [`cpu`] is the definition.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward, total};

/// Target of a row that is not counted.
pub const IGNORE: i32 = -1;

/// Sizes of a block of logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossEntropy {
    /// Number of rows of logits, one per target.
    pub rows: usize,
    /// Number of columns that are tokens.
    pub vocab: usize,
    /// Number of columns per row, including padding.
    pub padded: usize,
}

impl CrossEntropy {
    /// Checks lengths in elements: of the logits, and of targets, losses and `lse`. Fails if a length differs from the
    /// declaration, or if there are no tokens or more tokens than columns.
    pub fn check(&self, logits: usize, rows: [usize; 3]) -> Result<(), CrossEntropyError> {
        let needed = self.rows.saturating_mul(self.padded);
        if self.vocab == 0 || self.vocab > self.padded {
            return Err(CrossEntropyError::Vocabulary { vocab: self.vocab, padded: self.padded });
        }
        let named = ["the targets", "the losses", "the logarithms of sums"].into_iter().zip(rows);
        for (what, given, needed) in
            [("the logits", logits, needed)].into_iter().chain(named.map(|(what, given)| (what, given, self.rows)))
        {
            if given != needed {
                return Err(CrossEntropyError::Length { what, needed, given });
            }
        }
        Ok(())
    }

    /// Checks that every target is [`IGNORE`] or a token. The error names the first row for which this does not hold.
    pub fn check_targets(&self, targets: &[i32]) -> Result<(), CrossEntropyError> {
        let is_valid = |t: i32| t == IGNORE || usize::try_from(t).is_ok_and(|t| t < self.vocab);
        match targets.iter().position(|t| !is_valid(*t)) {
            Some(row) => Err(CrossEntropyError::Target { target: targets[row], row, vocab: self.vocab }),
            None => Ok(()),
        }
    }
}

/// Reason why no loss was computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrossEntropyError {
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
    /// The vocabulary is empty or larger than the number of columns.
    #[error("a vocabulary of {vocab} does not fit rows of {padded} logits")]
    Vocabulary {
        /// Number of tokens declared.
        vocab: usize,
        /// Number of columns per row.
        padded: usize,
    },
    /// A target is neither a token nor [`IGNORE`].
    #[error("target {target} of row {row} is not among the {vocab} of the vocabulary, nor {IGNORE}")]
    Target {
        /// Value of the target.
        target: i32,
        /// Row of the target.
        row: usize,
        /// Number of tokens in the vocabulary.
        vocab: usize,
    },
}
