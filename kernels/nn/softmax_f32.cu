// Softmax of f32: nn/softmax.cuh.
#include "common/elements.cuh"
typedef float T;
#include "nn/softmax.cuh"
