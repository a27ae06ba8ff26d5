// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"
#include "gen/shared/PassArgs.cuh"
#include "gen/shared/MatrixArgs.cuh"
#include "gen/shared/Draws.cuh"
#include "gen/shared/TensorArgs.cuh"

// Step of an update.
struct alignas(4) StepArgs {
    unsigned int rule; // Number of the rule
    unsigned int has_byte_residual; // Whether rounding errors are kept in 8 bits
    float rate; // Learning rate of the generation
    float threshold; // Least magnitude of a direction
    float limit; // Limit of shadow weights
    float decay1; // Decay of the first moment
    float decay2; // Decay of the second moment
    float correction1; // Factor of the first moment
    float correction2; // Factor of the second moment
};
static_assert(sizeof(StepArgs) == 36, "StepArgs: size");

// Adds up the weighted full-rank perturbations of a tensor, a thread per element. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_full_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, const long long* __restrict__ pair_weights, long long* __restrict__ z);

// Adds up the weighted low-rank perturbations of a matrix, a thread per four elements of a row. Items:
// elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_low_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int rank, unsigned int words_per_pair, const unsigned long long* __restrict__ words, const long long* __restrict__ pair_weights, long long* __restrict__ z);

// Adds up the weighted signs of a vector, a thread per element. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_vector_signs(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, const long long* __restrict__ pair_weights, long long* __restrict__ z);

// Adds up the squares of the weighted sums of a tensor, several elements per thread. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_squares(TensorArgs t, const long long* __restrict__ z, unsigned long long* __restrict__ halves);

// Updates running mean squares and their roots, a thread per tensor. Items: tensors.
extern "C" __global__ void __launch_bounds__(64, 1) update_roots(unsigned int n, const unsigned long long* __restrict__ halves, const unsigned int* __restrict__ lengths, float* __restrict__ mean_squares, float* __restrict__ roots, unsigned long long* __restrict__ counts);

// Changes the weights of a tensor, a thread per element. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) update_weights(const StepArgs* __restrict__ steps, TensorArgs t, const long long* __restrict__ z, const float* __restrict__ roots, const unsigned char* __restrict__ frozen, float* __restrict__ shadows, signed char* __restrict__ weights, float* __restrict__ first, float* __restrict__ second, unsigned long long* __restrict__ counts);
