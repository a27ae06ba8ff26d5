// Dropout of f32: nn/dropout.cuh.
#include "common/elements.cuh"
typedef float T;
#include "nn/dropout.cuh"
