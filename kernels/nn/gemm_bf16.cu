// Matrix multiplication on tensor cores: operands bf16, sums f32. How, and what was measured: nn/gemm_mma.cuh.
#include "nn/gemm_mma.cuh"
typedef BF16 Operands;
#include "nn/gemm_kernels.cuh"
