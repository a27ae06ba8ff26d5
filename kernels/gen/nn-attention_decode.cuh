// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/HeadPlaces.cuh"
#include "gen/shared/AttentionArgs.cuh"

// Attention of one query to a part of its keys, heads of up to 128 elements.
extern "C" __global__ void __launch_bounds__(128, 1) attention_decode_128(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, float* __restrict__ partial, void* o, float* __restrict__ lse);

// Attention of one query to a part of its keys, heads of up to 256 elements.
extern "C" __global__ void __launch_bounds__(128, 1) attention_decode_256(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, float* __restrict__ partial, void* o, float* __restrict__ lse);

// Joins the parts of a query, one block each.
extern "C" __global__ void __launch_bounds__(128, 1) attention_join(AttentionArgs a, const void* q_lengths, const void* k_lengths, const float* __restrict__ partial, void* o, float* __restrict__ lse);
