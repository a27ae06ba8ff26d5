// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"
#include "gen/shared/PassArgs.cuh"
#include "gen/shared/MatrixArgs.cuh"
#include "gen/shared/Draws.cuh"
#include "gen/shared/TensorArgs.cuh"

constexpr unsigned int SUM_TILE = 64u;
constexpr unsigned int SUM_PAIRS = 16u;

// Rows of the unperturbed model; their inputs are added to weighted sums.
struct alignas(4) InputRowsArgs {
    unsigned int pairs; // Number of pairs
    unsigned int rows; // Rows of each pair
    unsigned int first_row; // Row of the pair with which they begin
    unsigned int words; // Words of signs of each pair
};
static_assert(sizeof(InputRowsArgs) == 16, "InputRowsArgs: size");

// Adds the perturbation to the sums of a product, a thread per sum; rows are `stride` sums apart. Items: sums.
extern "C" __global__ void __launch_bounds__(256, 1) perturb_sums(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const unsigned long long* __restrict__ signs, int* __restrict__ sums);

// Adds the weighted products of signs and inputs to the sums of a matrix, a block per tile of outputs and inputs and
// group of pairs.
extern "C" __global__ void __launch_bounds__(256, 1) sum_inputs(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, const unsigned long long* __restrict__ signs, const long long* __restrict__ pair_weights, const signed char* __restrict__ x, long long* __restrict__ z);

// Adds the weighted signs of the embedding to the rows of their tokens, a thread per feature. Items: features.
extern "C" __global__ void __launch_bounds__(256, 1) sum_embeddings(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, const unsigned long long* __restrict__ signs, const long long* __restrict__ pair_weights, const unsigned short* __restrict__ tokens, long long* __restrict__ z);

// Adds the weighted signs of a matrix to the sums of a vector that is added to its outputs, a thread per element. The element
// repeats after `period` rows. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_outputs(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, unsigned int outputs, unsigned int period, unsigned int start, const unsigned long long* __restrict__ signs, const long long* __restrict__ pair_weights, long long* __restrict__ z);
