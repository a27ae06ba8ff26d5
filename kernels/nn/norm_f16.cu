// LayerNorm and RMSNorm of f16: nn/norm.cuh.
#include "common/elements.cuh"
typedef f16 T;
#include "nn/norm.cuh"
