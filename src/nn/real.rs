//! The scalars that definitions are generic over: f32 and f64.

use super::gemm::cpu::{Element, Sum};
use num_traits::{Float, NumAssign};
use std::iter;

/// f32 or f64. Sums are of the same type unless an operation says otherwise.
pub trait Real:
    Float + NumAssign + Sum + Element<Sum = Self> + iter::Sum + std::fmt::Debug + std::fmt::Display
{
    /// Rounded.
    fn of(x: f64) -> Self;
    /// Exact.
    fn f64(self) -> f64;
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
}
