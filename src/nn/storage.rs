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

/// Elements of 16 bytes.
pub(super) const fn pack<T>() -> usize {
    16 / size_of::<T>()
}

/// Accesses of 16 bytes per row.
pub(super) const fn packs<T>(columns: usize) -> u64 {
    columns.div_ceil(pack::<T>()) as u64
}

/// Accesses of a row whose elements a thread keeps in registers, as in kernels/nn/norm.cuh and softmax.cuh.
pub(super) const KEPT_PACKS: u32 = 4;

/// Most parts of the rows of a matrix whose columns are summed apart.
const MAX_PARTS: usize = 128;
/// Fewest rows of a part.
const MIN_ROWS: usize = 32;

/// Rows of a part, and parts, of a matrix whose columns are summed: of the number of rows only, so that a sum has one order.
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
