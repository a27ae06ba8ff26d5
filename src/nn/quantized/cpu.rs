//! CPU definition of the operations on 8-bit integers.
//!
//! Every floating-point operation is f32 and rounded once, in the order written; sums are integers. [`exact::exp`] is the only
//! elementary function, so results have the same bits everywhere.

use crate::{nn::real::wide_fn, num::exact};

/// Number of fixed-point units per 1.0 in the sums of [`mean_magnitude`].
const UNITS: f32 = 1_048_576.0;

/// Rounds half to even and clips to ±127. NaN becomes 0.
#[inline(always)]
pub fn q8(x: f32) -> i8 {
    // Compilers do not vectorise a saturating cast.
    let number = if x.is_nan() { 0.0 } else { x };
    (number.clamp(-127.0, 127.0) + exact::WHOLE).to_bits() as i8
}

/// Writes `q8(x scale / max(1, mean |x|))` to `y`, which has the length of `x`.
#[inline(always)]
pub fn abs_mean_norm(x: &[i8], scale: f32, y: &mut [i8]) {
    let mut sum = 0;
    for x in x {
        sum += u32::from(x.unsigned_abs());
    }
    let mean = (sum as f32 / x.len().max(1) as f32).max(1.0);
    for (y, x) in y.iter_mut().zip(x) {
        *y = q8(f32::from(*x) * scale / mean);
    }
}

wide_fn! {
    /// Normalises rows of `width` elements, see [`abs_mean_norm`].
    pub fn norm_rows(x: &[i8], width: usize, scale: f32, y: &mut [i8]) {
        for (x, y) in x.chunks_exact(width).zip(y.chunks_exact_mut(width)) {
            abs_mean_norm(x, scale, y);
        }
    }
}

wide_fn! {
    /// Adds `scale · o` to the residual stream, see [`add_row`].
    pub fn add(x: &mut [i8], o: &[f32], scale: f32) {
        add_row(x, o, scale);
    }
}

wide_fn! {
    /// Adds rows of `width` elements to the residual stream, each multiplied by `scale` and divided by its mean magnitude.
    pub fn add_normalised_rows(x: &mut [i8], o: &[f32], width: usize, scale: f32) {
        for (x, o) in x.chunks_exact_mut(width).zip(o.chunks_exact(width)) {
            add_row(x, o, scale / (mean_magnitude(o) + 1e-6));
        }
    }
}

/// Adds `scale · o`, rounded half to even, to a row of the residual stream and clips to ±127.
#[inline(always)]
pub fn add_row(x: &mut [i8], o: &[f32], scale: f32) {
    for (x, o) in x.iter_mut().zip(o) {
        *x = q8(f32::from(*x) + (scale * o).round_ties_even());
    }
}

/// Returns the mean of the magnitudes of a row. Each is rounded to 2⁻²⁰ and summed as an integer, so that the order
/// does not matter; magnitudes of 2^30 and above count as 2^30.
#[inline(always)]
pub fn mean_magnitude(o: &[f32]) -> f32 {
    let mut sum = 0;
    for o in o {
        let units = f64::from(o.abs().min(1_073_741_824.0) * UNITS);
        sum += ((units + exact::WHOLE_F64).to_bits() - exact::WHOLE_F64.to_bits()) as i64;
    }
    sum as f32 / UNITS / o.len().max(1) as f32
}

/// Returns GELU in its tanh approximation: `x / (1 + exp(-2 u))`, `u = sqrt(2/π) (x + 0.044715 x³)`.
#[inline(always)]
pub fn gelu_of(x: f32) -> f32 {
    let u = 0.797_884_6 * (x + 0.044_715 * (x * x * x));
    x / (1.0 + exact::exp(-2.0 * u))
}

wide_fn! {
    /// Applies GELU, scales and quantises: `y = q8(scale · gelu(z))`.
    pub fn gelu(z: &[f32], scale: f32, y: &mut [i8]) {
        for (y, z) in y.iter_mut().zip(z) {
            *y = q8(scale * gelu_of(*z));
        }
    }
}

wide_fn! {
    /// Adds `positions` to each sequence of their length, then applies GELU, scales and quantises.
    pub fn position_gelu(z: &[f32], positions: &[f32], scale: f32, y: &mut [i8]) {
        let sequence = positions.len().max(1);
        for (y, z) in y.chunks_mut(sequence).zip(z.chunks(sequence)) {
            for (y, (z, p)) in y.iter_mut().zip(z.iter().zip(positions)) {
                *y = q8(scale * gelu_of(z + p));
            }
        }
    }
}

wide_fn! {
    /// Converts integer sums of products to `scale · sum`.
    pub fn scaled(sums: &[i32], scale: f32, products: &mut [f32]) {
        for (product, sum) in products.iter_mut().zip(sums) {
            *product = *sum as f32 * scale;
        }
    }
}

/// Writes the embedding of a token: weights -1, 0, 1 plus `sign` times their integer perturbation in units of
/// 2^-`shift`.
///
/// With `is_fixed_point` the row holds `(w << shift) + sign · e`, in units of 2^-`shift`, which the next multiplication
/// scales; else it is rounded to integers, which loses most perturbations.
pub fn embed(weights: &[i8], noise: &[i8], (sign, shift): (i8, u32), is_fixed_point: bool, y: &mut [i8]) {
    merge(weights, noise, sign, shift, y);
    if !is_fixed_point {
        let unit = 1.0 / (1u32 << shift) as f32;
        y.iter_mut().for_each(|y| *y = q8(f32::from(*y) * unit));
    }
}

wide_fn! {
    /// Writes weights with their perturbation, see [`merged`].
    pub fn merge(weights: &[i8], noise: &[i8], sign: i8, shift: u32, y: &mut [i8]) {
        for (y, (w, e)) in y.iter_mut().zip(weights.iter().zip(noise)) {
            *y = merged(*w, *e, sign, shift);
        }
    }
}

/// Returns `(w << shift) + sign · e`: a weight with its perturbation in units of 2^-`shift`, clipped to ±127.
#[inline(always)]
pub fn merged(weight: i8, noise: i8, sign: i8, shift: u32) -> i8 {
    let wide = (i32::from(weight) << shift) + i32::from(sign) * i32::from(noise);
    wide.clamp(-127, 127) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_have_no_order() {
        let mut o = [0.25, -1e-3, 3.0, -0.125, 1e7];
        let mean = mean_magnitude(&o);
        o.reverse();
        assert_eq!(mean, mean_magnitude(&o));
        assert!((mean - 2_000_000.7).abs() < 1.0);
    }

    #[test]
    fn fixed_point_embeddings_keep_perturbations_that_whole_units_lose() {
        let (weights, noise) = ([1, 0, -1, 1], [3, -2, 1, -4]);
        let mut y = [0; 4];
        embed(&weights, &noise, (1, 3), true, &mut y);
        assert_eq!(y, [11, -2, -7, 4]);
        embed(&weights, &noise, (1, 3), false, &mut y);
        assert_eq!(y, [1, 0, -1, 0], "1.375, -0.25, -0.875 and 0.5: half to even");
    }
}
