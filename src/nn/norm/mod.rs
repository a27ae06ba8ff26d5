//! LayerNorm and RMSNorm over the last dimension.
//!
//! For each row x of C columns, with weight g and bias b:
//!
//! | | LayerNorm (Ba et al. 2016) | RMSNorm (Zhang and Sennrich 2019) |
//! |---|---|---|
//! | mean | `μ = mean(x)` | 0 |
//! | scale | `r = 1 / sqrt(mean((x - μ)²) + eps)` | `r = 1 / sqrt(mean(x²) + eps)` |
//! | normalised | `n = (x - μ) r` | `n = x r` |
//! | output | `y = n g + b` | `y = n g (+ b)` |
//!
//! Backward, with `d = dy g`:
//!
//! | | |
//! |---|---|
//! | `dx +=` | `r (d - mean(d) - n mean(d n))`; RMSNorm without `mean(d)` |
//! | `dg +=` | `Σ_rows dy n` |
//! | `db +=` | `Σ_rows dy` |
//!
//! The variance is the biased one, of differences from the mean in a second pass: `mean(x²) - mean(x)²` loses all digits if the
//! mean is large. Statistics are `[rows, 2]`: mean and r.

pub mod cpu;
pub mod cuda;

pub use cpu::{backward, forward};

use super::lengths::{self, LengthError};

/// Kind of normalisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum NormKind {
    /// LayerNorm: mean 0, variance 1.
    #[default]
    Layer,
    /// RMSNorm: mean square 1; the mean is not subtracted.
    Rms,
}

/// Sizes and constants of a norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Number of rows, each normalised separately.
    pub rows: usize,
    /// Number of elements per row.
    pub columns: usize,
    /// Constant added to the variance (or mean square).
    pub eps: f64,
    /// LayerNorm or RMSNorm.
    pub kind: NormKind,
}

impl Norm {
    /// Checks lengths in elements. Fails if a length differs from the declaration.
    pub fn check(
        &self,
        x: usize,
        y: usize,
        weight: usize,
        bias: Option<usize>,
        stats: usize,
    ) -> Result<(), LengthError> {
        let Self { rows, columns, .. } = *self;
        lengths::check([
            ("the input of a norm", &[rows, columns], x),
            ("the output of a norm", &[rows, columns], y),
            ("the weight of a norm", &[columns], weight),
            ("the bias of a norm", &[columns], bias.unwrap_or(columns)),
            ("the statistics of a norm", &[rows, 2], stats),
        ])
    }
}
