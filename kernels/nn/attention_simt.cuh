// Attention without tensor cores with heads of up to 64 elements. A block of 16 x 16 threads takes 64 queries (or keys) and
// passes over 64 keys (or queries) at a time; a thread computes 4 x 4 logits, rows y, y + 16, … and columns x, x + 16, …, and
// sums 4 x 4 elements of the result, of the same rows. It reads shared memory 16 bytes at a time: once per eight
// multiply-adds. Rows of 68 floats keep 16-byte reads of eight neighbouring rows in different banks.
#pragma once
#include "nn/attention.cuh"

constexpr int TILE_64 = 64, WIDE_64 = 68, FLOATS_64 = TILE_64 * WIDE_64;

// Loads rows of a tensor, with zeros beyond the rows and the head.
__device__ __forceinline__ void load_64(float* tile, const void* from, unsigned long long at, unsigned long long step, int rows, const AttentionArgs& a) {
    const bool wide = a.format == STORED_F32 && (unsigned long long)((const float*)from + at) % 16 == 0 && step % 4 == 0 && a.head_dim % 4 == 0;
    if (wide) {
#pragma unroll
        for (int n = 0; n < TILE_64 * 16 / 256; ++n) {
            const int row = (int)(threadIdx.x / 16) + 16 * n;
            const unsigned int d = threadIdx.x % 16 * 4;
            float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
            if (row < rows && d < a.head_dim) x = *(const float4*)((const float*)from + at + row * step + d);
            *(float4*)(tile + row * WIDE_64 + d) = x;
        }
    } else {
#pragma unroll 1
        for (int n = (int)threadIdx.x; n < TILE_64 * 64; n += 256) {
            const int row = n / 64, d = n % 64;
            tile[row * WIDE_64 + d] = row < rows && d < (int)a.head_dim ? stored(from, at + row * step + d, a.format) : 0.0f;
        }
    }
}

__device__ __forceinline__ void store_64(void* to, unsigned long long at, const float (&x)[4], float factor, const AttentionArgs& a) {
    const unsigned int d = threadIdx.x % 16 * 4;
#pragma unroll
    for (int n = 0; n < 4; ++n)
        if (d + n < a.head_dim) store(to, at + d + n, a.format, x[n] * factor);
}

// x[r][c] = left row y + 16 r · right row x + 16 c
__device__ __forceinline__ void multiply_64(float (&x)[4][4], const float* left, const float* right, unsigned int head_dim) {
    const float *l = left + threadIdx.x / 16 * WIDE_64, *r = right + threadIdx.x % 16 * WIDE_64;
#pragma unroll
    for (int m = 0; m < 4; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n) x[m][n] = 0.0f;
#pragma unroll 1
    for (unsigned int d = 0; d < head_dim; d += 4) {
        float4 u[4], w[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) u[n] = *(const float4*)(l + 16 * n * WIDE_64 + d), w[n] = *(const float4*)(r + 16 * n * WIDE_64 + d);
#pragma unroll
        for (int m = 0; m < 4; ++m)
#pragma unroll
            for (int n = 0; n < 4; ++n) x[m][n] = fmaf(u[m].w, w[n].w, fmaf(u[m].z, w[n].z, fmaf(u[m].y, w[n].y, fmaf(u[m].x, w[n].x, x[m][n]))));
    }
}

// sums[r][n] += Σ_k weights[y + 16 r][k] rows[k][4 x + n]
__device__ __forceinline__ void add_64(float (&sums)[4][4], const float* weights, const float* rows) {
    const float *w = weights + threadIdx.x / 16 * WIDE_64, *from = rows + threadIdx.x % 16 * 4;
#pragma unroll 1
    for (int k = 0; k < TILE_64; k += 4) {
        float4 u[4], x[4];
#pragma unroll
        for (int n = 0; n < 4; ++n) u[n] = *(const float4*)(w + 16 * n * WIDE_64 + k), x[n] = *(const float4*)(from + (k + n) * WIDE_64);
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            sums[r][0] = fmaf(u[r].w, x[3].x, fmaf(u[r].z, x[2].x, fmaf(u[r].y, x[1].x, fmaf(u[r].x, x[0].x, sums[r][0]))));
            sums[r][1] = fmaf(u[r].w, x[3].y, fmaf(u[r].z, x[2].y, fmaf(u[r].y, x[1].y, fmaf(u[r].x, x[0].y, sums[r][1]))));
            sums[r][2] = fmaf(u[r].w, x[3].z, fmaf(u[r].z, x[2].z, fmaf(u[r].y, x[1].z, fmaf(u[r].x, x[0].z, sums[r][2]))));
            sums[r][3] = fmaf(u[r].w, x[3].w, fmaf(u[r].z, x[2].w, fmaf(u[r].y, x[1].w, fmaf(u[r].x, x[0].w, sums[r][3]))));
        }
    }
}

