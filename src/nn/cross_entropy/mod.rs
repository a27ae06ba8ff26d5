//! Cross-entropy of logits, fused with its gradient.
//!
//! For a row of logits z with target t over a vocabulary of V: `lse = ln Σ exp(z[j])`, `loss = lse - z[t]` (nats), and
//! backward `dz[j] = scale (exp(z[j] - lse) - [j = t])`. The gradient overwrites the logits, so that they exist once.
//! `scale` is the gradient of the loss of a row: 1 / number of targets for their mean, times the loss scale.
//!
//! Rows whose target is [`IGNORE`] have loss 0 and gradient 0; their `lse` is computed. Columns from V on are padding, which
//! makes the width a multiple of 64: they may hold anything, are not part of the sums, and get gradient 0.
//!
//! Rows are independent: a caller that has no room for all logits calls this for some rows at a time. [`cpu`] is the
//! definition.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward, total};

/// A target that is not counted.
pub const IGNORE: i32 = -1;

/// The sizes of a block of logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrossEntropy {
    /// Rows of logits, one per target.
    pub rows: usize,
    /// Columns that are tokens.
    pub vocab: usize,
    /// Columns of a row.
    pub padded: usize,
}

impl CrossEntropy {
    /// Checks lengths in elements: logits, targets, losses and lse.
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

    /// Whether a target is [`IGNORE`] or a token.
    pub fn check_targets(&self, targets: &[i32]) -> Result<(), CrossEntropyError> {
        let is_valid = |t: i32| t == IGNORE || usize::try_from(t).is_ok_and(|t| t < self.vocab);
        match targets.iter().position(|t| !is_valid(*t)) {
            Some(row) => Err(CrossEntropyError::Target { target: targets[row], row, vocab: self.vocab }),
            None => Ok(()),
        }
    }
}

/// Why no loss was computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CrossEntropyError {
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
    /// No tokens, or more than columns.
    #[error("a vocabulary of {vocab} does not fit rows of {padded} logits")]
    Vocabulary {
        /// Tokens.
        vocab: usize,
        /// Columns.
        padded: usize,
    },
    /// A target that is no token.
    #[error("target {target} of row {row} is not among the {vocab} of the vocabulary, nor {IGNORE}")]
    Target {
        /// The target.
        target: i32,
        /// Its row.
        row: usize,
        /// Tokens.
        vocab: usize,
    },
}
