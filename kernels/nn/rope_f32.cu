// Rotary positions in f32.
#include "gen/nn-rope_f32.cuh"
typedef float T;
#include "nn/rope.cuh"