// Stores a thread's logits in shared memory. A row is written and read by 16 lanes of one warp.
__device__ __forceinline__ void put_64(float* weights, const float (&x)[4][4]) {
    __syncwarp();
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int c = 0; c < 4; ++c) weights[(threadIdx.x / 16 + 16 * r) * WIDE_64 + threadIdx.x % 16 + 16 * c] = x[r][c];
    __syncwarp();
}

// First key of the tiles of a query, chosen so that four keys that share a draw are in one tile.
__device__ __forceinline__ int first_key_64(const AttentionArgs& a, const Sequence& s, int query) {
    return DROPS ? first_key(a, s, query) & ~3 : first_key(a, s, query);
}

// Bit 4 r + c: whether the probability of query `query` + y + 16 r and key `key` + x + 16 c is kept. Four lanes divide the
// draws of their keys.
__device__ __forceinline__ unsigned int kept_by_queries_64(const Dropping& drop, unsigned int head, int query, int key) {
    if (!DROPS) return ~0u;
    const int y = (int)threadIdx.x / 16, x = (int)threadIdx.x % 16, member = x & 3;
    unsigned int own = 0, kept = 0;
#pragma unroll 1
    for (int r = 0; r < 4; ++r) own |= drop.four(head, query + y + 16 * r, key + (x & ~3) + 16 * member) << 4 * r;
#pragma unroll
    for (int c = 0; c < 4; ++c) kept |= (__shfl_sync(0xffffffffu, own, (threadIdx.x & 28) | c) >> member & 0x1111u) << c;
    return kept;
}
// Bit 4 r + c: whether the probability of key `key` + y + 16 r and query `query` + x + 16 c is kept. Neighbouring keys
// are in other warps.
__device__ __forceinline__ unsigned int kept_by_keys_64(const Dropping& drop, unsigned int head, int query, int key) {
    if (!DROPS) return ~0u;
    const int j = key + (int)threadIdx.x / 16, x = (int)threadIdx.x % 16;
    unsigned int kept = 0;
#pragma unroll 1
    for (int n = 0; n < 16; ++n) kept |= (drop.four(head, query + x + n % 4 * 16, (j & ~3) + n / 4 * 16) >> (j & 3) & 1) << n;
    return kept;
}

// Head and first token of this block.
struct Work64 {
    unsigned int b, head;
    int first;
    __device__ __forceinline__ Work64(unsigned int heads, unsigned int len) {
        const unsigned int tiles = (len + TILE_64 - 1) / TILE_64;
        first = (int)(blockIdx.x % tiles * TILE_64);
        head = blockIdx.x / tiles % heads;
        b = blockIdx.x / tiles / heads;
    }
};

