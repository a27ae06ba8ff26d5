// Dropout of f16: nn/dropout.cuh.
#include "common/elements.cuh"
typedef f16 T;
#include "nn/dropout.cuh"
