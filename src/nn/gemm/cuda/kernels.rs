//! Declarations of the kernels under `kernels/nn/gemm*`.

use crate::{
    device_struct,
    gpu::{
        Compile, InBoxes, Target, TensorMap,
        kernel::{InAny, InOutAny, Size},
    },
    kernels,
};

device_struct! {
    /// Arguments of a multiplication: C is row-major, sizes are in elements.
    pub struct GemmArgs {
        /// Elements from a matrix of A to the next of a batch
        stride_a: u64,
        /// Elements from a matrix of B to the next of a batch
        stride_b: u64,
        /// Elements from a matrix of C to the next of a batch
        stride_c: u64,
        /// Elements from a batch of A to the next
        outer_a: u64,
        /// Elements from a batch of B to the next
        outer_b: u64,
        /// Elements from a batch of C to the next
        outer_c: u64,
        /// Leading dimension of A
        lda: u64,
        /// Leading dimension of B
        ldb: u64,
        /// Leading dimension of C
        ldc: u64,
        /// Rows of A and C
        m: u32,
        /// Columns of B and C
        n: u32,
        /// Addends of a sum
        k: u32,
        /// Multiplications of a batch
        batch: u32,
        /// Format of the operands, for kernels without a format of their own
        operands: u32,
        /// Format of C and of the epilogue's data
        out: u32,
        /// Function of the epilogue, or none
        activation: u32,
        /// Whether the product is multiplied by the derivative of the activation, whose argument is `other`
        is_gradient: u32,
        /// Whether the bias belongs to rows of C instead of columns
        bias_by_row: u32,
        /// Whether C and the epilogue's data may be accessed four elements at a time; eight by wgmma, with a bias of
        /// columns
        quads: u32,
        /// Dimension that groups of unknown sizes divide: none, rows, k
        split: u32,
        /// Whether sums of integers become floats, times scales
        is_scaled: u32,
        /// Whether the k of a row of A are adjacent
        a_by_k: u32,
        /// Whether the k of a column of B are adjacent
        b_by_k: u32,
        /// Whether rows of the operands begin at multiples of 16 bytes, and can be copied in such pieces
        aligned: u32,
        /// Factor of the product
        alpha: f32,
        /// Factor of the old C
        beta: f32,
        /// Factor of the product of integers
        alpha_int: i32,
        /// Factor of the old C of integers
        beta_int: i32,
        /// k of a piece of a group; 0: whole groups
        piece: u32,
    }
}

/// mma.sync and cp.async need compute capability 8.0; for Turing the kernels are empty and not launched.
const TARGETS: &[Target] = &[Target::portable(75), Target::portable(80)];

kernels! {
    /// Tensor cores, by type of the operands.
    pub struct MmaKernels in "nn/gemm.cu"
        for "bf16" ["-DOPERANDS=BF16"], also "f16" ["-DOPERANDS=F16"] as F16, also "tf32" ["-DOPERANDS=TF32"] as TF32,
        also "s8" ["-DOPERANDS=S8", "-DK_MUST_BE_ADJACENT"] as S8 compiled (Compile::FUSED.on(TARGETS)) using [GemmArgs]
    {
        /// Matrix multiplication by tensor cores, 128 × 256 elements of C per block: for large, aligned matrices.
        #[block(256)]
        fn gemm_large as GemmLarge(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
            row_scales: InAny, column_scales: InAny,
        );

        /// Matrix multiplication by tensor cores, 64 × 64 elements of C per block.
        #[block(128)]
        fn gemm_small as GemmSmall(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
            row_scales: InAny, column_scales: InAny, offsets: InAny, turns: InOutAny,
        );
    }
}

kernels! {
    /// Without tensor cores.
    pub struct SimtKernels in "nn/gemm_simt.cu" compiled (Compile::FUSED) using [GemmArgs] {
        /// Matrix multiplication, 128 × 128 elements of C per block, 8 × 8 per thread.
        #[block(256, 2)]
        fn gemm_simt as GemmSimt(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
            row_scales: InAny, column_scales: InAny, offsets: InAny, turns: InOutAny,
        );

        /// Matrix multiplication of bytes, 128 × 128 elements of C per block, 8 × 8 per thread.
        #[block(256)]
        fn gemm_simt_s8 as GemmSimtBytes(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
            row_scales: InAny, column_scales: InAny, offsets: InAny,
        );

        /// Matrix multiplication of bytes by dot products of four, 128 × 128 elements of C per block, 8 × 8 per thread; k is
        /// adjacent and rows are aligned.
        #[block(256)]
        fn gemm_dp4a as GemmDp4a(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
            row_scales: InAny, column_scales: InAny,
        );
    }
}

kernels! {
    /// Hopper's tensor cores, by type of the operands.
    pub struct WgmmaKernels in "nn/gemm_wgmma.cu"
        for "bf16" ["-DOPERAND=bf16", "-DOWN_OUT=OUT_BF16"], also "f16" ["-DOPERAND=f16", "-DOWN_OUT=OUT_F16"] as F16
        compiled (Compile::FUSED.on(&[Target::portable(75), Target::specific(90)])) using [GemmArgs, TensorMap]
    {
        /// Matrix multiplication by wgmma, 128 × 256 elements of C at a time per block.
        #[block(384)]
        fn gemm_wgmma as GemmWgmma(
            g: Size<GemmArgs>, items: Size<u32>, a: InBoxes, b: InBoxes, boxes: InBoxes, c: InOutAny, bias: InAny,
            other: InAny, aux: InOutAny, offsets: InAny, turns: InOutAny,
        );
    }
}

kernels! {
    /// Tensor cores by fragments, by type of the operands.
    pub struct WmmaKernels in "nn/gemm_wmma.cu"
        for "bf16" ["-DOPERANDS=BF16"], also "f16" ["-DOPERANDS=F16"] as F16
        compiled (Compile::FUSED.on(TARGETS)) using [GemmArgs]
    {
        /// Matrix multiplication by WMMA fragments, 128 × 128 elements of C per block.
        #[block(256, 2)]
        fn gemm_wmma as GemmWmma(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
        );
    }
}

kernels! {
    /// Bytes by packed weights, by codes of the weights. In the arguments, offsets in B and its leading dimension are in bytes.
    pub struct PackedKernels in "nn/gemm_packed.cu"
        for "linear" ["-DCODE=Linear"], also "interleaved" ["-DCODE=Interleaved"] as INTERLEAVED, also "fp4" ["-DCODE=Fp4"] as FP4
        compiled (Compile::FUSED.on(TARGETS)) using [GemmArgs]
    {
        /// Matrix multiplication by packed weights on tensor cores, 128 × 256 elements of C per block: for aligned A with adjacent k.
        #[block(256)]
        fn gemm_packed_large as GemmPackedLarge(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
        );

        /// Matrix multiplication by packed weights on tensor cores, 64 × 64 elements of C per block.
        #[block(128)]
        fn gemm_packed_small as GemmPackedSmall(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
        );

        /// Matrix multiplication by packed weights without tensor cores, by dot products of four bytes, 128 × 128 elements of C per
        /// block.
        #[block(256)]
        fn gemm_packed_dp4a as GemmPackedDp4a(
            g: Size<GemmArgs>, a: InAny, b: InAny, c: InOutAny, bias: InAny, other: InAny, aux: InOutAny,
        );
    }
}
