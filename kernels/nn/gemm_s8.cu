// Matrix multiplication on tensor cores: operands s8, sums s32, exact. Where k are not adjacent in both operands, elements are
// copied one by one, as ldmatrix can not exchange single bytes.
#include "nn/gemm_mma.cuh"
typedef S8 Operands;
#define K_MUST_BE_ADJACENT
#include "nn/gemm_kernels.cuh"
