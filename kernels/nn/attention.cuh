// Shared parts of all attention kernels: addresses of tokens and heads, and the keys that a query sees.
// src/nn/attention contains the declaration with the formulas. Included after the generated header.
#pragma once

constexpr unsigned int LENGTHS_FULL = 0, LENGTHS_PADDED = 1, LENGTHS_PACKED = 2; // as in src/nn/attention/cuda
constexpr unsigned int STORED_F32 = 0, STORED_F16 = 1, STORED_BF16 = 2;
constexpr float LOG2_E = 1.4426950408889634f;

__device__ __forceinline__ float minus_infinity() { return __int_as_float((int)0xff800000u); }

// Sequence: its position in the buffers, and its lengths in tokens.
struct Sequence {
    unsigned int batch, first_q, first_k; // `batch` is 0 for packed sequences
    int lq, lk;
};

// Clips lengths that are out of range, so that nothing outside the buffers is accessed.
__device__ __forceinline__ Sequence sequence(const AttentionArgs& a, const int* q_lengths, const int* k_lengths, unsigned int b) {
    Sequence s = {b, 0, 0, (int)a.q_len, (int)a.k_len};
    if (a.lengths == LENGTHS_PACKED) {
        const int* k_starts = k_lengths ? k_lengths : q_lengths;
        s.batch = 0;
        s.first_q = (unsigned int)min(max(q_lengths[b], 0), (int)a.q_tokens);
        s.first_k = (unsigned int)min(max(k_starts[b], 0), (int)a.k_tokens);
        s.lq = max(min(min(q_lengths[b + 1], (int)a.q_tokens) - (int)s.first_q, (int)a.q_len), 0);
        s.lk = max(min(min(k_starts[b + 1], (int)a.k_tokens) - (int)s.first_k, (int)a.k_len), 0);
    } else if (a.lengths == LENGTHS_PADDED) {
        if (q_lengths) s.lq = min(max(q_lengths[b], 0), (int)a.q_len);
        if (k_lengths) s.lk = min(max(k_lengths[b], 0), (int)a.k_len);
    }
    return s;
}

// First key that query `i` sees, and the end of its keys.
__device__ __forceinline__ int first_key(const AttentionArgs& a, const Sequence& s, int i) {
    return a.window ? min(max(i + s.lk - s.lq + 1 - (int)a.window, 0), s.lk) : 0;
}
__device__ __forceinline__ int end_key(const AttentionArgs& a, const Sequence& s, int i) {
    const int own = i + s.lk - s.lq;
    if (a.causal) return min(max(own + 1, 0), s.lk);
    return a.window ? min(max(own + (int)a.window, 0), s.lk) : s.lk;
}
__device__ __forceinline__ bool is_visible(const AttentionArgs& a, const Sequence& s, int i, int j) {
    return i < s.lq && j >= first_key(a, s, i) && j < end_key(a, s, i);
}
// First query that sees a key from `j` on, and the end of the queries that see a key up to `j`.
__device__ __forceinline__ int first_query(const AttentionArgs& a, const Sequence& s, int j) {
    const int own = j - (s.lk - s.lq);
    if (a.causal) return min(max(own, 0), s.lq);
    return a.window ? min(max(own - (int)a.window + 1, 0), s.lq) : 0;
}
__device__ __forceinline__ int end_query(const AttentionArgs& a, const Sequence& s, int j) {
    return a.window ? min(max(j - (s.lk - s.lq) + (int)a.window, 0), s.lq) : s.lq;
}

// First element of a token's head.
__device__ __forceinline__ unsigned long long place(const HeadPlaces& x, const Sequence& s, unsigned int first, int token, unsigned int head) {
    return x.offset + s.batch * x.batch + (first + (unsigned long long)token) * x.token + head * x.head;
}
__device__ __forceinline__ unsigned long long bias_place(const AttentionArgs& a, unsigned int b, unsigned int head, int i, int j) {
    return b * a.bias_batch + head * a.bias_head + i * a.bias_query + j * a.bias_key;
}
// Row of a query in lse and in the dot products of the backward pass.
__device__ __forceinline__ unsigned long long row_of(const AttentionArgs& a, unsigned int b, unsigned int head, int i) {
    return ((unsigned long long)b * a.heads + head) * a.q_len + i;
}

// Not inlined, because kernels contain dozens of uses.
__device__ __noinline__ float stored(const void* from, unsigned long long at, unsigned int format) {
    if (format == STORED_F32) return ((const float*)from)[at];
    const unsigned short bits = ((const unsigned short*)from)[at];
    return format == STORED_F16 ? to_float(f16{bits}) : to_float(bf16{bits});
}
__device__ __noinline__ void store(void* to, unsigned long long at, unsigned int format, float x) {
    if (format == STORED_F32) ((float*)to)[at] = x;
    else ((unsigned short*)to)[at] = format == STORED_F16 ? to_f16(x).bits : to_bf16(x).bits;
}
#include "nn/attention_dropout.cuh"
