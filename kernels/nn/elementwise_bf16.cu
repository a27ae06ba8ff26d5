// Operations on whole buffers of bf16: nn/elementwise.cuh.
#include "common/elements.cuh"
typedef bf16 T;
#include "nn/elementwise.cuh"
