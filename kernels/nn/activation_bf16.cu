// Activation functions of bf16: nn/activation.cuh.
#include "common/elements.cuh"
typedef bf16 T;
#include "nn/activation.cuh"
