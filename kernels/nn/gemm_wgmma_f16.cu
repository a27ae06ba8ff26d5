// Matrix multiplication by wgmma: operands f16, sums f32. How, and what was measured: nn/gemm_wgmma.cuh.
#define OPERANDS "f16"
#define OWN_OUT OUT_F16
#include "nn/gemm_wgmma.cuh"
