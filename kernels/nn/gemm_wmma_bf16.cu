// Matrix multiplication by WMMA fragments: operands bf16, sums f32. How: nn/gemm_wmma.cuh.
#define OPERANDS BF16
#include "nn/gemm_wmma.cuh"
