// Matrix multiplication by wgmma: operands bf16, sums f32. How, and what was measured: nn/gemm_wgmma.cuh.
#define OPERANDS "bf16"
#define OWN_OUT OUT_BF16
#include "nn/gemm_wgmma.cuh"
