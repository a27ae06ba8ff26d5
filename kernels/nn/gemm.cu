// Matrix multiplication on tensor cores: OPERANDS BF16, F16 or TF32 with accumulators f32, or S8 with exact accumulators s32.
// How, and what was measured: nn/gemm_mma.cuh. Unless k is adjacent in both operands, elements of S8 are copied one by one,
// because ldmatrix cannot transpose single bytes.
#include "nn/gemm_mma.cuh"
typedef OPERANDS Operands;
#include "nn/gemm_kernels.cuh"
