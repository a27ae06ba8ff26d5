// Generated from the Rust declarations by `UPDATE=1 cargo test --test kernels`.
#pragma once

// How many there are, and what happened so far. Only kernels write it while a simulation runs.
struct alignas(8) Census {
    unsigned long long generation; // Generations done
    unsigned long long born; // Children written
    unsigned long long fused; // Fusions
    unsigned long long decayed; // Decays
    unsigned long long died; // Deaths
    unsigned long long missing; // Children for which there was no room
    unsigned int n; // Living nuclei
    unsigned int n_free; // Free slots
};
static_assert(sizeof(Census) == 56, "Census: size");

// What holds for the whole population in this generation.
struct alignas(8) Climate {
    double mean_f; // Mean fitness
    double std_f; // Sample standard deviation of fitness
    double t; // Temperature, 1 + std
    double per_t; // log2(e) / T
    double mean_h; // Mean entropy
    double r; // Global order, 0 to 1
    double mean_cos; // Mean of the cosines of all phases
    double mean_sin; // Mean of the sines
    double r_weighted; // Order weighted by the coupling, 0 to 1
    double p; // Probability of tunnelling at the global order
    float min_f; // Least fitness
    unsigned int best; // Slot of the least fitness, the lowest one
};
static_assert(sizeof(Climate) == 88, "Climate: size");

// One thread per living nucleus: what its pairs see of it. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) place(const Census* __restrict__ census, const Climate* __restrict__ climate, const unsigned int* __restrict__ idx, const float* __restrict__ f, const float* __restrict__ h, const float* __restrict__ phi, float* __restrict__ sites);

// One thread per nucleus, all others from global memory. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_naive(const Census* __restrict__ census, const float* __restrict__ sites, float* __restrict__ sums);

// One block per 1024 nuclei and stretch of the others, four nuclei per thread; bounded by one exponential per
// pair. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_tiled(const Census* __restrict__ census, const float* __restrict__ sites, float* __restrict__ partials);

// Adds up the stretches in order. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_reduce(const Census* __restrict__ census, const float* __restrict__ sites, const float* __restrict__ partials, float* __restrict__ sums);

// Sums of the phase factors, 1024 per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_rotors(const Census* __restrict__ census, const float* __restrict__ sites, double* __restrict__ parts);

// The coupling when all weights are 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_meanfield(const Census* __restrict__ census, const float* __restrict__ sites, const double* __restrict__ parts, float* __restrict__ sums);

// Sums for the order of the whole, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_order(const Census* __restrict__ census, const float* __restrict__ sites, const float* __restrict__ sums, double* __restrict__ parts);

// One block: the order of the whole.
extern "C" __global__ void __launch_bounds__(256, 1) find_order(const Census* __restrict__ census, const double* __restrict__ parts, Climate* __restrict__ climate);
