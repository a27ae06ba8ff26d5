// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// A softmax of rows.
struct alignas(8) SoftmaxArgs {
    unsigned long long rows; // Rows of all batch entries and heads
    unsigned long long bias_batch; // Elements of the bias from a batch entry to the next
    unsigned long long bias_head; // Elements of the bias from a head to the next
    unsigned long long bias_query; // Elements of the bias from a query to the next
    unsigned long long bias_key; // Elements of the bias from a key to the next
    unsigned int heads; // Heads of a batch entry
    unsigned int q_len; // Rows of a head
    unsigned int k_len; // Elements of a row
    float scale; // Factor of the scores
    unsigned int is_causal; // Whether a query sees no later keys
    unsigned int is_aligned; // Whether packs of 16 bytes of a row are aligned
};
static_assert(sizeof(SoftmaxArgs) == 64, "SoftmaxArgs: size");

// A warp or a block per row: probabilities and log-sum-exp. Items: rows.
extern "C" __global__ void __launch_bounds__(1024, 1) softmax_forward(SoftmaxArgs a, const void* x, const void* q_lens, const void* k_lens, const void* bias, void* y, float* __restrict__ lse);

// A warp or a block per row: gradient of the scores before their scale. Items: rows.
extern "C" __global__ void __launch_bounds__(1024, 1) softmax_backward(SoftmaxArgs a, const void* y, const void* dy, void* dx);
