// Attention on tensor cores: tensors of ELEMENTS, sums f32; with DROPS, dropout of probabilities. How, and what was measured:
// nn/attention_flash.cuh.
#include "gen/nn-attention_flash.cuh"
#include "nn/attention_flash_backward.cuh"
#include "nn/attention_flash_kernels.cuh"
