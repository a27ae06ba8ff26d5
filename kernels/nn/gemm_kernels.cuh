// The two kernels of one operand type. Large tiles of 128 x 256 by 8 warps need 147,456 bytes of shared memory and aligned
// operands; small ones of 64 x 64 by 4 warps need 65,536 bytes and take any. The layouts are branches of one kernel: what
// is adjacent, the k of a row of A or its rows, the k of a column of B or its columns.
#pragma once

#if __CUDA_ARCH__ >= 800
template <class Tile>
__device__ __forceinline__ void multiply_tile(const GemmArgs& g, const void* a, const void* b, void* c, const void* extra, bool is_aligned) {
    const Tile tile(g);
    if (g.a_by_k && g.b_by_k) tile.template sum_products<true, true>(g, a, b, is_aligned);
#ifndef K_MUST_BE_ADJACENT
    else if (g.a_by_k) tile.template sum_products<true, false>(g, a, b, is_aligned);
    else if (g.b_by_k) tile.template sum_products<false, true>(g, a, b, is_aligned);
    else tile.template sum_products<false, false>(g, a, b, is_aligned);
#endif
    tile.finish(g, c, extra);
}
#endif

extern "C" __global__ void gemm_large(GemmArgs g, const void* a, const void* b, void* c, const void* extra) {
#if __CUDA_ARCH__ >= 800
    multiply_tile<MmaTile<Operands, 128, 256, 4, 64, 64, 3>>(g, a, b, c, extra, true);
#endif
}

extern "C" __global__ void gemm_small(GemmArgs g, const void* a, const void* b, void* c, const void* extra) {
#if __CUDA_ARCH__ >= 800
    multiply_tile<MmaTile<Operands, 64, 64, 4, 32, 32, 4>>(g, a, b, c, extra, g.aligned);
#endif
}
