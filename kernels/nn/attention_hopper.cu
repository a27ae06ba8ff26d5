// Attention on Hopper's tensor cores: tensors of ELEMENTS, sums f32; with DROPS, dropout of probabilities. How, and what was
// measured: nn/attention_hopper.cuh.
#include "gen/nn-attention_hopper.cuh"
#include "nn/attention_hopper_kernels.cuh"
