//! Products of 8-bit integers as 8-bit integers, by the epilogue of the project's kernels.

use super::{Backend, CudaGemm, CudaGemmError, Format, Options, call::Call};
use crate::{
    gpu::{Any, AnyMut, Pass, Slice},
    nn::{
        activation::Activation,
        gemm::{Epilogue, Gemm, Quantise},
    },
};

impl CudaGemm {
    /// Multiplies 8-bit integers and writes `q8(after · f(before · sum))`, see [`Quantise`], with the bits of
    /// [`cpu::quantised`](crate::nn::gemm::cpu::quantised). Returns the backend used. Fails if the declaration is invalid, the
    /// device fails, or a required backend has no such epilogue, as cuBLASLt.
    pub fn run_quantised(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<i32>,
        of: Quantise,
        (a, b): (&Slice<i8>, &Slice<i8>),
        c: &mut Slice<i8>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        Quantise::check(gemm, (a.len(), b.len(), c.len()))?;
        let mut call = call_of_bytes(gemm, of, (a, b.into()), c, options)?;
        self.launch(pass, &mut call, options)
    }
}

/// Creates a call with results of 8-bit integers.
pub(super) fn call_of_bytes<'a>(
    gemm: &Gemm<i32>,
    of: Quantise,
    (a, b): (&'a Slice<i8>, Any<'a>),
    c: &'a mut Slice<i8>,
    options: Options,
) -> Result<Call<'a, f32>, CudaGemmError> {
    if gemm.m.max(gemm.n).max(gemm.k) > u32::MAX as usize / 4 {
        let backend = options.backend.unwrap_or(Backend::TensorCores);
        return Err(CudaGemmError::Unable { backend, why: "a side is longer than 2³⁰" });
    }
    let f = Epilogue::Activation { f: Activation::GeluTanh, bias: None, aux: None };
    Ok(Call {
        // The kernels take the scales of the epilogue in place of alpha and beta.
        gemm: gemm.with_scales(of.before, of.after).with_fewer_levels(),
        formats: (Format::S8, Format::Bytes),
        a: a.into(),
        b,
        codes: None,
        c: c.into(),
        bias: Any::NONE,
        other: Any::NONE,
        aux: AnyMut::none(),
        epilogue: if of.has_gelu { f } else { Epilogue::None },
        split: None,
        offsets: Any::NONE,
        is_scaled: true,
        scales: [Any::NONE; 2],
        bias_by_row: false,
        tf32: options.tf32,
    })
}
