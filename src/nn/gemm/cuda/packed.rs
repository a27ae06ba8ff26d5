//! Products of 8-bit integers with packed weights.

use super::{
    Backend, CudaGemm, CudaGemmError, Implementation, Options, call_of, quantised::call_of_bytes, tuning::numbers,
};
use crate::{
    gpu::{Buf, Pass, Slice},
    nn::gemm::{Codes, Epilogue, Gemm, GemmError, Quantise},
};

impl CudaGemm {
    /// Multiplies 8-bit integers by packed weights, with the bits of [`cpu::packed`](crate::nn::gemm::cpu::packed). Returns the backend
    /// used. Fails if the declaration is invalid, the device fails, or a required backend has no such kernel, as cuBLASLt.
    #[expect(clippy::too_many_arguments, reason = "those of `run`, and the codes")]
    pub fn run_packed(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<i32>,
        codes: Codes,
        (a, b): (&Slice<i8>, &Slice<u32>),
        c: &mut Slice<i32>,
        epilogue: Epilogue<&Slice<i32>, &mut Slice<i32>>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        codes.check(gemm, (a.len(), b.len(), c.len()))?;
        let mut call = call_of(gemm.with_fewer_levels(), (a, a), c, epilogue, 1, options)?;
        (call.b, call.codes) = (b.into(), Some(codes));
        self.tune_first(&call, options, || self.tune_packed(&call.gemm, codes, options));
        self.launch(pass, &mut call, options)
    }

    /// Multiplies 8-bit integers by packed weights and writes 8-bit integers, with the bits of
    /// [`cpu::packed_quantised`](crate::nn::gemm::cpu::packed_quantised). Returns the backend used. Fails as [`Self::run_packed`], or
    /// if alpha is not 1 or beta not 0.
    #[expect(clippy::too_many_arguments, reason = "those of `run_quantised`, and the codes")]
    pub fn run_packed_quantised(
        &self,
        pass: &mut Pass,
        gemm: &Gemm<i32>,
        codes: Codes,
        of: Quantise,
        (a, b): (&Slice<i8>, &Slice<u32>),
        c: &mut Slice<i8>,
        options: Options,
    ) -> Result<Backend, CudaGemmError> {
        codes.check(gemm, (a.len(), b.len(), c.len()))?;
        Quantise::check(gemm, (a.len(), b.len().saturating_mul(codes.per_word()), c.len()))?;
        let mut call = call_of_bytes(gemm, of, (a, b.into()), c, options)?;
        call.codes = Some(codes);
        self.launch(pass, &mut call, options)
    }

    /// Times every implementation for packed weights on its own buffers, without an epilogue, and stores the fastest, unless a
    /// choice exists. Waits for the device. Fails if the buffers do not fit into memory, or the device fails.
    pub fn tune_packed(
        &self,
        gemm: &Gemm<i32>,
        codes: Codes,
        options: Options,
    ) -> Result<Implementation, CudaGemmError> {
        let gemm = gemm.with_fewer_levels();
        let extent = |layout: &super::Layout, rows: usize, columns: usize| {
            layout.extent(rows, columns, gemm.batches()).ok_or(GemmError::TooLarge)
        };
        let elements = extent(&gemm.b, gemm.k.next_multiple_of(16), gemm.n)?;
        let a = Buf::from_slice(&self.gpu, "A of tuning", &numbers::<i8>(extent(&gemm.a, gemm.m, gemm.k)?))?;
        let b = Buf::from_slice(&self.gpu, "B of tuning", &numbers::<u32>(elements / codes.per_word()))?;
        let mut c = Buf::<i32>::zeros(&self.gpu, "C of tuning", extent(&gemm.c, gemm.m, gemm.n)?)?;
        codes.check(&gemm, (a.len(), b.len(), c.len()))?;
        let mut call = call_of(gemm, (&a, &a), &mut c, Epilogue::None, 1, options)?;
        (call.b, call.codes) = ((&*b).into(), Some(codes));
        self.choose(&mut call, false)
    }
}
