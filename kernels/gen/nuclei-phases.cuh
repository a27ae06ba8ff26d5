// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/KernelParams.cuh"

// One stage of an integrator, one thread per nucleus. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) update_phases(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int stage, unsigned int substep, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ sums, const unsigned int* __restrict__ tags, float* __restrict__ fields, float* __restrict__ starts, float* __restrict__ totals, float* __restrict__ sites);

// Spike counts of the quantum-Kuramoto maps. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) draw_spikes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, float* __restrict__ fields);

// Maximum spike count and sum of amplitudes, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_amplitudes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts);

// Applies a map once. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) apply_map(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, const unsigned int* __restrict__ tags, const double* __restrict__ parts, float* __restrict__ fields, double* __restrict__ norms);

// Normalises the amplitudes to a total of 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) normalise_amplitudes(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const double* __restrict__ norms, float* __restrict__ fields, float* __restrict__ sites);
