// Cross-entropy of logits in f32.
#include "gen/nn-cross_entropy_f32.cuh"
typedef float T;
#include "nn/cross_entropy.cuh"
