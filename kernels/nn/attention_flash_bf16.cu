// Attention on tensor cores: tensors bf16, sums f32. How, and what was measured: nn/attention_flash.cuh.
#include "gen/nn-attention_flash_bf16.cuh"
#include "nn/attention_flash_backward.cuh"
#define ELEMENTS Bf16Pairs
#include "nn/attention_flash_kernels.cuh"
