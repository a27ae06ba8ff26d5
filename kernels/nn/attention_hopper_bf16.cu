// Attention on Hopper's tensor cores: tensors bf16, sums f32. How, and what was measured: nn/attention_hopper.cuh.
#include "gen/nn-attention_hopper_bf16.cuh"
#define ELEMENTS Bf16Pairs
#include "nn/attention_hopper_kernels.cuh"
