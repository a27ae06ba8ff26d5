// Softmax of bf16: nn/softmax.cuh.
#include "common/elements.cuh"
typedef bf16 T;
#include "nn/softmax.cuh"
