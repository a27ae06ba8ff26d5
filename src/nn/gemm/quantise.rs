//! Integer sums as 8-bit integers.

use super::{Gemm, GemmError, Layout};

/// Epilogue `q8(after · f(before · sum))` of the exact sums of 8-bit integers, where f is GELU or the identity:
/// [`q8`](crate::nn::quantized::cpu::q8), [`gelu_of`](crate::nn::quantized::cpu::gelu_of). Every operation is rounded once, so
/// results have the same bits on every backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantise {
    /// Scale of the sums.
    pub before: f32,
    /// Whether f is GELU in its tanh approximation.
    pub has_gelu: bool,
    /// Scale of the results of f.
    pub after: f32,
}

impl Quantise {
    /// Checks the layouts and lengths of a multiplication. Fails as [`Gemm::check`], or if it has scales of its own.
    pub(super) fn check(gemm: &Gemm<i32>, (a, b, c): (usize, usize, usize)) -> Result<(), GemmError> {
        gemm.check(a, b, c)?;
        if (gemm.alpha, gemm.beta) == (1, 0) { Ok(()) } else { Err(GemmError::ScaledBytes) }
    }

    /// Returns the multiplication with dense row-major matrices of C that follow each other.
    pub(super) fn dense(gemm: &Gemm<i32>) -> Gemm<i32> {
        let matrix = gemm.m * gemm.n;
        Gemm { c: Layout::rows(gemm.n).stride(matrix).outer(matrix * gemm.batch), ..*gemm }
    }
}
