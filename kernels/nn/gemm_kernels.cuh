// The two kernels of one operand type. Large tiles of 128 x 256 with 8 warps need 147,456 bytes of shared memory and
// aligned operands; small tiles of 64 x 64 with 4 warps need 65,536 bytes and accept any operands. Layouts of aligned
// operands (whether k is adjacent in A and in B) are branches of one kernel.
#pragma once

#if __CUDA_ARCH__ >= 800
template <class Tile>
__device__ __forceinline__ void sum_by_layout(const Tile& tile, const GemmArgs& g, const void* a, const void* b) {
    if (g.a_by_k && g.b_by_k) tile.template sum_aligned<true, true>(g, a, b);
#ifndef K_MUST_BE_ADJACENT
    else if (g.a_by_k) tile.template sum_aligned<true, false>(g, a, b);
    else if (g.b_by_k) tile.template sum_aligned<false, true>(g, a, b);
    else tile.template sum_aligned<false, false>(g, a, b);
#endif
}
#endif

extern "C" __global__ void gemm_large(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales) {
#if __CUDA_ARCH__ >= 800
    typedef MmaTile<Operands, 128, 256, 4, 64, 64, 3> Tile;
    sum_by_layout(Tile(place_in_batch<128, 256>(g, blockIdx.x)), g, a, b);
    Tile(place_in_batch<128, 256>(g, block_again())).finish(g, c, Data{bias, other, aux, (const float*)row_scales, (const float*)column_scales});
#endif
}

extern "C" __global__ void gemm_small(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets, void* turns) {
#if __CUDA_ARCH__ >= 800
    typedef MmaTile<Operands, 64, 64, 4, 32, 32, 4> Tile;
    __shared__ Place kept;
    Place place;
    if (!place_of<64, 64>(g, offsets, blockIdx.x, place)) return;
    if (threadIdx.x == 0) kept = place;
    if (g.aligned) sum_by_layout(Tile(place), g, a, b);
    else Tile(place).sum_any(g, a, b);
    __syncthreads();
    begin_turn(kept, turns);
    Tile(kept).finish(g, c, Data{bias, other, aux, (const float*)row_scales, (const float*)column_scales});
    end_turn(kept, turns);
#endif
}
