//! [`Gemm`](super::Gemm) in the words of cuBLASLt, which is column-major.

use super::{Call, Format, Scale};
use crate::{
    gpu::{
        AnyMut, Pass,
        library::{CublasLt, LibraryError, Matmul, Matrix, Scalar},
    },
    nn::gemm::{Epilogue, Layout, Order},
};

/// Multiplies, or reports that the library cannot.
pub(super) fn run<S: Scale>(
    library: &CublasLt,
    pass: &mut Pass,
    call: &Call<'_, S>,
    c: &mut AnyMut<'_>,
) -> Result<(), LibraryError> {
    let g = &call.gemm;
    let (operands, out) = call.formats;
    if operands == Format::S8 && !matches!(call.epilogue, Epilogue::None) {
        return Err(LibraryError::Unsupported);
    }
    // A row-major matrix is the column-major one of its transpose: Cᵀ = Bᵀ Aᵀ.
    let is_row_major = g.c.order == Order::RowMajor;
    let matrix = |layout: &Layout| Matrix {
        is_transposed: (layout.order == Order::RowMajor) != is_row_major,
        ld: layout.ld as i64,
        stride: layout.stride as i64,
    };
    let (rows, columns) = if is_row_major { (g.n, g.m) } else { (g.m, g.n) };
    let (left, right) = if is_row_major { (&g.b, &g.a) } else { (&g.a, &g.b) };
    let (a, b) = if is_row_major { (call.b, call.a) } else { (call.a, call.b) };
    let (is_bias, is_gelu) = match call.epilogue {
        Epilogue::None | Epilogue::Residual(()) => (false, false),
        Epilogue::Bias(()) => (true, false),
        Epilogue::BiasGelu(()) => (true, true),
    };
    let is_residual = matches!(call.epilogue, Epilogue::Residual(()));
    // Its bias belongs to rows of the column-major result, and it adds one matrix only.
    if is_bias && !is_row_major || is_residual && g.beta != S::ZERO {
        return Err(LibraryError::Unsupported);
    }
    let matmul = Matmul {
        rows: rows as u64,
        columns: columns as u64,
        k: g.k as u64,
        batch: g.batch,
        a: matrix(left),
        b: matrix(right),
        c: Matrix { is_transposed: false, ld: g.c.ld as i64, stride: g.c.stride as i64 },
        operands: scalar(operands),
        out: if out == Format::S8 { Scalar::S32 } else { scalar(out) },
        is_tf32: call.tf32,
        is_bias,
        is_gelu,
    };
    let (alpha, beta) = (g.alpha.pair(), if is_residual { (1.0, 1) } else { g.beta.pair() });
    let added = is_residual.then_some(call.extra);
    library.multiply(pass, &matmul, (alpha, beta), (a, b), c, added, is_bias.then_some(call.extra))
}

const fn scalar(format: Format) -> Scalar {
    match format {
        Format::F32 => Scalar::F32,
        Format::F16 => Scalar::F16,
        Format::Bf16 => Scalar::Bf16,
        Format::S8 => Scalar::S8,
    }
}
