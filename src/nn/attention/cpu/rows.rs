//! Loops over the adjacent elements of a row, written so that they become vector instructions.

use super::LANES;
use crate::nn::real::Real;

/// `exp(x - shift)` in place.
pub fn exponentials<R: Real>(row: &mut [R], shift: R) {
    row.iter_mut().for_each(|x| *x = (*x - shift).exp());
}

/// Folds interleaved parts, then those with each other.
fn fold<R: Real>(row: &[R], start: R, f: impl Fn(R, R) -> R) -> R {
    let mut parts = [start; LANES];
    let chunks = row.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (part, x) in parts.iter_mut().zip(chunk) {
            *part = f(*part, *x);
        }
    }
    for (part, x) in parts.iter_mut().zip(rest) {
        *part = f(*part, *x);
    }
    parts.into_iter().fold(start, f)
}

/// Sum.
pub fn sum<R: Real>(row: &[R]) -> R {
    fold(row, R::zero(), |a, b| a + b)
}

/// Maximum, `-∞` of nothing. NaN is passed over.
pub fn maximum<R: Real>(row: &[R]) -> R {
    fold(row, R::neg_infinity(), |a, b| if b > a { b } else { a })
}

/// `Σ a b`
pub fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    let mut parts = [R::zero(); LANES];
    for (a, b) in a.chunks(LANES).zip(b.chunks(LANES)) {
        for ((part, a), b) in parts.iter_mut().zip(a).zip(b) {
            *part += *a * *b;
        }
    }
    parts.into_iter().fold(R::zero(), |a, b| a + b)
}
