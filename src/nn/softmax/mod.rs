//! Softmax of attention scores: scale, additive bias, mask and softmax in one pass.
//!
//! For each batch entry, head and query i, over the keys j that are kept:
//!
//! | | |
//! |---|---|
//! | score | `s_j = scale x_j + bias_j` |
//! | output | `y_j = exp(s_j - m) / Σ exp(s - m)`, `m = max s`; 0 for keys that are not kept |
//! | log-sum-exp | `lse = m + ln Σ exp(s - m)` |
//! | `dx_j =` | `scale y_j (dy_j - Σ y dy)`; the gradient of the bias is the same without `scale` |
//!
//! A key is kept if `i < q_len`, `j < k_len` of this batch entry and, if causal, `j <= i + k_len - q_len`: the last query sees
//! the last key, as in FlashAttention since 2.1. A query without keys, or with bias -∞ for all of them, has y = 0, lse = -∞ and
//! no gradient.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward};

use super::lengths::{self, LengthError};

/// Sizes of a softmax over rows `[batch, heads, q_len, k_len]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    /// Number of batch entries.
    pub batch: usize,
    /// Number of heads per batch entry.
    pub heads: usize,
    /// Number of queries (rows) per head.
    pub q_len: usize,
    /// Number of keys (columns) per head.
    pub k_len: usize,
    /// Scale of the scores.
    pub scale: f64,
    /// Whether a query sees no later keys (causal mask).
    pub causal: bool,
}

/// Bias that is added to the scores. `B` is a backend's view of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bias<B> {
    /// Buffer of the bias.
    pub values: B,
    /// Strides in elements of batch entry, head, query and key; a stride of 0 broadcasts one value.
    pub strides: [usize; 4],
}

/// Lengths that limit the keys of a query besides causality, and an additive bias. `B` and `L` are a backend's views of buffers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mask<B, L> {
    /// Number of queries of each batch entry; `None`: `q_len`.
    pub q_lens: Option<L>,
    /// Number of keys of each batch entry; `None`: `k_len`.
    pub k_lens: Option<L>,
    /// Bias that is added to the scores.
    pub bias: Option<Bias<B>>,
}

impl<B, L> Default for Mask<B, L> {
    fn default() -> Self {
        Self { q_lens: None, k_lens: None, bias: None }
    }
}

impl Softmax {
    /// Declares independent rows without mask and scale.
    pub const fn rows(rows: usize, columns: usize) -> Self {
        Self { batch: 1, heads: 1, q_len: rows, k_len: columns, scale: 1.0, causal: false }
    }

    /// Returns the number of rows: batch entries × heads × queries.
    pub const fn n_rows(&self) -> usize {
        self.batch * self.heads * self.q_len
    }

    /// Returns the number of keys that query `i` sees in a batch entry of these lengths; they are the first keys.
    pub fn n_keys(&self, i: usize, q_len: usize, k_len: usize) -> usize {
        if i >= q_len {
            0
        } else if self.causal {
            (i + 1 + k_len).saturating_sub(q_len).min(k_len)
        } else {
            k_len
        }
    }

    /// Checks lengths in elements. Fails if a length differs from the declaration.
    pub fn check(&self, x: usize, y: usize, lse: usize) -> Result<(), LengthError> {
        let extents = [self.batch, self.heads, self.q_len, self.k_len];
        lengths::check([
            ("the input of a softmax", &extents, x),
            ("the output of a softmax", &extents, y),
            ("the log-sum-exp of a softmax", &extents[..3], lse),
        ])
    }

    /// Checks the lengths, in elements, of the length lists and the bias.
    pub fn check_mask<B, L>(
        &self,
        mask: &Mask<B, L>,
        bias_len: impl FnOnce(&B) -> usize,
        lens_len: impl Fn(&L) -> usize,
    ) -> Result<(), LengthError> {
        for lens in [&mask.q_lens, &mask.k_lens].into_iter().flatten() {
            lengths::check([("the lengths of a softmax", &[self.batch], lens_len(lens))])?;
        }
        let Some(bias) = &mask.bias else { return Ok(()) };
        let extents = [self.batch, self.heads, self.q_len, self.k_len];
        if extents.contains(&0) {
            return Ok(());
        }
        let last = extents
            .iter()
            .zip(bias.strides)
            .try_fold(0_usize, |last, (n, stride)| last.checked_add((n - 1).checked_mul(stride)?));
        let needed = last.and_then(|last| last.checked_add(1)).unwrap_or(usize::MAX);
        let given = bias_len(&bias.values);
        if needed > given { Err(LengthError { what: "the bias of a softmax", needed, given }) } else { Ok(()) }
    }
}
