// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/StepParams.cuh"
#include "gen/shared/LossTotal.cuh"
#include "gen/shared/OptimizerState.cuh"

constexpr unsigned int MAX_RECORDS = 1024u;
constexpr unsigned int VIEW_PARTS = 32u;

// Results of a step for the host.
struct alignas(4) StepRecord {
    float loss; // Mean loss, nats
    float norm; // Norm of the gradient
    float scale; // Loss scale of this step
    unsigned int is_applied; // Whether parameters changed
};
static_assert(sizeof(StepRecord) == 16, "StepRecord: size");

// Elements of a parameter.
struct alignas(8) ViewRange {
    unsigned long long start; // Index of its first element
    unsigned long long len; // Number of its elements
};
static_assert(sizeof(ViewRange) == 16, "ViewRange: size");

// New tokens of a cache; sizes in units of 16 bits.
struct alignas(4) CacheSizes {
    unsigned int tokens; // Tokens appended to the cache
    unsigned int kv; // Size of the keys of a token, and of its values
    unsigned int queries; // Size of the queries of a token
    unsigned int row; // Distance from one token to the next
};
static_assert(sizeof(CacheSizes) == 16, "CacheSizes: size");

// One thread: clears the loss, and sets the gradient of the loss of a target.
extern "C" __global__ void __launch_bounds__(1, 1) begin_step(const StepParams* __restrict__ params, const OptimizerState* __restrict__ state, LossTotal* __restrict__ total, float* __restrict__ scale);

// One thread: writes the loss and the norm of a step for the host.
extern "C" __global__ void __launch_bounds__(1, 1) record_step(const StepParams* __restrict__ params, const OptimizerState* __restrict__ state, const LossTotal* __restrict__ total, const float* __restrict__ scale, StepRecord* __restrict__ records);

// One block per parameter and part: sums the squares of weights, gradients and changes.
extern "C" __global__ void __launch_bounds__(256, 1) sum_views(const ViewRange* __restrict__ views, const float* __restrict__ weights, const float* __restrict__ before, const float* __restrict__ gradient, double* __restrict__ partials);

// One thread per parameter: writes the norms of its weights, gradient and change to the row of the step.
extern "C" __global__ void __launch_bounds__(128, 1) finish_views(unsigned int n_views, const StepParams* __restrict__ params, const float* __restrict__ scale, const double* __restrict__ partials, float* __restrict__ norms);

// One thread per 16 bits of keys and values: appends new tokens to the cache of a block. `lengths` holds the
// number of tokens in the cache, including the new ones.
extern "C" __global__ void __launch_bounds__(256, 1) append_cache(CacheSizes s, const int* __restrict__ lengths, const void* qkv, void* keys, void* values);
