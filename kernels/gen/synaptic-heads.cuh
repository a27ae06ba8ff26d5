// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int MAX_HEAD = 256u;

// Heads of some tokens.
struct alignas(4) HeadArgs {
    unsigned int tokens; // Tokens of all sequences
    unsigned int seq_len; // Tokens of a sequence
    unsigned int heads; // Query heads of a token
    unsigned int kv_heads; // Heads of keys and values
    unsigned int head_dim; // Features of a head
    unsigned int key_rows; // Rows from a head of keys to the next
    unsigned int key_offset; // Row of the first key, which is also its position
    float eps; // Constant added to the mean square
};
static_assert(sizeof(HeadArgs) == 32, "HeadArgs: size");

// One warp per head of a token: rotary positions and norm of queries and keys, by head. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) split_heads(HeadArgs a, const void* place, const float* __restrict__ packed, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, float* __restrict__ q, float* __restrict__ k, float* __restrict__ v, float* __restrict__ rstd);

// One warp per head of a token: the backward pass of `split_heads`. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) split_heads_backward(HeadArgs a, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ rstd, const float* __restrict__ dq, const float* __restrict__ dk, const float* __restrict__ dv, float* __restrict__ dpacked, void* products);

// One block per head: gradient of the factor of its logits.
extern "C" __global__ void __launch_bounds__(256, 1) add_temperature_gradient(HeadArgs a, const float* __restrict__ products, const float* __restrict__ temperature, float* __restrict__ gradient);

// One thread per element: rows by head as rows by token, or the reverse.
extern "C" __global__ void __launch_bounds__(256, 1) move_heads(HeadArgs a, unsigned int to_tokens, const float* __restrict__ from, float* __restrict__ to);

// One thread per slot: the experts and gates that the last tokens of a batch selected.
extern "C" __global__ void __launch_bounds__(256, 1) keep_selection(unsigned int first, unsigned int n, const unsigned int* __restrict__ indices, const float* __restrict__ gates, unsigned int* __restrict__ experts, float* __restrict__ kept);
