// Matrix multiplication on tensor cores: operands f16, sums f32. How, and what was measured: nn/gemm_mma.cuh.
#include "nn/gemm_mma.cuh"
typedef F16 Operands;
#include "nn/gemm_kernels.cuh"
