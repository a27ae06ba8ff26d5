// LayerNorm and RMSNorm: nn/norm.cuh. ELEMENT is the type of the elements.
#include "common/elements.cuh"
typedef ELEMENT T;
#include "nn/norm.cuh"
