// Matrix multiplication on tensor cores: operands f32, rounded to 10 stored significant bits (tf32), sums f32. How, and what was measured: nn/gemm_mma.cuh.
#include "nn/gemm_mma.cuh"
typedef TF32 Operands;
#include "nn/gemm_kernels.cuh"
