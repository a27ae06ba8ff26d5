// Cross-entropy of logits in bf16.
#include "gen/nn-cross_entropy_f32.cuh"
typedef bf16 T;
#include "nn/cross_entropy.cuh"
