//! Element types.

use crate::{
    gpu::layout::CudaType,
    nn::gemm::cpu::Sum,
    num::elements::{Bf16, F16},
};

/// Type of both operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Single precision.
    F32 = 0,
    /// IEEE binary16.
    F16 = 1,
    /// bfloat16.
    Bf16 = 2,
    /// Signed bytes.
    S8 = 3,
}

impl Format {
    /// Bytes of an operand's element.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::S8 => 1,
        }
    }

    /// Bytes of an element of C.
    pub(super) const fn bytes_of_sums(self) -> usize {
        if let Self::S8 = self { 4 } else { self.bytes() }
    }
}

/// An element type of operands.
pub trait Operand: CudaType {
    /// Type of the sums.
    type Sum: Scale;
    /// Its format.
    const FORMAT: Format;
}

/// An element type of C, bias and residual.
pub trait Output: CudaType {
    /// Type of the sums it holds, exactly or rounded.
    type Sum: Scale;
    /// Its format; [`Format::S8`] stands for 32-bit integers.
    const FORMAT: Format;
}

/// A type of alpha and beta.
pub trait Scale: Sum {
    /// As the kernels take it: for f32 sums, for integer sums.
    fn pair(self) -> (f32, i32);
}

impl Scale for f32 {
    fn pair(self) -> (f32, i32) {
        (self, 0)
    }
}

impl Scale for i32 {
    fn pair(self) -> (f32, i32) {
        (0.0, self)
    }
}

macro_rules! element {
    ($Trait:ident: $($T:ty => $S:ty, $Format:ident;)*) => {
        $( impl $Trait for $T { type Sum = $S; const FORMAT: Format = Format::$Format; } )*
    };
}
element!(Operand: f32 => f32, F32; F16 => f32, F16; Bf16 => f32, Bf16; i8 => i32, S8;);
element!(Output: f32 => f32, F32; F16 => f32, F16; Bf16 => f32, Bf16; i32 => i32, S8;);
