//! Elementary functions that are accurate after rounding to f32: the relative error is at most 5e-10, while half a unit in the
//! last place of an f32 is 3e-8 or more.
//!
//! Arguments and results are f64, computed only with additions, products and quotients: no fused operation, no table, no branch
//! (choices are selections), so that loops vectorise and give the same bits on every machine. Arguments are expected to come from
//! f32 arithmetic: results beyond the range of f32 are clamped. Coefficients are those of interpolations at Chebyshev nodes,
//! computed with 40 digits.

use std::f64::consts::{LN_2, LOG2_E};

/// 1.5 · 2^52: adding it leaves the nearest integer in the low bits of the sum.
const MAGIC: f64 = 6_755_399_441_055_744.0;

#[inline(always)]
fn polynomial<const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + c[i];
    }
    sum
}

/// Coefficients of `(e^r - 1 - r) / r²` for |r| <= ln(2) / 2.
const EXP: [f64; 6] = [
    0.500_000_001_346_580_9,
    0.166_666_666_816_232_3,
    0.041_666_464_925_285_905,
    0.008_333_310_925_480_9,
    0.001_393_364_999_630_925,
    0.000_198_909_908_246_736_54,
];

/// Splits `x = n ln 2 + r`, with x in ±700, into `2^n` and `e^r - 1`.
#[inline(always)]
fn split_exp(x: f64) -> (f64, f64) {
    let shifted = x * LOG2_E + MAGIC;
    let r = x - (shifted - MAGIC) * LN_2;
    // The low bits of the sum are n, which move into the exponent.
    let scale = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    (scale, r + r * r * polynomial(&EXP, r))
}

#[inline(always)]
fn clamp(x: f64, limit: f64) -> f64 {
    // Comparisons keep NaN.
    let x = if x < -limit { -limit } else { x };
    if x > limit { limit } else { x }
}

/// Computes the exponential function `e^x`. Beyond ±700 the result is that at ±700, which is 0 or infinity in f32 even after a
/// product with any f32.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let (scale, less_1) = split_exp(clamp(x, 700.0));
    scale + scale * less_1
}

/// Computes the hyperbolic tangent: `(e^2x - 1) / (e^2x + 1)`, and x if its square is negligible relative to 1.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let (scale, less_1) = split_exp(clamp(2.0 * x, 40.0));
    let numerator = scale * less_1 + (scale - 1.0);
    let t = numerator / (numerator + 2.0);
    if x.abs() < 1.0 / 65_536.0 { x } else { t }
}

/// Coefficients of `erf(x) / x` in x², for |x| <= 1.
const ERF_SMALL: [f64; 8] = [
    1.128_379_167_061_543_4,
    -0.376_126_384_680_287_1,
    0.112_837_824_952_368_45,
    -0.026_865_430_727_670_243,
    0.005_221_031_807_858_023,
    -0.000_848_408_040_553_510_6,
    0.000_112_659_590_256_066_09,
    -9.667_044_571_486_997e-6,
];
/// Coefficients of `e^(z²) erfc(z) / t` in `t = 1 / (1 + z / 2)`, for z from 1 to 14.
const ERFC_TAIL: [f64; 10] = [
    0.282_094_482_613_063_7,
    0.282_103_571_010_695_67,
    0.246_739_078_363_654_08,
    0.176_695_432_217_911_62,
    0.084_533_232_816_942_37,
    -0.020_187_619_013_320_955,
    0.019_435_800_172_417_93,
    -0.244_813_350_035_202_83,
    0.251_701_932_152_598_8,
    -0.078_524_915_774_681_74,
];

/// Returns `erfc(z)` for z >= 1; beyond 14 the value at 14, which is 0 in f32.
#[inline(always)]
fn erfc_tail(z: f64) -> f64 {
    let z = clamp(z, 14.0);
    let t = 1.0 / (1.0 + 0.5 * z);
    exp(-z * z) * (t * polynomial(&ERFC_TAIL, t))
}

/// Computes the error function of `x`.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let size = x.abs();
    let large = 1.0 - erfc_tail(size);
    let large = if x < 0.0 { -large } else { large };
    // NaN is not below 1, so `large` is returned, which is NaN.
    if size < 1.0 { x * polynomial(&ERF_SMALL, x * x) } else { large }
}

/// Computes the complementary error function `1 - erf(x)`, without cancellation where it is small.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
    let size = x.abs();
    let tail = erfc_tail(size);
    let large = if x < 0.0 { 2.0 - tail } else { tail };
    if size < 1.0 { 1.0 - x * polynomial(&ERF_SMALL, x * x) } else { large }
}

/// Computes the natural logarithm of a value in the range of f32: -∞ at 0, NaN for negative values.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    // x = 2^n m with m from sqrt(1/2) to sqrt(2).
    const SQRT_HALF: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    const ONE: u64 = 1.0_f64.to_bits();
    let bits = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    let m = f64::from_bits((bits & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    // Converts the exponent to f64 by the bits of 2^52 + exponent.
    let n = f64::from_bits(bits >> 52 | 0x4330_0000_0000_0000) - (4_503_599_627_370_496.0 + 1023.0);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    // Series of 2 artanh(s).
    let tail = polynomial(&[2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0], z);
    let y = n * LN_2 + (2.0 * s + s * z * tail);
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    let y = if x == f64::INFINITY { x } else { y };
    if x >= 0.0 { y } else { f64::NAN }
}

/// Computes the error function in double precision: `2/sqrt(π) e^{-x²} Σ 2ⁿ x^(2n+1) / (2n+1)!!`, whose terms all have the same
/// sign (Abramowitz and Stegun 7.1.6). Slow; for definitions in f64.
pub fn erf_f64(x: f64) -> f64 {
    if x.abs() > 6.0 {
        return x.signum();
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-18 * sum.abs() {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum
}

/// Computes the complementary error function in double precision. Slow; for definitions in f64.
pub fn erfc_f64(x: f64) -> f64 {
    if x < 2.0 {
        return if x < -2.0 { 2.0 - erfc_f64(-x) } else { 1.0 - erf_f64(x) };
    }
    // Continued fraction, Abramowitz and Stegun 7.1.14.
    let fraction = (1..=60).rev().fold(x, |below, k| x + 0.5 * f64::from(k) / below);
    (-x * x).exp() / (fraction * std::f64::consts::PI.sqrt())
}
