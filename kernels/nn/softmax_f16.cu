// Softmax of f16: nn/softmax.cuh.
#include "common/elements.cuh"
typedef f16 T;
#include "nn/softmax.cuh"
