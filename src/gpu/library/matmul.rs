//! A multiplication in the words of cuBLASLt.

use std::ffi::c_int;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// Single precision.
    F32 = 0,
    /// IEEE binary16.
    F16 = 2,
    /// Signed bytes.
    S8 = 3,
    /// Signed 32-bit integers.
    S32 = 10,
    /// bfloat16.
    Bf16 = 14,
}

/// A column-major matrix of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// Whether it is multiplied as its transpose.
    pub is_transposed: bool,
    /// Elements from a column to the next.
    pub ld: i64,
    /// Elements from a matrix to the next.
    pub stride: i64,
}

/// `C = alpha · A B + beta · C`, column-major, without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matmul {
    /// Rows of C.
    pub rows: u64,
    /// Columns of C.
    pub columns: u64,
    /// Addends of a sum.
    pub k: u64,
    /// Multiplications.
    pub batch: usize,
    /// A.
    pub a: Matrix,
    /// B.
    pub b: Matrix,
    /// C, never transposed.
    pub c: Matrix,
    /// Type of A and B.
    pub operands: Scalar,
    /// Type of C and of the bias.
    pub out: Scalar,
    /// Whether f32 operands may be rounded to tf32.
    pub is_tf32: bool,
    /// What follows.
    pub fused: Fused,
}

/// `CUBLASLT_EPILOGUE_…`: a bias is one number per row of C, GELU its tanh form, aux its argument in the layout of C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fused {
    /// Nothing.
    None = 1,
    /// ReLU.
    Relu = 2,
    /// Bias.
    Bias = 4,
    /// ReLU after a bias.
    BiasRelu = 6,
    /// GELU.
    Gelu = 32,
    /// GELU after a bias.
    BiasGelu = 36,
    /// GELU that writes its argument.
    GeluAux = 160,
    /// The same after a bias.
    BiasGeluAux = 164,
    /// The product times GELU′ of aux.
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
