// Matrix multiplication by wgmma: operands f16 or bf16 (OPERAND), sums f32. How, and what was measured: nn/gemm_wgmma.cuh.
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define OPERANDS TEXT(OPERAND) // the name in instructions
#include "nn/gemm_wgmma.cuh"
