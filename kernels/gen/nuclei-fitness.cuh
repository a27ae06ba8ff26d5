// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/DeviceStats.cuh"
#include "gen/shared/TaskEquations.cuh"

constexpr unsigned int MAX_LEARNING = 512u;

// Mean squared errors, 32 nuclei per block: for small populations. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_32(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors, 64 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_64(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors, 128 nuclei per block; bounded by one fused multiply-add per weight and row, or by
// reading the weights. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_128(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// One gradient step, one warp per nucleus. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) step_gradient(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ w);

// Zeroes fitness and entropy when there is no task. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) zero_fitness(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, float* __restrict__ fields);

// Entropies of the softmax of the weights, eight lanes per nucleus; bounded by reading the weights. Items:
// nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_entropy(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ w, float* __restrict__ fields);

// Mean and spread of fitness, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_stats(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts, unsigned long long* __restrict__ least);

// One block: temperature and fittest nucleus.
extern "C" __global__ void __launch_bounds__(256, 1) reduce_stats(const PopulationCounts* __restrict__ population, unsigned int n_slots, const float* __restrict__ fields, const double* __restrict__ parts, const unsigned long long* __restrict__ least, DeviceStats* __restrict__ stats);
