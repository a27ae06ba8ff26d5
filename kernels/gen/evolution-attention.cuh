// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"
#include "gen/shared/PassArgs.cuh"
#include "gen/shared/MatrixArgs.cuh"
#include "gen/shared/Draws.cuh"

// Attention of a layer.
struct alignas(4) DeltaRuleArgs {
    unsigned int layer; // Index of the layer
    unsigned int first_bias; // First element of the biases of the gates among all vectors
    unsigned int is_delta_net; // Whether keys are normalised, and gates are used as they are
    unsigned int has_f16_state; // Whether states are rounded to 16 bits
};
static_assert(sizeof(DeltaRuleArgs) == 16, "DeltaRuleArgs: size");

// Computes gates, norms of queries and keys, and products with the second factors of low-rank perturbations,
// 32 rows per block. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) attention_rows(PassArgs p, DeltaRuleArgs a, MatrixArgs of_query, MatrixArgs of_key, MatrixArgs of_value, MatrixArgs of_gate, unsigned int rows, unsigned int stride, const unsigned long long* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ gate_bias, const signed char* __restrict__ gate_weights, const signed char* __restrict__ y, const int* __restrict__ query_sums, const int* __restrict__ key_sums, int* __restrict__ along, float* __restrict__ alphas, float* __restrict__ inverses);

// Multiplies keys and queries with keys, a block per 64 x 64 of a sequence. Items: tokens.
extern "C" __global__ void __launch_bounds__(128, 1) attention_products(PassArgs p, MatrixArgs of_query, MatrixArgs of_key, const unsigned long long* __restrict__ signs, const int* __restrict__ query_sums, const int* __restrict__ key_sums, const int* __restrict__ along, const float* __restrict__ inverses, float* __restrict__ products);

// Computes corrections and outputs in chunk form, two columns per thread. Items: tokens.
extern "C" __global__ void __launch_bounds__(64, 1) attention_outputs(PassArgs p, MatrixArgs of_value, const unsigned long long* __restrict__ signs, const float* __restrict__ products, const int* __restrict__ value_sums, const int* __restrict__ along, const float* __restrict__ alphas, float* __restrict__ output);

// Computes outputs step by step with a state matrix, a thread per column. Items: tokens.
extern "C" __global__ void __launch_bounds__(128, 1) attention_states(PassArgs p, DeltaRuleArgs a, MatrixArgs of_query, MatrixArgs of_key, MatrixArgs of_value, const unsigned long long* __restrict__ signs, const int* __restrict__ query_sums, const int* __restrict__ key_sums, const int* __restrict__ value_sums, const int* __restrict__ along, const float* __restrict__ alphas, const float* __restrict__ inverses, float* __restrict__ output);
