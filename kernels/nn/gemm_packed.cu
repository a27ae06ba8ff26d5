// Multiplication of bytes by packed weights (CODE: Linear, Interleaved or Fp4), with the tiles of the kernels for bytes. How:
// nn/gemm_packed.cuh.
#include "gen/nn-gemm_packed.cuh"
#include "nn/gemm_packed.cuh"

extern "C" __global__ void gemm_packed_large(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux) {
#if __CUDA_ARCH__ >= 800
    typedef MmaTile<S8, 128, 256, 4, 64, 64, 3> Tile;
    Tile(place_in_batch<128, 256>(g, blockIdx.x)).template sum_products<Operand<S8, true, 128, 8, 256>, PackedOperand<CODE, 256, 8, 256, false>, true, true>(g, a, b);
    Tile(place_in_batch<128, 256>(g, block_again())).finish(g, c, Data{bias, other, aux, nullptr, nullptr});
#endif
}

extern "C" __global__ void gemm_packed_small(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux) {
#if __CUDA_ARCH__ >= 800
    typedef MmaTile<S8, 64, 64, 4, 32, 32, 4> Tile;
    typedef PackedOperand<CODE, 64, 8, 128, true> Weights;
    const Tile tile(place_in_batch<64, 64>(g, blockIdx.x));
    if (g.aligned) tile.template sum_products<Operand<S8, true, 64, 8, 128>, Weights, true, true>(g, a, b);
    else tile.template sum_products<AnyOperand<S8, 64, 8, 128>, Weights, true, true>(g, a, b);
    Tile(place_in_batch<64, 64>(g, block_again())).finish(g, c, Data{bias, other, aux, nullptr, nullptr});
#endif
}

extern "C" __global__ void gemm_packed_dp4a(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux) {
    multiply_packed_by_dp4a<CODE>(g, a, b, c, Data{bias, other, aux, nullptr, nullptr});
}
