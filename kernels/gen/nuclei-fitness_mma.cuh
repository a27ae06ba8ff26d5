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

// Mean squared errors of nuclei of up to 32 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_32(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 64 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_64(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 128 weights, 16 nuclei per warp; bounded by reading the split inputs
// from shared memory, or by reading the weights. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_fitness_mma_128(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);
