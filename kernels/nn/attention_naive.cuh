// Attention without tensor cores: the reference variant, for any head up to 256 elements, any layout and format, with
// f32 arithmetic. A block takes TILE queries (or keys) of one head, eight threads each; keys (or queries) pass through
// shared memory in tiles of TILE. Each thread sums every eighth element of its row in registers. Products read shared
// memory nearly twice per multiply-add, which bounds the kernel. Heads of up to 64 elements use the kernels in
// nn/attention_simt.cuh. DROPS: applies dropout to probabilities.
#pragma once
#include "gen/nn-attention_naive.cuh"
#include "nn/attention_simt.cuh"

// TILE rows of a tensor; rows beyond `rows` are zero. A row is padded by one element, so that neighbours are in
// different banks.
template <int TILE>
__device__ __forceinline__ void load_rows(float* tile, const void* from, unsigned long long at, unsigned long long step, int rows, const AttentionArgs& a) {
#pragma unroll 1
    for (unsigned int i = threadIdx.x; i < TILE * a.head_dim; i += 8 * TILE) {
        const unsigned int row = i / a.head_dim, d = i % a.head_dim;
        tile[row * (a.head_dim + 1) + d] = (int)row < rows ? stored(from, at + row * step + d, a.format) : 0.0f;
    }
}

__device__ __forceinline__ float sum_of_eight(float x) {
    for (int n = 1; n < 8; n *= 2) x += __shfl_xor_sync(0xffffffffu, x, n);
    return x;
}

// Dot products of this thread's row of `a` with rows part, part + 8, … of `b`.
template <int N>
__device__ __forceinline__ void dot_rows(float (&out)[N], const float* a, const float* b, unsigned int head_dim, unsigned int part) {
#pragma unroll
    for (int c = 0; c < N; ++c) out[c] = 0.0f;
#pragma unroll 4
    for (unsigned int d = 0; d < head_dim; ++d) {
        const float x = a[d];
#pragma unroll
        for (int c = 0; c < N; ++c) out[c] = fmaf(x, b[(part + 8 * c) * (head_dim + 1) + d], out[c]);
    }
}

// sums[k] += Σ_r weights[r] rows[r][part + 8 k]
template <int MAX, int TILE>
__device__ __forceinline__ void add_rows(float (&sums)[MAX], const float* weights, const float* rows, unsigned int head_dim, unsigned int part) {
#pragma unroll 1
    for (unsigned int r = 0; r < TILE; ++r) {
        const float w = weights[r];
        const float* row = rows + r * (head_dim + 1) + part;
#pragma unroll
        for (int k = 0; k < MAX; ++k)
            if (8 * k + part < head_dim) sums[k] = fmaf(w, row[8 * k], sums[k]);
    }
}

// Head and tile of this block.
struct Work {
    unsigned int b, head;
    int first;
    __device__ __forceinline__ Work(unsigned int heads, unsigned int len, unsigned int tile) {
        const unsigned int tiles = (len + tile - 1) / tile;
        first = (int)(blockIdx.x % tiles * tile);
        head = blockIdx.x / tiles % heads;
        b = blockIdx.x / tiles / heads;
    }
};

template <int MAX, int TILE>
__device__ __forceinline__ void forward(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, void* o, float* lse) {
    extern __shared__ float memory[];
    const Work work(a.heads, a.q_len, TILE);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const unsigned int row = threadIdx.x / 8, part = threadIdx.x % 8, kv = work.head / a.group, size = TILE * (a.head_dim + 1);
    float *queries = memory, *keys = queries + size, *values = keys + size, *weights = values + size + row * (TILE + 1);
    const int i = work.first + (int)row, last = min(work.first + TILE, s.lq) - 1;
    float top = minus_infinity(), sum = 0.0f, sums[MAX] = {};
    load_rows<TILE>(queries, q, place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a);
    if (last >= work.first)
        for (int first = first_key(a, s, work.first); first < end_key(a, s, last); first += TILE) {
            __syncthreads();
            load_rows<TILE>(keys, k, place(a.k, s, s.first_k, first, kv), a.k.token, s.lk - first, a);
            load_rows<TILE>(values, v, place(a.v, s, s.first_k, first, kv), a.v.token, s.lk - first, a);
            __syncthreads();
            float x[TILE / 8], most = top;
            dot_rows(x, queries + row * (a.head_dim + 1), keys, a.head_dim, part);
#pragma unroll
            for (int c = 0; c < TILE / 8; ++c) {
                const int j = first + (int)part + 8 * c;
                const bool sees = is_visible(a, s, i, j);
                x[c] = sees ? x[c] * a.scale + (bias ? bias[bias_place(a, work.b, work.head, i, j)] : 0.0f) : minus_infinity();
                most = fmaxf(most, x[c]);
            }
            for (int n = 1; n < 8; n *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, n));
            const float base = most == minus_infinity() ? 0.0f : most, factor = expf(top - base);
            float added = 0.0f;
#pragma unroll
            for (int c = 0; c < TILE / 8; ++c) {
                const float p = expf(x[c] - base);
                added += p;
                weights[part + 8 * c] = p * drop.factor_of(work.head, i, first + (int)part + 8 * c);
            }
            sum = sum * factor + sum_of_eight(added);
            top = most;
#pragma unroll
            for (int n = 0; n < MAX; ++n) sums[n] *= factor;
            __syncwarp();
            add_rows<MAX, TILE>(sums, weights, values, a.head_dim, part);
        }
    const bool exists = i < s.lq;
    if (i >= (int)a.q_len) return;
    if (part == 0) lse[row_of(a, work.b, work.head, i)] = exists && sum != 0.0f ? top + logf(sum) : minus_infinity();
    if (!exists && a.lengths == LENGTHS_PACKED) return;
    const unsigned long long at = place(a.o, s, s.first_q, i, work.head);
