// Rotary positions: nn/rope.cuh. ELEMENT is the type of the elements.
#include "gen/nn-rope.cuh"
typedef ELEMENT T;
#include "nn/rope.cuh"
