// A spiking network in single precision.
#include "gen/spiking-step_f32.cuh"
#define REAL float
#include "spiking/kernels.cuh"
