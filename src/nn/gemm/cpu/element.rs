//! Element types of operands.

use super::{Sum, pack};
use crate::num::elements::{Bf16, Element as _, F16};

/// Element of an operand; products are summed in the type that it is widened to.
pub trait Element: Copy + Default + Send + Sync {
    /// Type of the sums and of C.
    type Sum: Sum;
    /// Number of k per packed element.
    #[doc(hidden)]
    const PER_PACKED: usize = 1;
    /// Converts to the type of the sums, without rounding.
    fn widen(self) -> Self::Sum;
    #[doc(hidden)]
    #[inline(always)]
    fn packed(first: Self, _second: impl FnOnce() -> Self) -> Self::Sum {
        first.widen()
    }
    /// Returns operands as sums without a copy; `None` if the operands must be widened.
    #[doc(hidden)]
    fn as_sums(_: &[Self]) -> Option<&[Self::Sum]> {
        None
    }
    /// Packs eight lines with adjacent k.
    #[doc(hidden)]
    const TRANSPOSE: pack::Transpose<Self, Self::Sum> = pack::transpose_none;
}

impl Element for f32 {
    type Sum = Self;
    const TRANSPOSE: pack::Transpose<Self, Self::Sum> = pack::transpose_f32;
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    fn as_sums(all: &[Self]) -> Option<&[Self]> {
        Some(all)
    }
}

impl Element for f64 {
    type Sum = Self;
    #[inline(always)]
    fn widen(self) -> Self {
        self
    }
    fn as_sums(all: &[Self]) -> Option<&[Self]> {
        Some(all)
    }
}

impl Element for F16 {
    type Sum = f32;
    const TRANSPOSE: pack::Transpose<Self, Self::Sum> = pack::transpose_f16;
    #[inline(always)]
    fn widen(self) -> f32 {
        self.to_f32()
    }
}

impl Element for Bf16 {
    type Sum = f32;
    const TRANSPOSE: pack::Transpose<Self, Self::Sum> = pack::transpose_bf16;
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }
}

impl Element for i8 {
    type Sum = i32;
    const PER_PACKED: usize = 2;
    const TRANSPOSE: pack::Transpose<Self, Self::Sum> = pack::transpose_i8;
    #[inline(always)]
    fn widen(self) -> i32 {
        self.into()
    }
    /// Packs two 16-bit values, for instructions that multiply and add pairs.
    #[inline(always)]
    fn packed(first: Self, second: impl FnOnce() -> Self) -> i32 {
        i32::from(second()) << 16 | i32::from(first) & 0xffff
    }
}
