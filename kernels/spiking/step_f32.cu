// A spiking network in single precision.
#include "gen/spiking-step_f64.cuh"
#define REAL float
#include "spiking/kernels.cuh"
