// A spiking network in double precision.
#include "gen/spiking-step_f64.cuh"
#define REAL double
#include "spiking/kernels.cuh"
