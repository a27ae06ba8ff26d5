// Cross-entropy of logits: nn/cross_entropy.cuh. ELEMENT is the type of the elements.
#include "gen/nn-cross_entropy.cuh"
typedef ELEMENT T;
#include "nn/cross_entropy.cuh"