#pragma unroll
    for (int n = 0; n < MAX; ++n)
        if (8 * n + part < a.head_dim) store(o, at + 8 * n + part, a.format, exists && sum != 0.0f ? sums[n] / sum : 0.0f);
}

// Computes gradients of queries, and those of a bias with an element per pair.
template <int MAX, int TILE>
__device__ __forceinline__ void queries_backward(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, const void* d_o, const float* lse, const float* dots, void* dq, float* dbias) {
    extern __shared__ float memory[];
    const Work work(a.heads, a.q_len, TILE);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const unsigned int row = threadIdx.x / 8, part = threadIdx.x % 8, kv = work.head / a.group, size = TILE * (a.head_dim + 1), wide = a.head_dim + 1;
    float *queries = memory, *gradients = queries + size, *keys = gradients + size, *values = keys + size, *weights = values + size + row * (TILE + 1);
    const int i = work.first + (int)row, last = min(work.first + TILE, s.lq) - 1;
    float sums[MAX] = {};
    load_rows<TILE>(queries, q, place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a);
    load_rows<TILE>(gradients, d_o, place(a.o, s, s.first_q, work.first, work.head), a.o.token, s.lq - work.first, a);
    const float row_lse = i < s.lq ? lse[row_of(a, work.b, work.head, i)] : 0.0f, dot = i < s.lq ? dots[row_of(a, work.b, work.head, i)] : 0.0f;
    if (last >= work.first)
        for (int first = first_key(a, s, work.first); first < end_key(a, s, last); first += TILE) {
            __syncthreads();
            load_rows<TILE>(keys, k, place(a.k, s, s.first_k, first, kv), a.k.token, s.lk - first, a);
            load_rows<TILE>(values, v, place(a.v, s, s.first_k, first, kv), a.v.token, s.lk - first, a);
            __syncthreads();
            float x[TILE / 8], dp[TILE / 8];
            dot_rows(x, queries + row * wide, keys, a.head_dim, part);
            dot_rows(dp, gradients + row * wide, values, a.head_dim, part);
#pragma unroll
            for (int c = 0; c < TILE / 8; ++c) {
                const int j = first + (int)part + 8 * c;
                float ds = 0.0f;
                if (is_visible(a, s, i, j) && row_lse != minus_infinity()) {
                    const unsigned long long at = bias ? bias_place(a, work.b, work.head, i, j) : 0;
                    ds = expf(x[c] * a.scale + (bias ? bias[at] : 0.0f) - row_lse) * (dp[c] * drop.factor_of(work.head, i, j) - dot);
                    if (dbias) dbias[at] += ds;
                }
                weights[part + 8 * c] = ds;
            }
            __syncwarp();
            add_rows<MAX, TILE>(sums, weights, keys, a.head_dim, part);
        }
    if (i >= (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) return;
    const unsigned long long at = place(a.q, s, s.first_q, i, work.head);
#pragma unroll
    for (int n = 0; n < MAX; ++n)
        if (8 * n + part < a.head_dim) store(dq, at + 8 * n + part, a.format, i < s.lq ? sums[n] * a.scale : 0.0f);
}

// Computes gradients of keys and values, summed over the query heads of a group.
template <int MAX, int TILE>
__device__ __forceinline__ void keys_backward(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, const void* d_o, const float* lse, const float* dots, void* dk, void* dv) {
    extern __shared__ float memory[];
    const Work work(a.heads / a.group, a.k_len, TILE);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const unsigned int row = threadIdx.x / 8, part = threadIdx.x % 8, size = TILE * (a.head_dim + 1), wide = a.head_dim + 1;
    float *queries = memory, *gradients = queries + size, *keys = gradients + size, *values = keys + size;
    float *weights = values + size + row * (TILE + 1), *slopes = weights + TILE * (TILE + 1);
    const int j = work.first + (int)row, last = min(work.first + TILE, s.lk) - 1;
    float sums_k[MAX] = {}, sums_v[MAX] = {};
    load_rows<TILE>(keys, k, place(a.k, s, s.first_k, work.first, work.head), a.k.token, s.lk - work.first, a);
    load_rows<TILE>(values, v, place(a.v, s, s.first_k, work.first, work.head), a.v.token, s.lk - work.first, a);
    const int from = last >= work.first ? first_query(a, s, work.first) : 0, end = last >= work.first ? end_query(a, s, last) : 0;
    for (unsigned int head = work.head * a.group; head < (work.head + 1) * a.group; ++head)
        for (int first = from; first < end; first += TILE) {
            __syncthreads();
            load_rows<TILE>(queries, q, place(a.q, s, s.first_q, first, head), a.q.token, s.lq - first, a);
            load_rows<TILE>(gradients, d_o, place(a.o, s, s.first_q, first, head), a.o.token, s.lq - first, a);
            __syncthreads();
            float x[TILE / 8], dp[TILE / 8];
            dot_rows(x, keys + row * wide, queries, a.head_dim, part);
            dot_rows(dp, values + row * wide, gradients, a.head_dim, part);
#pragma unroll
            for (int c = 0; c < TILE / 8; ++c) {
                const int i = first + (int)part + 8 * c;
                float p = 0.0f, ds = 0.0f;
                if (is_visible(a, s, i, j)) {
                    const float row_lse = lse[row_of(a, work.b, head, i)];
                    if (row_lse != minus_infinity()) {
                        p = expf(x[c] * a.scale + (bias ? bias[bias_place(a, work.b, head, i, j)] : 0.0f) - row_lse);
                        const float kept = drop.factor_of(head, i, j);
                        ds = p * (dp[c] * kept - dots[row_of(a, work.b, head, i)]);
                        p *= kept;
                    }
                }
                weights[part + 8 * c] = p;
                slopes[part + 8 * c] = ds;
            }
            __syncwarp();
            add_rows<MAX, TILE>(sums_v, weights, gradients, a.head_dim, part);
            add_rows<MAX, TILE>(sums_k, slopes, queries, a.head_dim, part);
        }
    if (j >= (a.lengths == LENGTHS_PACKED ? s.lk : (int)a.k_len)) return;
    const unsigned long long at_k = place(a.k, s, s.first_k, j, work.head), at_v = place(a.v, s, s.first_k, j, work.head);
#pragma unroll
    for (int n = 0; n < MAX; ++n)
        if (8 * n + part < a.head_dim) {
            store(dk, at_k + 8 * n + part, a.format, j < s.lk ? sums_k[n] * a.scale : 0.0f);
            store(dv ? dv : dk, at_v + 8 * n + part, a.format, j < s.lk ? sums_v[n] : 0.0f);
        }
}

#define FORWARD_ARGS AttentionArgs a, const void *q, const void *k, const void *v, const void *q_lengths, const void *k_lengths, const void *bias, const void *drop
#define FORWARD_VALUES a, q, k, v, (const int*)q_lengths, (const int*)k_lengths, (const float*)bias, drop

extern "C" __global__ void attention_forward_64(FORWARD_ARGS, void* o, float* lse) { forward_64(FORWARD_VALUES, o, lse); }
extern "C" __global__ void attention_forward_256(FORWARD_ARGS, void* o, float* lse) { forward<32, 16>(FORWARD_VALUES, o, lse); }
extern "C" __global__ void attention_queries_backward_64(FORWARD_ARGS, const void* d_o, const float* lse, const float* dots, void* dq, void* dbias) {
    queries_backward_64(FORWARD_VALUES, d_o, lse, dots, dq, (float*)dbias);
}
extern "C" __global__ void attention_queries_backward_256(FORWARD_ARGS, const void* d_o, const float* lse, const float* dots, void* dq, void* dbias) {
    queries_backward<32, 16>(FORWARD_VALUES, d_o, lse, dots, dq, (float*)dbias);
}
extern "C" __global__ void attention_keys_backward_64(FORWARD_ARGS, const void* d_o, const float* lse, const float* dots, void* dk, void* dv) {
    keys_backward_64(FORWARD_VALUES, d_o, lse, dots, dk, dv);
}
extern "C" __global__ void attention_keys_backward_256(FORWARD_ARGS, const void* d_o, const float* lse, const float* dots, void* dk, void* dv) {
    keys_backward<32, 16>(FORWARD_VALUES, d_o, lse, dots, dk, dv);
}

// Maps an lse row to its query offset; false if the query is padding.
__device__ __forceinline__ bool find_row(const AttentionArgs& a, const void* q_lengths, const void* k_lengths, unsigned int row, unsigned long long& at) {
    const unsigned int i = row % a.q_len, unit = row / a.q_len;
    const Sequence s = sequence(a, (const int*)q_lengths, (const int*)k_lengths, unit / a.heads);
    at = place(a.o, s, s.first_q, (int)i, unit % a.heads);
    return (int)i < s.lq;
}
__device__ __forceinline__ float dot_of_two(unsigned int x, unsigned int y, unsigned int format, float sum) {
    const unsigned short x0 = (unsigned short)x, x1 = (unsigned short)(x >> 16), y0 = (unsigned short)y, y1 = (unsigned short)(y >> 16);
    if (format == STORED_F16) return fmaf(to_float(f16{x1}), to_float(f16{y1}), fmaf(to_float(f16{x0}), to_float(f16{y0}), sum));
    return fmaf(to_float(bf16{x1}), to_float(bf16{y1}), fmaf(to_float(bf16{x0}), to_float(bf16{y0}), sum));
}

// D = Σ dO o per query and head, computed by a warp; for 16-bit elements one lane per 16 bytes, four rows at a time.
extern "C" __global__ void attention_dots(AttentionArgs a, const void* o, const void* d_o, const void* q_lengths, const void* k_lengths, float* dots) {
    const bool is_wide = a.format != STORED_F32 && a.head_dim % 8 == 0 && ((unsigned long long)o | (unsigned long long)d_o) % 16 == 0
        && (a.o.offset | a.o.batch | a.o.token | a.o.head) % 8 == 0;
    unsigned int lanes = 32;
    while (is_wide && lanes > 1 && lanes * 4 >= a.head_dim) lanes /= 2;
    const unsigned int rows = a.batch * a.heads * a.q_len, step = gridDim.x * (blockDim.x / lanes), lane = threadIdx.x % lanes;
    const unsigned int own = (blockIdx.x * blockDim.x + threadIdx.x) / lanes;
    // All lanes of a warp take part in each iteration.
    for (unsigned long long base = 0; base < rows; base += 4ull * step) {
        uint4 x[4], y[4];
        float sums[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            const unsigned long long row = base + (unsigned long long)n * step + own;
            unsigned long long at;
            const bool exists = row < rows && find_row(a, q_lengths, k_lengths, (unsigned int)row, at);
            x[n] = y[n] = make_uint4(0, 0, 0, 0);
            sums[n] = 0.0f;
            if (exists && is_wide && lane * 8 < a.head_dim) {
                x[n] = *(const uint4*)((const unsigned short*)o + at + lane * 8);
                y[n] = *(const uint4*)((const unsigned short*)d_o + at + lane * 8);
            }
            for (unsigned int d = lane; exists && !is_wide && d < a.head_dim; d += 32) sums[n] = fmaf(stored(o, at + d, a.format), stored(d_o, at + d, a.format), sums[n]);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
            if (is_wide) sums[n] = dot_of_two(x[n].w, y[n].w, a.format, dot_of_two(x[n].z, y[n].z, a.format, dot_of_two(x[n].y, y[n].y, a.format, dot_of_two(x[n].x, y[n].x, a.format, 0.0f))));
            for (unsigned int distance = lanes / 2; distance; distance /= 2) sums[n] += __shfl_xor_sync(0xffffffffu, sums[n], distance);
            const unsigned long long row = base + (unsigned long long)n * step + own;
            if (lane == 0 && row < rows) dots[row] = sums[n];
        }
    }
}

// One thread per query and key of a head: the probability.
extern "C" __global__ void attention_map(AttentionArgs a, const void* q, const void* k, const void* v, const void* q_lengths, const void* k_lengths, const void* bias, const float* lse, unsigned int b, unsigned int head, float* map) {
    const unsigned int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
    if (j >= a.k_len) return;
    const Sequence s = sequence(a, (const int*)q_lengths, (const int*)k_lengths, b);
    float p = 0.0f;
    const float row_lse = lse[row_of(a, b, head, (int)i)];
    if (is_visible(a, s, (int)i, (int)j) && row_lse != minus_infinity()) {
        const unsigned long long at_q = place(a.q, s, s.first_q, (int)i, head), at_k = place(a.k, s, s.first_k, (int)j, head / a.group);
        float sum = 0.0f;
        for (unsigned int d = 0; d < a.head_dim; ++d) sum = fmaf(stored(q, at_q + d, a.format), stored(k, at_k + d, a.format), sum);
        p = expf(sum * a.scale + (bias ? ((const float*)bias)[bias_place(a, b, head, (int)i, (int)j)] : 0.0f) - row_lse);
    }
    map[(unsigned long long)i * a.k_len + j] = p;
}
