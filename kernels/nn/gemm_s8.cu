// Matrix multiplication on tensor cores: operands s8, sums s32, exact. Only with adjacent k in both operands, as ldmatrix
// can not exchange single bytes; other layouts run without tensor cores (nn/gemm_simt.cuh).
#include "nn/gemm_mma.cuh"
typedef S8 Operands;
#define K_MUST_BE_ADJACENT
#include "nn/gemm_kernels.cuh"
