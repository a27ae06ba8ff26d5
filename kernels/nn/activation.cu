// Activation functions: nn/activation.cuh. ELEMENT is the type of the elements.
#include "common/elements.cuh"
typedef ELEMENT T;
#include "nn/activation.cuh"
