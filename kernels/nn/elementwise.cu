// Operations on whole buffers: nn/elementwise.cuh. ELEMENT is the type of the elements.
#include "common/elements.cuh"
typedef ELEMENT T;
#include "nn/elementwise.cuh"
