//! Description of a multiplication in the terms of cuBLASLt.

use std::ffi::c_int;

/// Element type, by its number in `cudaDataType_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// IEEE single precision, f32.
    F32 = 0,
    /// IEEE half precision, f16.
    F16 = 2,
    /// Signed 8-bit integers.
    S8 = 3,
    /// Signed 32-bit integers.
    S32 = 10,
    /// bfloat16, the upper half of f32.
    Bf16 = 14,
}

/// Layout of a column-major matrix in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Whether the transpose is multiplied.
    pub is_transposed: bool,
    /// Leading dimension: number of elements from one column to the next.
    pub ld: i64,
    /// Number of elements from one matrix of the batch to the next.
    pub stride: i64,
}

/// Multiplication `C = alpha · A B + beta · C`, column-major, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matmul {
    /// Number of rows of C.
    pub rows: u64,
    /// Number of columns of C.
    pub columns: u64,
    /// Size of the dimension that is summed over.
    pub k: u64,
    /// Number of matrices in the batch.
    pub batch: usize,
    /// Layout of A.
    pub a: Matrix,
    /// Layout of B.
    pub b: Matrix,
    /// Layout of C, never transposed.
    pub c: Matrix,
    /// Type of A and B.
    pub operands: Scalar,
    /// Type of C and of the bias.
    pub out: Scalar,
    /// Whether f32 operands may be rounded to tf32.
    pub is_tf32: bool,
    /// Epilogue that is fused into the multiplication.
    pub fused: Fused,
}

/// Epilogues `CUBLASLT_EPILOGUE_…`. A bias has one element per row of C; GELU is its tanh form; aux holds the argument of
/// GELU in the layout of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fused {
    /// The product alone, without epilogue.
    None = 1,
    /// ReLU of the product.
    Relu = 2,
    /// Adds a bias.
    Bias = 4,
    /// ReLU after a bias.
    BiasRelu = 6,
    /// GELU of the product.
    Gelu = 32,
    /// GELU after a bias.
    BiasGelu = 36,
    /// GELU that also writes its argument to aux.
    GeluAux = 160,
    /// GELU after a bias, which also writes its argument to aux.
    BiasGeluAux = 164,
    /// Product times GELU′ of aux.
    GeluGradient = 192,
}

impl Fused {
    pub(super) const fn has_bias(self) -> bool {
        self as c_int & 4 != 0
    }

    pub(super) const fn has_aux(self) -> bool {
        self as c_int & 128 != 0
    }
}
