//! Loops over the adjacent elements of a row. They are called inside [`wide`](crate::nn::real::wide), and vectorise.

use crate::nn::real::{LANES, Real};

/// Replaces each element `x` by `exp(x - shift)`.
#[inline(always)]
pub fn exponentials<R: Real>(row: &mut [R], shift: R) {
    let shift = shift.f64();
    row.iter_mut().for_each(|x| *x = R::of(R::exp_wide(x.f64() - shift)));
}

/// Computes the sum of a row, in interleaved parts.
#[inline(always)]
pub fn sum<R: Real>(row: &[R]) -> R {
    let mut parts = [R::zero(); LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        (0..LANES).for_each(|l| parts[l] += chunk[l]);
    }
    rest.iter().zip(&mut parts).for_each(|(x, part)| *part += *x);
    parts.into_iter().fold(R::zero(), |a, b| a + b)
}

/// Computes the dot product `Σ a b`, in interleaved parts.
#[inline(always)]
pub fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let mut parts = [R::zero(); LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((part, a), b) in parts.iter_mut().zip(a).zip(b) {
            *part += *a * *b;
        }
    }
    parts.into_iter().fold(R::zero(), |a, b| a + b)
}
