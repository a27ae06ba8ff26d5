//! Calls cuBLASLt, which is column-major, for a [`Gemm`](super::Gemm).

use super::{Format, Scale, call::Call};
use crate::{
    gpu::{
        Pass,
        library::{CublasLt, Fused, LibraryError, Matmul, Matrix, Scalar},
    },
    nn::{
        activation::Activation,
        gemm::{Epilogue, Layout, Order},
    },
};

/// Multiplies, or returns an error if the library cannot.
pub(super) fn run<S: Scale>(library: &CublasLt, pass: &mut Pass, call: &mut Call<'_, S>) -> Result<(), LibraryError> {
    let g = &call.gemm;
    let (operands, out) = call.formats;
    let is_any = !matches!(call.epilogue, Epilogue::None);
    if !call.is_plain() || operands == Format::S8 && is_any || g.outer > 1 {
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
    // cuBLASLt's ReLU stores a bit mask instead of the argument.
    let (fused, is_residual) = match call.epilogue {
        Epilogue::None => (Fused::None, false),
        Epilogue::Bias(()) => (Fused::Bias, false),
        Epilogue::Residual(()) => (Fused::None, true),
        Epilogue::BiasResidual((), ()) => (Fused::Bias, true),
        Epilogue::Activation { f: Activation::GeluTanh, bias: None, aux: None } => (Fused::Gelu, false),
        Epilogue::Activation { f: Activation::GeluTanh, bias: None, aux: Some(()) } => (Fused::GeluAux, false),
        Epilogue::Activation { f: Activation::GeluTanh, bias: Some(()), aux: None } => (Fused::BiasGelu, false),
        Epilogue::Activation { f: Activation::GeluTanh, bias: Some(()), aux: Some(()) } => (Fused::BiasGeluAux, false),
        Epilogue::Activation { f: Activation::Relu, bias: None, aux: None } => (Fused::Relu, false),
        Epilogue::Activation { f: Activation::Relu, bias: Some(()), aux: None } => (Fused::BiasRelu, false),
        Epilogue::Gradient { f: Activation::GeluTanh, aux: () } => (Fused::GeluGradient, false),
        Epilogue::Activation { .. } | Epilogue::Gradient { .. } => return Err(LibraryError::Unsupported),
    };
    let is_bias = matches!(call.epilogue.parts().bias, Some(()));
    // cuBLASLt's bias belongs to rows of the column-major result, and it adds a single matrix.
    if is_bias && (!is_row_major || call.bias_by_row) || is_residual && g.beta != S::ZERO {
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
        fused,
    };
    let (alpha, beta) = (g.alpha.pair(), if is_residual { (1.0, 1) } else { g.beta.pair() });
    let added = is_residual.then_some(call.other);
    let argument = if fused == Fused::GeluGradient { call.other } else { call.aux.as_any() };
    library.multiply(pass, &matmul, (alpha, beta), (a, b), &mut call.c, added, [call.bias, argument])
}

const fn scalar(format: Format) -> Scalar {
    match format {
        Format::F32 => Scalar::F32,
        Format::F16 => Scalar::F16,
        Format::Bf16 => Scalar::Bf16,
        Format::S8 | Format::Bytes => Scalar::S8,
    }
}
