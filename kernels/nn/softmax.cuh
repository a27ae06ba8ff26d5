// Softmax with scale, bias and mask: formulas in src/nn/softmax/mod.rs, threads of a row in nn/rows.cuh. One launch, one read and
// one write of each score: between the passes over a row it stays in registers or in the first-level cache.
#pragma once
#include "gen/nn-softmax_f32.cuh"
#include "nn/rows.cuh"

__device__ __forceinline__ float infinite() { return __int_as_float(0x7f800000); }

// Keys that a query of a batch entry sees: the first of them.
__device__ __forceinline__ unsigned int count_keys(const SoftmaxArgs& a, unsigned int batch, unsigned int query, const int* q_lens, const int* k_lens) {
    const unsigned int q_len = q_lens ? (unsigned int)max(min(q_lens[batch], (int)a.q_len), 0) : a.q_len;
    const unsigned int k_len = k_lens ? (unsigned int)max(min(k_lens[batch], (int)a.k_len), 0) : a.k_len;
    if (query >= q_len) return 0;
    if (!a.is_causal) return k_len;
    return query + 1 + k_len <= q_len ? 0 : min(query + 1 + k_len - q_len, k_len);
}

extern "C" __global__ void softmax_forward(SoftmaxArgs a, const void* x, const void* q_lens, const void* k_lens, const void* bias, void* y, float* lse) {
    __shared__ float slots[1][MAX_WARPS];
    for (u64 row = first_row(); row < a.rows; row += row_step()) {
        const unsigned int query = row % a.q_len;
        const u64 head = row / a.q_len;
        const unsigned int batch = head / a.heads;
        const unsigned int n = count_keys(a, batch, query, (const int*)q_lens, (const int*)k_lens);
        const u64 at = row * a.k_len;
        const float* added = bias ? (const float*)bias + batch * a.bias_batch + head % a.heads * a.bias_head + query * a.bias_query : nullptr;
        float kept[KEPT + 1][PACK];
        auto read = [&](unsigned int c, unsigned int i) {
            read_pack((const T*)x + at, i, n, a.is_aligned, kept[c]);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                kept[c][e] *= a.scale;
                if (added && i + e < n) kept[c][e] += added[(i + e) * a.bias_key];
            }
        };
        float largest[1] = {-infinite()};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) if (i + e < n) largest[0] = fmaxf(largest[0], kept[c][e]);
        });
        reduce_row<Largest>(largest, slots);
        // Without a key all exponentials are 0; NaN is not larger than anything, and stays NaN.
        const float m = largest[0] > Largest::NONE ? largest[0] : 0.0f;
        float sum[1] = {0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                kept[c][e] = i + e < n ? expf(kept[c][e] - m) : 0.0f;
                sum[0] += kept[c][e];
            }
        });
        reduce_row<Sum>(sum, slots);
        const float factor = sum[0] == 0.0f ? 0.0f : 1.0f / sum[0];
        each_pack(a.k_len, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read(c, i);
            float out[PACK];
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                const float exponential = c == KEPT ? expf(kept[c][e] - m) : kept[c][e];
                out[e] = i + e < n ? exponential * factor : 0.0f;
            }
            write_pack((T*)y + at, i, a.k_len, a.is_aligned, out);
        });
        if (threadIdx.x == 0) lse[row] = sum[0] == 0.0f ? -infinite() : m + logf(sum[0]);
    }
}

extern "C" __global__ void softmax_backward(SoftmaxArgs a, const void* y, const void* dy, void* dx) {
    __shared__ float slots[1][MAX_WARPS];
    const unsigned int n = a.k_len;
    for (u64 row = first_row(); row < a.rows; row += row_step()) {
        const u64 at = row * n;
        float p[KEPT + 1][PACK], d[KEPT + 1][PACK];
        auto read = [&](unsigned int c, unsigned int i) {
            read_pack((const T*)y + at, i, n, a.is_aligned, p[c]);
            read_pack((const T*)dy + at, i, n, a.is_aligned, d[c]);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) if (p[c][e] == 0.0f) d[c][e] = 0.0f; // NaN neither
        };
        float dot[1] = {0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) dot[0] += p[c][e] * d[c][e];
        });
        reduce_row<Sum>(dot, slots);
        each_pack(n, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read(c, i);
            float out[PACK];
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) out[e] = a.scale * p[c][e] * (d[c][e] - dot[0]);
            write_pack((T*)dx + at, i, n, a.is_aligned, out);
        });
    }
}
