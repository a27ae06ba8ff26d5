// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/DeviceStats.cuh"
#include "gen/shared/KernelParams.cuh"

constexpr unsigned int BLOCK_J = 1024u;

// Builds the site of every nucleus, one thread each. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) build_sites(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// One thread per nucleus reads all other nuclei from global memory: the reference. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_naive(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ sums);

// One block per 1024 nuclei and chunk of the others, four nuclei per thread; bounded by one exponential per pair.
// Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_tiled(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ partials);

// Adds the partial sums of the chunks in order. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) reduce_tiles(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const float* __restrict__ partials, float* __restrict__ sums);

// Sums of e^{iφ}, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_phasors(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, double* __restrict__ parts);

// Mean-field coupling, J = 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_mean_field(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const double* __restrict__ parts, float* __restrict__ sums);

// Coupling by a stored matrix J, one warp per nucleus; bounded by reading the matrix. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_matrix(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ matrix, const float* __restrict__ sites, float* __restrict__ sums);

// Writes the transmitted phasors of one phase field into the sites. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) send_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// Adds the sums of one phase field, weighted by G, to the sums of all fields. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) mix_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const float* __restrict__ mixing, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ mixed);

// Gathers the sums of one phase field. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) gather_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const float* __restrict__ mixed, float* __restrict__ sites, float* __restrict__ sums);

// Writes S, d and R to the table; partial sums of the order parameters, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ fields, double* __restrict__ parts);

// One block: order parameters and tunnelling probabilities.
extern "C" __global__ void __launch_bounds__(256, 1) reduce_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const double* __restrict__ parts, DeviceStats* __restrict__ stats);
