// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int DROPOUT = 6u;

// Where the heads of tokens are, in elements.
struct alignas(8) HeadPlaces {
    unsigned long long offset; // First element
    unsigned long long batch; // From a sequence to the next
    unsigned long long token; // From a token to the next
    unsigned long long head; // From a head to the next
};
static_assert(sizeof(HeadPlaces) == 32, "HeadPlaces: size");

// One attention.
struct alignas(8) AttentionArgs {
    HeadPlaces q; // Queries and their gradients
    HeadPlaces k; // Keys and their gradients
    HeadPlaces v; // Values and their gradients
    HeadPlaces o; // The result and its gradient
    unsigned long long bias_batch; // Bias: from a sequence to the next
    unsigned long long bias_head; // From a head to the next
    unsigned long long bias_query; // From a query to the next
    unsigned long long bias_key; // From a key to the next
    unsigned int batch; // Sequences
    unsigned int heads; // Query heads
    unsigned int group; // Query heads of a key and value head
    unsigned int head_dim; // Elements of a head
    unsigned int q_len; // Queries of a sequence, at most
    unsigned int k_len; // Keys of a sequence, at most
    unsigned int q_tokens; // Queries the buffers hold, of packed sequences
    unsigned int k_tokens; // Keys the buffers hold, of packed sequences
    unsigned int format; // Format of the tensors, where the kernel has no own
    unsigned int causal; // Whether later keys are hidden
    unsigned int window; // Window, 0 for none
    unsigned int lengths; // Which tokens exist
    unsigned int aligned; // Whether rows of keys, values and queries begin at multiples of 16 bytes
    unsigned int splits; // Parts of the keys, each of a block of its own
    float scale; // Factor of the products of queries and keys
    unsigned int drop_site; // Place of dropout
    unsigned int drop_keys; // Keys of a row of its addresses
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(AttentionArgs) == 232, "AttentionArgs: size");

// What all places of a network share in a step.
struct alignas(8) DropoutStep {
    unsigned long long seed; // Project seed
    unsigned long long step; // Step
    unsigned long long offset; // Index of the first element
    unsigned long long threshold; // Elements whose word is at least that are kept
    float factor; // Factor of kept elements
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(DropoutStep) == 40, "DropoutStep: size");

// Attention with heads of up to 64 elements.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_forward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, void* o, float* __restrict__ lse);

// Attention with heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_forward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, void* o, float* __restrict__ lse);

// Gradients of queries, heads of up to 64 elements.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_queries_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq);

// The same for heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_queries_backward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq);

// Gradients of keys and values, heads of up to 64 elements. Without `dv` both are in `dk`.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_keys_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);

// The same for heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(256, 1) hopper_keys_backward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);
