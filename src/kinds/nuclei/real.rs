//! The two arithmetics a population can be computed in.

use crate::num::exact;
use std::{
    fmt::Debug,
    iter::Sum,
    ops::{Add, AddAssign, Div, Mul, Neg, Sub},
};

/// A real number of the state.
pub trait Real:
    Copy
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
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Bytes of one number.
    const BYTES: usize;
    /// Nearest number.
    fn of(x: f64) -> Self;
    /// Exact.
    fn wide(self) -> f64;
    /// Magnitude.
    fn abs(self) -> Self;
    /// Larger of the two.
    fn max(self, other: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// e to the power of this, which is not positive.
    fn decay(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Sine and cosine.
    fn sin_cos(self) -> (Self, Self);
    /// Angle of (x, y) = (other, self).
    fn atan2(self, other: Self) -> Self;
    /// Whole number below.
    fn floor(self) -> Self;
    /// Bits that compare as unsigned numbers in the order of the numbers; -0 and 0 are the same.
    fn ordered(self) -> u64;
    /// The bits, for saved states.
    fn to_bits(self) -> u64;
    /// The reverse of `to_bits`.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! real {
    ($T:ident, $Bits:ident, $decay:expr) => {
        impl Real for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const BYTES: usize = size_of::<$T>();
            fn of(x: f64) -> Self {
                x as $T
            }
            fn wide(self) -> f64 {
                self.into()
            }
            fn abs(self) -> Self {
                self.abs()
            }
            fn max(self, other: Self) -> Self {
                $T::max(self, other)
            }
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn decay(self) -> Self {
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
real!(f32, u32, exact::exp);
real!(f64, u64, f64::exp);

/// A phase brought to [-π, π].
#[inline]
pub fn wrapped<T: Real>(phase: T) -> T {
    let turns = (phase * T::of(std::f64::consts::TAU.recip()) + T::of(0.5)).floor();
    phase - turns * T::of(std::f64::consts::TAU)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_order() {
        let numbers = [f64::NEG_INFINITY, -3.0, -1e-300, 0.0, 1e-300, 2.0, f64::INFINITY];
        assert!(numbers.map(Real::ordered).is_sorted());
        assert!([-3.0_f32, -0.5, 0.0, 0.25, 7.0].map(Real::ordered).is_sorted());
        assert_eq!((-0.0_f32).ordered(), 0.0_f32.ordered());
    }

    #[test]
    fn wrapping() {
        for (phase, want) in [(0.0, 0.0), (3.5, 3.5 - std::f64::consts::TAU), (-4.0, std::f64::consts::TAU - 4.0)] {
            assert!((wrapped(phase) - want).abs() < 1e-15);
        }
        assert!(wrapped(1e4_f32).abs() <= std::f32::consts::PI);
    }
}
