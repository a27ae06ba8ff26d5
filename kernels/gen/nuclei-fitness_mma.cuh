// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/TaskEquations.cuh"

// Mean squared errors of nuclei of up to 32 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_32(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 64 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_64(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 128 weights, 16 nuclei per warp; bounded by reading the split inputs
// from shared memory, or by reading the weights. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_128(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);
