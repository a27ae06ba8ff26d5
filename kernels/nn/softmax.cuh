// Softmax with scale, bias and mask: formulas in src/nn/softmax/mod.rs, threads of a row in nn/rows.cuh. One launch, one read and
// one write of each score: between the passes over a row it stays in registers. A block (or a warp) has one row.
//
// bf16 on an H200, microseconds (share of 4.8 TB/s; copying reaches 81 to 87 %): forward 10,000 x 4096, causal 96 x 1024 x 1024, backward
// 10,000 x 4096.
//   one pack per thread, expf, bf16 by integers, blocks in turns over rows    187.2 (18 %)   320.3 (26 %)   97.5 (53 %)
//   powers of two, bf16 by cvt, one barrier per reduction                      76.8          189.7          61.2
//   two packs per thread                                                       57.9          135.0          64.1
//   four packs                                                                 53.6           98.1          63.9
//   a block per row and no loop over rows, in 64 registers: this               45.4 (75 %)    87.0 (96 %)   58.9 (87 %)
//   eight packs, 96 registers                                                  45.3            -            59.5
//   two packs, 40 registers                                                    55.2          104.6          58.8
//   four packs with bf16 by integers, blocks in turns                          63.1
#pragma once
#define KEPT_PACKS 4
#include "gen/nn-softmax.cuh"
#include "nn/rows.cuh"

__device__ __forceinline__ float infinite() { return __int_as_float(0x7f800000); }

// Number of keys that a query of a batch entry sees: the first ones.
__device__ __forceinline__ unsigned int count_keys(const SoftmaxArgs& a, unsigned int batch, unsigned int query, const int* q_lens, const int* k_lens) {
    const unsigned int q_len = q_lens ? (unsigned int)max(min(q_lens[batch], (int)a.q_len), 0) : a.q_len;
    const unsigned int k_len = k_lens ? (unsigned int)max(min(k_lens[batch], (int)a.k_len), 0) : a.k_len;
    if (query >= q_len) return 0;
    if (!a.is_causal) return k_len;
    return query + 1 + k_len <= q_len ? 0 : min(query + 1 + k_len - q_len, k_len);
}

// Rows of plain scores with whole, aligned packs stay in registers; others are read again in the same order, with the
// same bits.
template <bool IS_PLAIN>
__device__ __forceinline__ void softmax_of_row(const SoftmaxArgs& a, u64 row, const T* from, unsigned int n, const float* added, T* to, float* lse) {
    __shared__ float maxima[MAX_WARPS], sums[MAX_WARPS];
    constexpr unsigned int K = IS_PLAIN ? KEPT : 0;
    Raw raw[KEPT];
    float kept[KEPT][PACK];
    each_kept<K>(n, [&](unsigned int c, unsigned int i) { raw[c] = read_whole(from + i); });
    // Loads scores from element i on; those beyond n are -infinity.
    auto scores = [&](unsigned int c, unsigned int i, float (&x)[PACK]) {
        if (IS_PLAIN) unpack(is_kept<K>(c) ? raw[is_kept<K>(c) ? c : 0] : read_whole(from + i), x);
        else read_pack(from, i, n, a.is_aligned, x);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            x[e] = __fmul_rn(x[e], a.scale); // never fused with the difference, because it is stored or computed again
            if (!IS_PLAIN && added && i + e < n) x[e] = __fadd_rn(x[e], added[(i + e) * a.bias_key]);
        }
        if (i + PACK > n)
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) if (i + e >= n) x[e] = -infinite();
    };
    float largest = -infinite();
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float other[PACK];
        float (&x)[PACK] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0] : other;
        scores(c, i, x);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) largest = fmaxf(largest, x[e]);
    });
    largest = reduce_once<Largest>(largest, maxima);
    // Without a key all exponentials are 0. NaN compares false and stays NaN.
    const float m = largest > Largest::NONE ? largest : 0.0f;
    float sum = 0.0f;
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float other[PACK];
        float (&x)[PACK] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0] : other;
        if (!is_kept<K>(c)) scores(c, i, x);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            x[e] = power_of_two((x[e] - m) * LOG2_E);
            sum += x[e];
        }
    });
    sum = reduce_once<Sum>(sum, sums);
    const float factor = sum == 0.0f ? 0.0f : 1.0f / sum;
    each_pack<K>(a.k_len, [&](unsigned int c, unsigned int i) {
        float x[PACK];
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) x[e] = 0.0f;
        if (i < n) {
            if (!is_kept<K>(c)) scores(c, i, x);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                x[e] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0][e] : power_of_two((x[e] - m) * LOG2_E);
                x[e] *= factor;
            }
            if (i + PACK > n)
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) if (i + e >= n) x[e] = 0.0f;
        }
        write_pack(to, i, a.k_len, IS_PLAIN || a.is_aligned, x);
    });
    if (threadIdx.x == 0) lse[row] = sum == 0.0f ? -infinite() : m + logf(sum);
}

