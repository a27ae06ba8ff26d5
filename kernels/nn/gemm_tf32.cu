// Matrix multiplication on tensor cores: operands f32, rounded to 10 stored significant bits (tf32), sums f32. How: nn/gemm_mma.cuh; what was measured: there.
#include "gen/nn-gemm_tf32.cuh"
#include "nn/gemm_mma.cuh"
typedef TF32 Operands;
#include "nn/gemm_kernels.cuh"
