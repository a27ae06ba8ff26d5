// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nn-DROPOUT_CONSTANTS.cuh"
#include "gen/shared/HeadPlaces.cuh"
#include "gen/shared/AttentionArgs.cuh"
#include "gen/shared/DropoutStep.cuh"

// Attention with heads of up to 64 elements, 64 queries per block.
extern "C" __global__ void __launch_bounds__(256, 2) attention_forward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, void* o, float* __restrict__ lse);

// Attention with heads of up to 256 elements, 16 queries per block.
extern "C" __global__ void __launch_bounds__(128, 1) attention_forward_256(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, void* o, float* __restrict__ lse);

// Products of results and their gradients, one warp per row.
extern "C" __global__ void __launch_bounds__(256, 1) attention_dots(AttentionArgs a, const void* o, const void* d_o, const void* q_lengths, const void* k_lengths, float* __restrict__ dots);

// Gradients of queries, heads of up to 64 elements, 64 queries per block.
extern "C" __global__ void __launch_bounds__(256, 2) attention_queries_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq, void* dbias);

// Gradients of queries, heads of up to 256 elements, 16 queries per block.
extern "C" __global__ void __launch_bounds__(128, 1) attention_queries_backward_256(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dq, void* dbias);

// Gradients of keys and values, heads of up to 64 elements, 64 keys per block. Without `dv` both are in `dk`.
extern "C" __global__ void __launch_bounds__(256, 2) attention_keys_backward_64(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);

// Gradients of keys and values, heads of up to 256 elements, 16 keys per block. Without `dv` both are in `dk`.
extern "C" __global__ void __launch_bounds__(128, 1) attention_keys_backward_256(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const void* drop, const void* d_o, const float* __restrict__ lse, const float* __restrict__ dots, void* dk, void* dv);

// Probabilities of one sequence and head, one thread per query and key.
extern "C" __global__ void __launch_bounds__(128, 1) attention_map(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const float* __restrict__ lse, unsigned int b, unsigned int head, float* __restrict__ map);
