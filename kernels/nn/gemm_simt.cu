// Matrix multiplication without tensor cores, for every operand type, layout and device. How: nn/gemm_simt.cuh.
#include "gen/nn-gemm_simt.cuh"
#include "nn/gemm_simt.cuh"

extern "C" __global__ void gemm_simt(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux) {
    const Data data{bias, other, aux};
    if (g.operands == OPERANDS_S8) gemm_by_threads<int>(g, a, b, c, data);
    else gemm_by_threads<float>(g, a, b, c, data);
}
