// Matrix multiplication without tensor cores, for every operand type, layout and device. How: nn/gemm_simt.cuh.
#include "gen/nn-gemm_simt.cuh"
#include "nn/gemm_dp4a.cuh"
#include "nn/gemm_simt.cuh"

extern "C" __global__ void gemm_simt(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets, void* turns) {
    gemm_by_threads<float>(g, a, b, c, Data{bias, other, aux, (const float*)row_scales, (const float*)column_scales}, offsets, turns);
}

extern "C" __global__ void gemm_simt_s8(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets) {
    gemm_by_threads<int>(g, a, b, c, Data{bias, other, aux, (const float*)row_scales, (const float*)column_scales}, offsets, nullptr);
}

extern "C" __global__ void gemm_dp4a(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales) {
    multiply_by_dp4a(g, a, b, c, Data{bias, other, aux, (const float*)row_scales, (const float*)column_scales});
}
