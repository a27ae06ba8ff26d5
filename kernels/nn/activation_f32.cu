// Activation functions of f32: nn/activation.cuh.
#include "common/elements.cuh"
typedef float T;
#include "nn/activation.cuh"
