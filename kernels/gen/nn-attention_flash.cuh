// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nn-DROPOUT_CONSTANTS.cuh"
#include "gen/shared/HeadPlaces.cuh"
#include "gen/shared/AttentionArgs.cuh"
#include "gen/shared/DropoutStep.cuh"

// Attention with heads of up to 64 elements.
extern "C" __global__ void __launch_bounds__(128, 2) flash_forward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, void* o, float* __restrict__ lse);

// Attention with heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(256, 1) flash_forward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, void* o, float* __restrict__ lse);

// Gradients of queries, heads of up to 64 elements.
extern "C" __global__ void __launch_bounds__(128, 2) flash_queries_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq);

// Gradients of queries, heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(128, 2) flash_queries_backward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq);

// Gradients of keys and values, heads of up to 64 elements. Without `dv` both are in `dk`.
extern "C" __global__ void __launch_bounds__(128, 2) flash_keys_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);

// Gradients of keys and values, heads of up to 128 elements. Without `dv` both are in `dk`.
extern "C" __global__ void __launch_bounds__(128, 2) flash_keys_backward_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);
