//! Operations on whole buffers that a model needs between the others.
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
//! Sums have one order: blocks of [`BLOCK`] elements, each as [`sums`](super::real::sums) adds, then over the blocks in
//! ascending order.

mod bins;
pub mod cpu;
pub mod cuda;

pub use bins::LogBins;
pub use cpu::{add, all_finite, bias_gradient, convert, histogram, scale, sum_of_squares};

/// Elements of one partial sum.
pub const BLOCK: usize = 16_384;
/// Rows of one partial sum of [`bias_gradient`].
pub const BLOCK_ROWS: usize = 64;
