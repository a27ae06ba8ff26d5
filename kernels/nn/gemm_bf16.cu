// Matrix multiplication on tensor cores: operands bf16, sums f32. How: nn/gemm_mma.cuh; what was measured: there.
#include "gen/nn-gemm_bf16.cuh"
#include "nn/gemm_mma.cuh"
typedef BF16 Operands;
#include "nn/gemm_kernels.cuh"
