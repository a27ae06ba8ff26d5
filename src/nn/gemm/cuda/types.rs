//! Element types of multiplications.

use crate::{
    gpu::layout::CudaType,
    nn::gemm::cpu::Sum,
    num::elements::{Bf16, F16},
};

/// Element type of operands, or of C; for C, [`Format::S8`] stands for 32-bit integers and [`Format::Bytes`] for 8-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE binary32, single precision.
    F32 = 0,
    /// IEEE binary16, 11 significant bits.
    F16 = 1,
    /// bfloat16, 8 significant bits.
    Bf16 = 2,
    /// Signed 8-bit integers.
    S8 = 3,
    /// Signed 8-bit integers, rounded from scaled sums; for C only.
    Bytes = 4,
}

impl Format {
    /// Returns the bytes per element of an operand.
    pub(super) const fn bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::S8 | Self::Bytes => 1,
        }
    }

    /// Returns the bytes per element of C.
    pub(super) const fn bytes_of_sums(self) -> usize {
        if let Self::S8 = self { 4 } else { self.bytes() }
    }
}

/// Element type of operands.
pub trait Operand: CudaType {
    /// Type of the sums.
    type Sum: Scale;
    /// Format of the type.
    const FORMAT: Format;
}

/// Element type of C, bias and residual.
pub trait Output: CudaType {
    /// Type of the sums that it holds, exactly or rounded.
    type Sum: Scale;
    /// Format of the type; [`Format::S8`] stands for 32-bit integers.
    const FORMAT: Format;
}

/// Type of alpha and beta.
pub trait Scale: Sum {
    /// Returns the kernel arguments: the value for f32 sums and for integer sums; the other one is 0.
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
