// Matrix multiplication on tensor cores: operands s8, accumulators s32, exact. Unless k is adjacent in both operands,
// elements are copied one by one, because ldmatrix cannot transpose single bytes.
#include "nn/gemm_mma.cuh"
typedef S8 Operands;
#define K_MUST_BE_ADJACENT
#include "nn/gemm_kernels.cuh"
