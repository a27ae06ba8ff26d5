// Rotary positions in bf16.
#include "gen/nn-rope_f32.cuh"
typedef bf16 T;
#include "nn/rope.cuh"
