//! Helpers for the unit tests of operations.

use super::real::Real;

/// Returns values in (-1, 1) from a linear congruential generator.
pub fn numbers<R: Real>(len: usize, seed: u64) -> Vec<R> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        R::of((state >> 40) as f64 / f64::from(1 << 23) - 1.0)
    };
    (0..len).map(|_| next()).collect()
}

/// Returns the maximum difference between a gradient and central differences of `f`, relative to the gradient's largest element
/// or 1.
pub fn derivative_error(x: &[f64], gradient: &[f64], f: impl Fn(&[f64]) -> f64) -> f64 {
    let h = 1e-5;
    let difference = |i: usize| {
        let at = |by: f64| {
            let mut x = x.to_vec();
            x[i] += by;
            f(&x)
        };
        // Central difference of fourth order.
        (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
    };
    let size = gradient.iter().fold(1.0_f64, |size, g| size.max(g.abs()));
    (0..x.len()).map(|i| (difference(i) - gradient[i]).abs() / size).fold(0.0, f64::max)
}
