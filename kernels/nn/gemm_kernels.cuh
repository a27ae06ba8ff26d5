// The two kernels of one operand type. Large tiles of 128 x 256 by 8 warps need 147,456 bytes of shared memory and aligned
// operands; small ones of 64 x 64 by 4 warps need 65,536 bytes and take any. The layouts are branches of one kernel: what
// is adjacent, the k of a row of A or its rows, the k of a column of B or its columns.
#pragma once

template <bool A_BY_K, bool B_BY_K>
__device__ __forceinline__ void gemm_small_as(const GemmArgs& g, const void* a, const void* b, void* c, const void* extra) {
    if (g.aligned) gemm_tile<Operands, 64, 64, 4, 32, 32, 4, A_BY_K, B_BY_K, true>(g, a, b, c, extra);
    else gemm_tile<Operands, 64, 64, 4, 32, 32, 4, A_BY_K, B_BY_K, false>(g, a, b, c, extra);
}

extern "C" __global__ void gemm_large(GemmArgs g, const void* a, const void* b, void* c, const void* extra) {
    if (g.a_by_k && g.b_by_k) gemm_tile<Operands, 128, 256, 4, 64, 64, 3, true, true, true>(g, a, b, c, extra);
#ifndef K_MUST_BE_ADJACENT
    else if (g.a_by_k) gemm_tile<Operands, 128, 256, 4, 64, 64, 3, true, false, true>(g, a, b, c, extra);
    else if (g.b_by_k) gemm_tile<Operands, 128, 256, 4, 64, 64, 3, false, true, true>(g, a, b, c, extra);
    else gemm_tile<Operands, 128, 256, 4, 64, 64, 3, false, false, true>(g, a, b, c, extra);
#endif
}

extern "C" __global__ void gemm_small(GemmArgs g, const void* a, const void* b, void* c, const void* extra) {
    if (g.a_by_k && g.b_by_k) gemm_small_as<true, true>(g, a, b, c, extra);
#ifndef K_MUST_BE_ADJACENT
    else if (g.a_by_k) gemm_small_as<true, false>(g, a, b, c, extra);
    else if (g.b_by_k) gemm_small_as<false, true>(g, a, b, c, extra);
    else gemm_small_as<false, false>(g, a, b, c, extra);
#endif
}
