// Attention on tensor cores with dropout of probabilities: tensors bf16, sums f32. How: nn/attention_flash.cuh.
#define DROPS true
#include "gen/nn-attention_flash_bf16.cuh" // the same kernels for all of them
#include "nn/attention_flash_backward.cuh"
#define ELEMENTS Bf16Pairs
#include "nn/attention_flash_kernels.cuh"
