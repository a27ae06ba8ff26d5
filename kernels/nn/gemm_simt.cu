// Matrix multiplication without tensor cores, for every operand type, layout and device. How: nn/gemm_simt.cuh.
#include "gen/nn-gemm_simt.cuh"
#include "nn/gemm_simt.cuh"

extern "C" __global__ void gemm_simt(GemmArgs g, const void* a, const void* b, void* c, const void* extra) {
    if (g.operands == OPERANDS_F32) gemm_by_threads<FromF32>(g, a, b, c, extra);
    else if (g.operands == OPERANDS_F16) gemm_by_threads<FromF16>(g, a, b, c, extra);
    else if (g.operands == OPERANDS_BF16) gemm_by_threads<FromBF16>(g, a, b, c, extra);
    else gemm_by_threads<FromS8>(g, a, b, c, extra);
}
