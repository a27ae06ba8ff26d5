// LayerNorm and RMSNorm of bf16: nn/norm.cuh.
#include "common/elements.cuh"
typedef bf16 T;
#include "nn/norm.cuh"