__device__ __forceinline__ void forward_64(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, void* o, float* lse) {
    extern __shared__ __align__(16) float memory[];
    float *queries = memory, *keys = queries + FLOATS_64, *values = keys + FLOATS_64, *weights = values + FLOATS_64;
    const Work64 work(a.heads, a.q_len);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const unsigned int kv = work.head / a.group;
    const int y = (int)threadIdx.x / 16, x0 = (int)threadIdx.x % 16, last = min(work.first + TILE_64, s.lq) - 1;
    float tops[4], totals[4] = {}, sums[4][4] = {};
#pragma unroll
    for (int r = 0; r < 4; ++r) tops[r] = minus_infinity();
    load_64(queries, q, place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a);
    if (last >= work.first)
        for (int first = first_key_64(a, s, work.first); first < end_key(a, s, last); first += TILE_64) {
            __syncthreads();
            load_64(keys, k, place(a.k, s, s.first_k, first, kv), a.k.token, s.lk - first, a);
            load_64(values, v, place(a.v, s, s.first_k, first, kv), a.v.token, s.lk - first, a);
            __syncthreads();
            const unsigned int kept = kept_by_queries_64(drop, work.head, work.first, first);
            float x[4][4];
            multiply_64(x, queries, keys, a.head_dim);
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int i = work.first + y + 16 * r, from = first_key(a, s, i), to = i < s.lq ? end_key(a, s, i) : 0;
                float most = tops[r], total = 0.0f;
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int j = first + x0 + 16 * c;
                    const bool sees = j >= from && j < to;
                    x[r][c] = sees ? x[r][c] * a.scale + (bias ? bias[bias_place(a, work.b, work.head, i, j)] : 0.0f) : minus_infinity();
                    most = fmaxf(most, x[r][c]);
                }
                for (int n = 1; n < 16; n *= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, n));
                const float base = most == minus_infinity() ? 0.0f : most, factor = expf(tops[r] - base);
                tops[r] = most;
#pragma unroll
                for (int c = 0; c < 4; ++c) total += x[r][c] = expf(x[r][c] - base);
                for (int n = 1; n < 16; n *= 2) total += __shfl_xor_sync(0xffffffffu, total, n);
                totals[r] = totals[r] * factor + total;
#pragma unroll
                for (int n = 0; n < 4; ++n) sums[r][n] *= factor;
#pragma unroll
                for (int c = 0; c < 4; ++c)
                    if (DROPS) x[r][c] *= kept >> (4 * r + c) & 1 ? drop.factor : 0.0f;
            }
            put_64(weights, x);
            add_64(sums, weights, values);
        }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = work.first + y + 16 * r;
        const bool exists = i < s.lq && totals[r] != 0.0f;
        if (i >= (int)a.q_len) continue;
        if (x0 == 0) lse[row_of(a, work.b, work.head, i)] = exists ? tops[r] + logf(totals[r]) : minus_infinity();
        if (i >= s.lq && a.lengths == LENGTHS_PACKED) continue;
        store_64(o, place(a.o, s, s.first_q, i, work.head), sums[r], exists ? 1.0f / totals[r] : 0.0f, a);
    }
}

// Computes gradients of queries, and those of a bias with an element per pair.
__device__ __forceinline__ void queries_backward_64(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, const void* d_o, const float* lse, const float* dots, void* dq, float* dbias) {
    extern __shared__ __align__(16) float memory[];
    float *queries = memory, *gradients = queries + FLOATS_64, *keys = gradients + FLOATS_64, *values = keys + FLOATS_64, *weights = values + FLOATS_64;
    const Work64 work(a.heads, a.q_len);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const unsigned int kv = work.head / a.group;
    const int y = (int)threadIdx.x / 16, x0 = (int)threadIdx.x % 16, last = min(work.first + TILE_64, s.lq) - 1;
    float sums[4][4] = {}, row_lse[4], row_dot[4];
    load_64(queries, q, place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a);
    load_64(gradients, d_o, place(a.o, s, s.first_q, work.first, work.head), a.o.token, s.lq - work.first, a);
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = work.first + y + 16 * r;
        row_lse[r] = i < s.lq ? lse[row_of(a, work.b, work.head, i)] : minus_infinity();
        row_dot[r] = i < s.lq ? dots[row_of(a, work.b, work.head, i)] : 0.0f;
    }
    if (last >= work.first)
        for (int first = first_key_64(a, s, work.first); first < end_key(a, s, last); first += TILE_64) {
            __syncthreads();
            load_64(keys, k, place(a.k, s, s.first_k, first, kv), a.k.token, s.lk - first, a);
            load_64(values, v, place(a.v, s, s.first_k, first, kv), a.v.token, s.lk - first, a);
            __syncthreads();
            const unsigned int kept = kept_by_queries_64(drop, work.head, work.first, first);
            float x[4][4], dp[4][4];
            multiply_64(x, queries, keys, a.head_dim);
            multiply_64(dp, gradients, values, a.head_dim);
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int i = work.first + y + 16 * r, from = first_key(a, s, i), to = row_lse[r] != minus_infinity() ? end_key(a, s, i) : 0;
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    const int j = first + x0 + 16 * c;
                    float ds = 0.0f;
                    if (j >= from && j < to) {
                        const unsigned long long at = bias ? bias_place(a, work.b, work.head, i, j) : 0;
                        ds = expf(x[r][c] * a.scale + (bias ? bias[at] : 0.0f) - row_lse[r]) * ((kept >> (4 * r + c) & 1 ? dp[r][c] * drop.factor : 0.0f) - row_dot[r]);
                        if (dbias) dbias[at] += ds;
                    }
                    dp[r][c] = ds;
                }
            }
            put_64(weights, dp);
            add_64(sums, weights, keys);
        }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int i = work.first + y + 16 * r;
        if (i < (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) store_64(dq, place(a.q, s, s.first_q, i, work.head), sums[r], i < s.lq ? a.scale : 0.0f, a);
    }
}

