// Matrix multiplication by WMMA fragments: operands f16, sums f32. How: nn/gemm_wmma.cuh.
#define OPERANDS F16
#include "nn/gemm_wmma.cuh"
