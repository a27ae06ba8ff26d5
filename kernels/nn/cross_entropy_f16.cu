// Cross-entropy of logits in f16.
#include "gen/nn-cross_entropy_f32.cuh"
typedef f16 T;
#include "nn/cross_entropy.cuh"
