// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// A rotation of heads in place.
struct alignas(8) RopeArgs {
    unsigned long long tokens; // Tokens of all sequences
    unsigned long long seq_len; // Tokens of a sequence
    unsigned long long offset; // Position of the first token of every sequence
    unsigned long long stride; // Elements from a token to the next
    unsigned long long len; // Positions of the table
    unsigned int heads; // Rotated heads of a token
    unsigned int head_dim; // Elements of a head
    unsigned int halves; // Whether pairs are halves of a head instead of neighbours
    unsigned int inverse; // Whether the angles are negated
    unsigned int aligned; // Whether groups of 16 bytes are aligned and within a head
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RopeArgs) == 64, "RopeArgs: size");

// Rotary positions of queries and keys, in place: one warp per token, 16 bytes per access. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(256, 1) rotate_heads(RopeArgs g, const float* __restrict__ cos, const float* __restrict__ sin, const void* position_ids, void* x, unsigned int* __restrict__ flag);
