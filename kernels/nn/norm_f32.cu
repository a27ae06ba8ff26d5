// LayerNorm and RMSNorm of f32: nn/norm.cuh.
#include "common/elements.cuh"
typedef float T;
#include "nn/norm.cuh"
