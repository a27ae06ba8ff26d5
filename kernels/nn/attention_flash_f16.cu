// Attention on tensor cores: tensors f16, sums f32. How, and what was measured: nn/attention_flash.cuh.
#include "gen/nn-attention_flash_bf16.cuh" // the same kernels for both types
#include "nn/attention_flash_backward.cuh"
#define ELEMENTS F16Pairs
#include "nn/attention_flash_kernels.cuh"
