// Softmax: nn/softmax.cuh. ELEMENT is the type of the elements.
#include "common/elements.cuh"
typedef ELEMENT T;
#include "nn/softmax.cuh"
