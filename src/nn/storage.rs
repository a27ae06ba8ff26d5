//! Storage formats of tensors on a device; kernels compute in f32.

use super::gemm::cuda::{Operand, Output};
use crate::{
    gpu::layout::CudaType,
    num::elements::{Bf16, F16},
};

/// A storage format, as named by kernels and files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// IEEE binary32, single precision.
    F32,
    /// IEEE binary16, 11 significant bits.
    F16,
    /// bfloat16, 8 significant bits.
    Bf16,
}

/// An element type of tensors on a device: f32, f16 or bf16.
pub trait Storage: CudaType + Operand<Sum = f32> + Output<Sum = f32> {
    /// Format of the type.
    const STORAGE: Format;
    /// Rounds `x` to nearest, ties to even.
    fn round(x: f32) -> Self;
    /// Converts to f32 without rounding.
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

/// Returns the number of elements in 16 bytes.
pub(super) const fn pack<T>() -> usize {
    16 / size_of::<T>()
}

/// Returns the number of 16-byte accesses per row.
pub(super) const fn packs<T>(columns: usize) -> u64 {
    columns.div_ceil(pack::<T>()) as u64
}

/// Maximum number of 16-byte packs of a row that a thread keeps in registers, as in kernels/nn/norm.cuh and softmax.cuh.
pub(super) const KEPT_PACKS: u32 = 4;

/// Maximum number of row ranges with a partial sum each.
const MAX_PARTS: usize = 128;
/// Minimum number of rows per range.
const MIN_ROWS: usize = 32;

/// Splits the rows of a column sum into ranges: rows per range, number of ranges. Both depend only on `rows`, so that the order
/// of summation is fixed.
pub(super) fn parts(rows: usize) -> (usize, usize) {
    let per_part = rows.div_ceil(MAX_PARTS).max(MIN_ROWS);
    (per_part, rows.div_ceil(per_part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_all_rows() {
        for rows in [0, 1, 31, 32, 33, 4096, 4097, 65_536, 1_000_003] {
            let (per_part, n) = parts(rows);
            assert!(n * per_part >= rows && n <= MAX_PARTS && (n == 0 || (n - 1) * per_part < rows), "{rows}");
        }
    }
}
