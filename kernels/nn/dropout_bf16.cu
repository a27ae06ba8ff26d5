// Dropout of bf16: nn/dropout.cuh.
#include "common/elements.cuh"
typedef bf16 T;
#include "nn/dropout.cuh"