extern "C" __global__ void softmax_forward(SoftmaxArgs a, const void* x, const void* q_lens, const void* k_lens, const void* bias, void* y, float* lse) {
    const u64 row = first_row();
    if (row >= a.rows) return;
    const unsigned int head = (unsigned int)(row / a.q_len), query = (unsigned int)(row - (u64)head * a.q_len), batch = head / a.heads;
    const unsigned int n = count_keys(a, batch, query, (const int*)q_lens, (const int*)k_lens);
    const u64 at = row * a.k_len;
    const float* added = bias ? (const float*)bias + batch * a.bias_batch + head % a.heads * a.bias_head + query * a.bias_query : nullptr;
    if (a.is_aligned && !added) softmax_of_row<true>(a, row, (const T*)x + at, n, nullptr, (T*)y + at, lse);
    else softmax_of_row<false>(a, row, (const T*)x + at, n, added, (T*)y + at, lse);
}

template <bool IS_ALIGNED>
__device__ __forceinline__ void gradient_of_row(const SoftmaxArgs& a, const T* y, const T* dy, T* dx) {
    __shared__ float slots[MAX_WARPS];
    constexpr unsigned int K = IS_ALIGNED ? KEPT : 0;
    const unsigned int n = a.k_len;
    Raw kept_y[KEPT], kept_dy[KEPT];
    each_kept<K>(n, [&](unsigned int c, unsigned int i) { kept_y[c] = read_whole(y + i), kept_dy[c] = read_whole(dy + i); });
    auto read = [&](unsigned int c, unsigned int i, float (&p)[PACK], float (&d)[PACK]) {
        if (IS_ALIGNED) {
            unpack(is_kept<K>(c) ? kept_y[is_kept<K>(c) ? c : 0] : read_whole(y + i), p);
            unpack(is_kept<K>(c) ? kept_dy[is_kept<K>(c) ? c : 0] : read_whole(dy + i), d);
        } else {
            read_pack(y, i, n, a.is_aligned, p);
            read_pack(dy, i, n, a.is_aligned, d);
        }
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) if (p[e] == 0.0f) d[e] = 0.0f; // NaN neither
    };
    float dot = 0.0f;
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float p[PACK], d[PACK];
        read(c, i, p, d);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) dot = fmaf(p[e], d[e], dot);
    });
    dot = reduce_once<Sum>(dot, slots);
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float p[PACK], d[PACK];
        read(c, i, p, d);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) d[e] = a.scale * p[e] * (d[e] - dot);
        write_pack(dx, i, n, IS_ALIGNED, d);
    });
}

extern "C" __global__ void softmax_backward(SoftmaxArgs a, const void* y, const void* dy, void* dx) {
    const u64 row = first_row();
    if (row >= a.rows) return;
    const u64 at = row * a.k_len;
    if (a.is_aligned) gradient_of_row<true>(a, (const T*)y + at, (const T*)dy + at, (T*)dx + at);
    else gradient_of_row<false>(a, (const T*)y + at, (const T*)dy + at, (T*)dx + at);
}
