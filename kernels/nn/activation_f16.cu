// Activation functions of f16: nn/activation.cuh.
#include "common/elements.cuh"
typedef f16 T;
#include "nn/activation.cuh"
