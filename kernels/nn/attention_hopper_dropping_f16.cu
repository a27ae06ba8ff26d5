// Attention on Hopper's tensor cores with dropout of probabilities: tensors f16, sums f32. How: nn/attention_hopper.cuh.
#define DROPS true
#include "gen/nn-attention_hopper_bf16.cuh" // the same kernels for all of them
#define ELEMENTS F16Pairs
#include "nn/attention_hopper_kernels.cuh"
