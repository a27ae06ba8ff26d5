//! Operations on whole buffers.
//!
//! | | |
//! |---|---|
//! | [`add`] | `x += y` |
//! | [`scale`] | `x *= factor` |
//! | [`convert`] | weights and activations in another storage format, rounded to nearest, ties to even |
//! | [`bias_gradient`] | `db += Σ_rows dy` |
//! | [`sum_of_squares`] | `Σ x²`, for gradient norms |
//! | [`all_finite`] | whether no element is infinite or NaN |
//! | [`histogram`] | counts by sign and logarithm of the magnitude, for probes |
//!
//! The order of summation is fixed: blocks of [`BLOCK`] elements, each summed as by [`sums`](super::real::sums), then over the
//! blocks in ascending order.

mod bins;
pub mod cpu;
pub mod cuda;

pub use bins::LogBins;
pub use cpu::{add, all_finite, bias_gradient, convert, histogram, scale, sum_of_squares};

/// Number of elements per partial sum.
pub const BLOCK: usize = 16_384;
/// Number of rows per partial sum of [`bias_gradient`].
pub const BLOCK_ROWS: usize = 64;
