// Matrix multiplication on tensor cores: operands f16, sums f32. How: nn/gemm_mma.cuh; what was measured: there.
#include "gen/nn-gemm_f16.cuh"
#include "nn/gemm_mma.cuh"
typedef F16 Operands;
#include "nn/gemm_kernels.cuh"
