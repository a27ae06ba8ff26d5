// Matrix multiplication by WMMA fragments: operands BF16 or F16 (OPERANDS), sums f32. How: nn/gemm_wmma.cuh.
#include "nn/gemm_wmma.cuh"