// Computes gradients of keys and values, summed over the query heads of a group.
__device__ __forceinline__ void keys_backward_64(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, const void* dropout, const void* d_o, const float* lse, const float* dots, void* dk, void* dv) {
    extern __shared__ __align__(16) float memory[];
    float *queries = memory, *gradients = queries + FLOATS_64, *keys = gradients + FLOATS_64, *values = keys + FLOATS_64, *weights = values + FLOATS_64;
    const Work64 work(a.heads / a.group, a.k_len);
    const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
    const Dropping drop(a, dropout, s);
    const int y = (int)threadIdx.x / 16, x0 = (int)threadIdx.x % 16, last = min(work.first + TILE_64, s.lk) - 1;
    float sums_k[4][4] = {}, sums_v[4][4] = {};
    load_64(keys, k, place(a.k, s, s.first_k, work.first, work.head), a.k.token, s.lk - work.first, a);
    load_64(values, v, place(a.v, s, s.first_k, work.first, work.head), a.v.token, s.lk - work.first, a);
    const int begin = last >= work.first ? first_query(a, s, work.first) : 0, end = last >= work.first ? end_query(a, s, last) : 0;
    for (unsigned int head = work.head * a.group; head < (work.head + 1) * a.group; ++head)
        for (int first = begin; first < end; first += TILE_64) {
            __syncthreads();
            load_64(queries, q, place(a.q, s, s.first_q, first, head), a.q.token, s.lq - first, a);
            load_64(gradients, d_o, place(a.o, s, s.first_q, first, head), a.o.token, s.lq - first, a);
            __syncthreads();
            const unsigned int kept = kept_by_keys_64(drop, head, first, work.first);
            float x[4][4], dp[4][4];
            multiply_64(x, keys, queries, a.head_dim);
            multiply_64(dp, values, gradients, a.head_dim);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int i = first + x0 + 16 * c;
                const float row_lse = i < s.lq ? lse[row_of(a, work.b, head, i)] : minus_infinity(), dot = i < s.lq ? dots[row_of(a, work.b, head, i)] : 0.0f;
                const int from = first_key(a, s, i), to = row_lse != minus_infinity() ? end_key(a, s, i) : 0;
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const int j = work.first + y + 16 * r;
                    const bool sees = j >= from && j < to;
                    const float p = sees ? expf(x[r][c] * a.scale + (bias ? bias[bias_place(a, work.b, head, i, j)] : 0.0f) - row_lse) : 0.0f;
                    const float factor = kept >> (4 * r + c) & 1 ? drop.factor : 0.0f;
                    x[r][c] = p * factor;
                    dp[r][c] = sees ? p * (dp[r][c] * factor - dot) : 0.0f;
                }
            }
            put_64(weights, x);
            add_64(sums_v, weights, gradients);
            put_64(weights, dp);
            add_64(sums_k, weights, queries);
        }
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const int j = work.first + y + 16 * r;
        if (j >= (a.lengths == LENGTHS_PACKED ? s.lk : (int)a.k_len)) continue;
        store_64(dk, place(a.k, s, s.first_k, j, work.head), sums_k[r], j < s.lk ? a.scale : 0.0f, a);
        store_64(dv ? dv : dk, place(a.v, s, s.first_k, j, work.head), sums_v[r], j < s.lk ? 1.0f : 0.0f, a);
    }
}
