//! Scalar types and precisions of a simulation's state.

use crate::choices;
use std::{
    fmt::Debug,
    iter::Sum,
    ops::{Add, AddAssign, Div, Mul, Neg, Sub},
};

choices! {
    /// Precision of the state.
    pub enum StatePrecision {
        /// Double precision: the reference.
        #[title("Double (f64)")]
        F64,
        /// Single precision: half the memory traffic.
        #[title("Single (f32)")]
        F32,
    }
}

/// Scalar type of the state: `f64` or `f32`. Operations are never fused, so that every backend that evaluates in the written
/// order returns the same bits.
pub trait Real:
    crate::sim::snapshot::Element
    + Copy
    + Send
    + Sync
    + Default
    + Debug
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + Sum
    + 'static
{
    /// Additive identity, 0.
    const ZERO: Self;
    /// Multiplicative identity, 1.
    const ONE: Self;
    /// Size of a value, bytes.
    const BYTES: usize;
    /// Distance from 1 to the next larger value.
    const EPSILON: f64;
    /// Rounds `x` to the nearest value of this type.
    fn of(x: f64) -> Self;
    /// Converts to f64 without rounding.
    fn wide(self) -> f64;
    /// Converts a synapse count; exact below 2^24.
    fn of_count(count: i32) -> Self;
    /// Computes the absolute value of `self`.
    fn abs(self) -> Self;
    /// Returns the larger of the two values; if one is NaN, the other.
    fn max(self, other: Self) -> Self;
    /// Returns the larger of the two values, in one instruction; `other` if they are equal or one is NaN.
    fn larger(self, other: Self) -> Self;
    /// Computes the square root of `self`.
    fn sqrt(self) -> Self;
    /// Computes the exponential e^x for x ≤ 0.
    fn exp_neg(self) -> Self;
    /// Computes the natural logarithm of `self`.
    fn ln(self) -> Self;
    /// Computes the hyperbolic tangent of `self`.
    fn tanh(self) -> Self;
    /// Returns the sine and cosine of `self`.
    fn sin_cos(self) -> (Self, Self);
    /// Computes the angle of the point (x, y) = (other, self).
    fn atan2(self, other: Self) -> Self;
    /// Returns the largest integer not above `self`.
    fn floor(self) -> Self;
    /// Returns the number of whole steps, rounded down, at least 0; saturates.
    fn floor_steps(self) -> u32;
    /// Returns bits whose order as unsigned integers is that of the values; -0 and 0 have the same bits.
    fn ordered(self) -> u64;
    /// Returns the bits of the value, for saved states.
    fn to_bits(self) -> u64;
    /// Converts bits of [`Real::to_bits`] to the value.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! real {
    ($T:ident, $Bits:ident, $decay:expr) => {
        impl Real for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const BYTES: usize = size_of::<$T>();
            const EPSILON: f64 = $T::EPSILON as f64;
            fn of(x: f64) -> Self {
                x as $T
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn of_count(count: i32) -> Self {
                count as $T
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn max(self, other: Self) -> Self {
                $T::max(self, other)
            }
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn exp_neg(self) -> Self {
                $decay(self)
            }
            fn ln(self) -> Self {
                self.ln()
            }
            fn tanh(self) -> Self {
                self.tanh()
            }
            fn sin_cos(self) -> (Self, Self) {
                self.sin_cos()
            }
            fn atan2(self, other: Self) -> Self {
                self.atan2(other)
            }
            fn floor(self) -> Self {
                self.floor()
            }
            fn floor_steps(self) -> u32 {
                self as u32
            }
            fn ordered(self) -> u64 {
                let bits = (self + 0.0).to_bits();
                let top: $Bits = 1 << ($Bits::BITS - 1);
                u64::from(if bits & top == 0 { bits | top } else { !bits })
            }
            fn to_bits(self) -> u64 {
                $T::to_bits(self).into()
            }
            fn from_bits(bits: u64) -> Self {
                $T::from_bits(bits as $Bits)
            }
        }
    };
}
real!(f32, u32, exp_neg_f32);
real!(f64, u64, exp_neg_f64);

// These functions have no branches and calls, so that loops over them vectorise. Adding ONES, whose lowest mantissa bit has the
// value 1, rounds the exponent of two to an integer.

/// Computes the exponential e^x for x ≤ 0 (Cephes `expf`); 0 below -87.
#[inline(always)]
#[expect(clippy::excessive_precision, reason = "published coefficients")]
fn exp_neg_f32(x: f32) -> f32 {
    const ONES: f32 = 12_582_912.0;
    let clipped = if x < -87.0 { -87.0 } else { x };
    let shifted = clipped * std::f32::consts::LOG2_E + ONES;
    let n = shifted - ONES;
    let r = clipped - n * 0.693_359_375 - n * -2.121_944_40e-4;
    let mut y = 1.987_569_15e-4_f32;
    for c in [1.398_199_95e-3, 8.333_451_91e-3, 4.166_579_58e-2, 1.666_666_55e-1, 5.000_000_12e-1] {
        y = y * r + c;
    }
    let y = y * (r * r) + r + 1.0;
    let power = f32::from_bits(shifted.to_bits().wrapping_sub(ONES.to_bits()).wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { y * power }
}

/// Computes the exponential e^x for x ≤ 0 (Taylor series to the 13th power after range reduction); 0 below -700.
#[inline(always)]
fn exp_neg_f64(x: f64) -> f64 {
    const ONES: f64 = 6_755_399_441_055_744.0;
    const LN2: (f64, f64) = (6.931_457_519_531_25e-1, 1.428_606_820_309_417_2e-6);
    let clipped = if x < -700.0 { -700.0 } else { x };
    let shifted = clipped * std::f64::consts::LOG2_E + ONES;
    let n = shifted - ONES;
    let r = clipped - n * LN2.0 - n * LN2.1;
    let mut y = 1.0 / 6_227_020_800.0;
    for c in
        [479_001_600.0, 39_916_800.0, 3_628_800.0, 362_880.0, 40_320.0, 5_040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0]
    {
        y = y * r + 1.0 / c;
    }
    let power = f64::from_bits(shifted.to_bits().wrapping_sub(ONES.to_bits()).wrapping_add(1023) << 52);
    if x < -700.0 { 0.0 } else { y * power }
}

/// Wraps a phase into [-π, π].
#[inline]
pub fn wrapped<T: Real>(phase: T) -> T {
    let turns = (phase * T::of(std::f64::consts::TAU.recip()) + T::of(0.5)).floor();
    phase - turns * T::of(std::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_are_monotonic() {
        let numbers = [f64::NEG_INFINITY, -3.0, -1e-300, 0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(numbers.map(Real::ordered).is_sorted());
        assert!([-3.0_f32, -0.5, 0.0, 0.25, 7.0].map(Real::ordered).is_sorted());
        assert_eq!((-0.0_f32).ordered(), 0.0_f32.ordered());
    }

    #[test]
    fn exp_neg_matches_exp() {
        for i in 0..60_000 {
            let x = -f64::from(i) * 0.0015;
            assert!((x.exp_neg() - x.exp()).abs() <= 4e-16 * x.exp(), "{x}");
            let single = x as f32;
            let want = f64::from(single).exp();
            assert!((f64::from(single.exp_neg()) - want).abs() <= 2e-7 * want + 2e-38, "{x}");
        }
        assert_eq!((0.0_f32.exp_neg(), 0.0_f64.exp_neg()), (1.0, 1.0));
        assert_eq!((f32::MIN.exp_neg(), f64::MIN.exp_neg(), f64::NEG_INFINITY.exp_neg()), (0.0, 0.0, 0.0));
    }

    #[test]
    fn wrapped_phases_are_in_range() {
        for (phase, want) in [(0.0, 0.0), (3.5, 3.5 - std::f64::consts::TAU), (-4.0, std::f64::consts::TAU - 4.0)] {
            assert!((wrapped(phase) - want).abs() < 1e-15);
        }
        assert!(wrapped(1e4_f32).abs() <= std::f32::consts::PI);
    }
}
