// Rotary positions in f16.
#include "gen/nn-rope_f32.cuh"
typedef f16 T;
#include "nn/rope.cuh"
