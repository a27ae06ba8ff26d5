// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int FIELDS = 10u;
constexpr unsigned int PHI = 0u;
constexpr unsigned int AMP = 1u;
constexpr unsigned int OMEGA = 2u;
constexpr unsigned int SPIKE = 3u;
constexpr unsigned int F = 4u;
constexpr unsigned int H = 5u;
constexpr unsigned int S_RE = 6u;
constexpr unsigned int S_IM = 7u;
constexpr unsigned int D = 8u;
constexpr unsigned int R_LOCAL = 9u;
constexpr unsigned int ALIVE = 0u;
constexpr unsigned int FROZEN = 1u;
constexpr unsigned int BIRTH = 2u;
constexpr unsigned int PARENT = 3u;
constexpr unsigned int MARK = 4u;
constexpr unsigned int MAX_SELECTED = 4096u;
constexpr unsigned int MAX_LEARNING = 512u;

// Population size and event totals. Only kernels write them while a simulation runs.
struct alignas(8) PopulationCounts {
    unsigned long long generation; // Generations done
    unsigned long long fused; // Fusions
    unsigned long long absorbed; // Nuclei absorbed by fusions
    unsigned long long decayed; // Decays
    unsigned long long children; // Offspring placed in free slots
    unsigned long long missing; // Offspring without a free slot
    unsigned long long died; // Deaths
    unsigned int n; // Number of nuclei
    unsigned int n_free; // Free slots
};
static_assert(sizeof(PopulationCounts) == 64, "PopulationCounts: size");

// Statistics of the population in this generation.
struct alignas(8) DeviceStats {
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
    double p_mean; // Mean of the probabilities at the local orders
    float min_f; // Lowest error
    float median_f; // Median error, if sampled
    unsigned int best; // Slot of the lowest error, the lowest of ties
    float ensemble_f; // Error of the mean output of the ensemble, if sampled
};
static_assert(sizeof(DeviceStats) == 104, "DeviceStats: size");

// Least-squares equations of the task. Rows are zero-padded to a multiple of 32, columns to a multiple of 16.
struct alignas(8) TaskEquations {
    double rest; // Residual sum of squares independent of the weights
    double samples; // Samples
    unsigned int rows; // Rows
    unsigned int columns; // Columns
    unsigned int inputs; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int n_slots; // Slots of the table
    unsigned int triangular; // Whether row b starts with b zeros
    unsigned int saturating; // Whether outputs saturate
    unsigned int storage; // 0 full, 1 f16, 2 bf16
    float step; // Gradient step size over the number of samples
    float unscale; // Inverse scale of the split inputs
};
static_assert(sizeof(TaskEquations) == 56, "TaskEquations: size");

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
