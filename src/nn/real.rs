//! Scalar types that the definitions are generic over, f32 and f64, and their elementary functions.
//!
//! # Elementary functions
//!
//! [`Real::exp_wide`], [`Real::tanh_wide`], [`Real::erf_wide`], [`Real::erfc_wide`] and [`Real::ln_wide`] take and return f64,
//! with the accuracy that `Self` needs: an operation computes in f64 and rounds its result once. For f32 they are branch-free
//! polynomials with one quotient at most, see [`math`], so that loops over them vectorise and give the same bits on every
//! machine; rounded to f32 they are within 0.51 units in the last place. For f64 they are the functions of the standard library,
//! whose last bit may depend on the machine.
//!
//! Loops over them run inside [`wide`], which compiles them for the vector instructions of the processor. Nothing is contracted
//! or reordered, so the instruction set does not change a bit.

pub mod math;
mod sums;
mod wide;

pub use sums::{LANES, max, sums};
pub(crate) use wide::wide_fn;
pub use wide::{Loop, wide, wide_loop};

use super::gemm::cpu::{Element, Sum};
use num_traits::{Float, NumAssign};
use std::iter;

/// A scalar, f32 or f64. Sums have the same type unless an operation states otherwise.
pub trait Real:
    Float + NumAssign + Sum + Element<Sum = Self> + iter::Sum + std::fmt::Debug + std::fmt::Display
{
    /// Rounds `x` to this type.
    fn of(x: f64) -> Self;
    /// Converts to f64 without rounding.
    fn f64(self) -> f64;
    /// Computes the exponential function `e^x`.
    fn exp_wide(x: f64) -> f64;
    /// Computes the hyperbolic tangent of `x`.
    fn tanh_wide(x: f64) -> f64;
    /// Computes the error function of `x`.
    fn erf_wide(x: f64) -> f64;
    /// Computes the complementary error function `1 - erf(x)`, without cancellation.
    fn erfc_wide(x: f64) -> f64;
    /// Computes the natural logarithm of `x`.
    fn ln_wide(x: f64) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x as Self
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self.into()
    }
    #[inline(always)]
    fn exp_wide(x: f64) -> f64 {
        math::exp(x)
    }
    #[inline(always)]
    fn tanh_wide(x: f64) -> f64 {
        math::tanh(x)
    }
    #[inline(always)]
    fn erf_wide(x: f64) -> f64 {
        math::erf(x)
    }
    #[inline(always)]
    fn erfc_wide(x: f64) -> f64 {
        math::erfc(x)
    }
    #[inline(always)]
    fn ln_wide(x: f64) -> f64 {
        math::ln(x)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }
    #[inline(always)]
    fn f64(self) -> f64 {
        self
    }
    fn exp_wide(x: f64) -> f64 {
        x.exp()
    }
    fn tanh_wide(x: f64) -> f64 {
        x.tanh()
    }
    fn erf_wide(x: f64) -> f64 {
        math::erf_f64(x)
    }
    fn erfc_wide(x: f64) -> f64 {
        math::erfc_f64(x)
    }
    fn ln_wide(x: f64) -> f64 {
        x.ln()
    }
}

macro_rules! in_place {
    ($($(#[doc = $docs:literal])* $name:ident = $function:ident;)*) => { $(
        $(#[doc = $docs])*
        pub fn $name<R: Real>(x: &mut [R]) {
            wide(|| x.iter_mut().for_each(|x| *x = R::of(R::$function(x.f64()))));
        }
    )* };
}
in_place! {
    /// `e^x` of every element, in place; f32 within 0.51 units in the last place.
    vexp = exp_wide;
    /// Hyperbolic tangent of every element, in place; f32 within 0.51 units in the last place.
    vtanh = tanh_wide;
    /// Error function of every element, in place; f32 within 0.51 units in the last place.
    verf = erf_wide;
    /// Natural logarithm of every element, in place; f32 within 0.51 units in the last place.
    vln = ln_wide;
}

#[cfg(test)]
mod tests;
