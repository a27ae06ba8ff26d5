// A spiking network in double or single precision (REAL).
#include "gen/spiking-step.cuh"
#include "spiking/kernels.cuh"
