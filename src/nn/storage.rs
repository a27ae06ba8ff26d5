//! Types that tensors are stored in on a device; kernels compute in f32.

use super::gemm::cuda::{Operand, Output};
use crate::{
    gpu::layout::CudaType,
    num::elements::{Bf16, F16},
};

/// A storage format, as kernels and files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Single precision.
    F32,
    /// IEEE binary16.
    F16,
    /// bfloat16.
    Bf16,
}

/// f32, f16 or bf16.
pub trait Storage: CudaType + Operand<Sum = f32> + Output<Sum = f32> {
    /// Which of them.
    const STORAGE: Format;
    /// Rounded to nearest, ties to even.
    fn round(x: f32) -> Self;
    /// Exact.
    fn widen(self) -> f32;
}

impl Storage for f32 {
    const STORAGE: Format = Format::F32;
    fn round(x: f32) -> Self {
        x
    }
    fn widen(self) -> f32 {
        self
    }
}

macro_rules! halves {
    ($($T:ident => $Format:ident),*) => { $(
        impl Storage for $T {
            const STORAGE: Format = Format::$Format;
            fn round(x: f32) -> Self {
                crate::num::elements::Element::from_f32(x)
            }
            fn widen(self) -> f32 {
                crate::num::elements::Element::to_f32(self)
            }
        }
    )* };
}
halves!(F16 => F16, Bf16 => Bf16);
