// Operations on whole buffers of f16: nn/elementwise.cuh.
#include "common/elements.cuh"
typedef f16 T;
#include "nn/elementwise.cuh"
