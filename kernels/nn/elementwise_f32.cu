// Operations on whole buffers of f32: nn/elementwise.cuh.
#include "common/elements.cuh"
typedef float T;
#include "nn/elementwise.cuh"
