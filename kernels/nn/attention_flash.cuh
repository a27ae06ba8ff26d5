// Attention on tensor cores by mma.sync m16n8k16, from compute capability 8.0 on (FlashAttention-2, arXiv:2307.08691).
//
// Forward: a block takes WARPS x MT x 16 queries of a head; each warp owns MT strips of 16 rows of logits, so that a row's
// maximum and sum need no other warp. Keys and values pass through shared memory in tiles of KEYS, copied by cp.async
// while the tile before is multiplied. Probabilities go from the sums of the first product to the operands of the second
// in registers. Exponentials are base 2, with log2(e) in the scale.
//
// Backward, deterministic: one kernel takes 16 keys per warp and runs over queries, for dK and dV; one takes 16 queries per
// warp and runs over keys, for dQ. Both recompute logits from lse: 7 products instead of the 5 of a single kernel with
// atomic additions. The first works on transposed logits (keys are rows), so that its weights, too, stay in registers.
//
// In shared memory a row is a token's head, zeros up to DIM; 16-byte chunks are exchanged within a row (exclusive or with
// the row's number), so that neither copies nor ldmatrix meet a bank conflict.
#pragma once
#include "nn/attention.cuh"

#if __CUDA_ARCH__ >= 800
// Pairs of elements in a word, the first in the low half.
struct F16Pairs {
    static __device__ __forceinline__ unsigned int pack(float low, float high) {
        unsigned int out;
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        return out;
    }
    static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};
struct Bf16Pairs {
    static __device__ __forceinline__ unsigned int pack(float low, float high) {
        unsigned int out;
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
        return out;
    }
    static __device__ __forceinline__ void multiply(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1) {
        asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
};

__device__ __forceinline__ float exp2_fast(float x) {
    float out;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
    return out;
}
__device__ __forceinline__ void load_matrices(unsigned int (&r)[4], unsigned int at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(unsigned int (&r)[4], unsigned int at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
// Copies `bytes` of SIZE and fills up with zeros.
__device__ __forceinline__ void copy_sixteen(unsigned int to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void copy_four(unsigned int to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// ROWS tokens' heads of DIM elements in shared memory.
template <int ROWS, int DIM, int THREADS>
struct HeadTile {
    static constexpr int CHUNKS = DIM / 8, BYTES = ROWS * DIM * 2, PASS = THREADS / CHUNKS;
    static_assert(THREADS % CHUNKS == 0 && ROWS % PASS == 0 && PASS % 8 == 0, "a thread's chunks have one place in their rows");

    static __device__ __forceinline__ unsigned int place(unsigned int row, unsigned int chunk) {
        return (row * CHUNKS + (chunk ^ (row & 7))) * 16;
    }
    // Copies `rows` rows, of `head_dim` elements each, and zeros beyond.
    static __device__ __forceinline__ void copy(unsigned int tile, const unsigned short* from, unsigned long long step, int rows, unsigned int head_dim) {
        const unsigned int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        const unsigned int bytes = chunk * 8 < head_dim ? 16 : 0, to = tile + place(row, chunk);
        from += row * step + (bytes ? chunk * 8 : 0);
#pragma unroll
        for (int i = 0; i < ROWS / PASS; ++i) {
            const bool exists = (int)row + i * PASS < rows;
            copy_sixteen(to + i * PASS * CHUNKS * 16, exists ? from + i * PASS * step : from, exists ? bytes : 0);
        }
    }
    // The left operand: rows `first` to `first` + 15, elements 16 `step` to 16 `step` + 15.
    static __device__ __forceinline__ void left(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int step) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices(r, tile + place(first + (lane & 15), 2 * step + (lane >> 4)));
    }
    // The right operand with rows as columns: 16 rows from `first` on; two registers for each eight.
    static __device__ __forceinline__ void right(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int step) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices(r, tile + place(first + (lane & 7) + (lane >> 4) * 8, 2 * step + (lane >> 3 & 1)));
    }
    // The right operand with rows as rows: 16 rows from `first` on, 16 elements from `column` on; two registers for each eight.
    static __device__ __forceinline__ void right_by_rows(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int column) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices_transposed(r, tile + place(first + (lane & 15), column / 8 + (lane >> 4)));
    }
};

// Sums of 16 x 16 as a left operand.
template <class T>
__device__ __forceinline__ void to_left(unsigned int (&r)[4], const float (&low)[4], const float (&high)[4]) {
    r[0] = T::pack(low[0], low[1]);
    r[1] = T::pack(low[2], low[3]);
    r[2] = T::pack(high[0], high[1]);
    r[3] = T::pack(high[2], high[3]);
}

// This block's head and tile. Of causal attention the tiles with most keys, the last, come first.
struct FlashWork {
    unsigned int b, head;
    int first;
    __device__ __forceinline__ FlashWork(const AttentionArgs& a, unsigned int heads, unsigned int len, unsigned int tile, bool last_first) {
        const unsigned int tiles = (len + tile - 1) / tile, at = blockIdx.x % tiles;
        first = (int)((last_first ? tiles - 1 - at : at) * tile);
        head = blockIdx.x / tiles % heads;
        b = blockIdx.x / tiles / heads;
    }
};

// Forward. QUERIES_STAY: whether queries are operands in registers throughout, or are read again for each tile of keys.
template <class T, int DIM, int WARPS, int MT, int KEYS, bool QUERIES_STAY>
struct FlashForward {
    static constexpr int ROWS = WARPS * MT * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = Queries::BYTES + 4 * Keys::BYTES;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, unsigned short* o, float* lse) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int queries = (unsigned int)__cvta_generic_to_shared(memory), ring = queries + Queries::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, a.causal);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32, kv = work.head / a.group;
        const int warp_row = work.first + (int)warp * MT * 16, last = min(work.first + ROWS, s.lq) - 1;
        const int begin = last >= work.first ? first_key(a, s, work.first) / KEYS * KEYS : 0, end = last >= work.first ? end_key(a, s, last) : 0;
        const unsigned short* keys_from = k + place(a.k, s, s.first_k, begin, kv);
        const unsigned short* values_from = v + place(a.v, s, s.first_k, begin, kv);
        auto copy_keys = [&](int first, unsigned int stage) {
            const unsigned int to = ring + stage * 2 * Keys::BYTES;
            Keys::copy(to, keys_from, a.k.token, s.lk - first, a.head_dim);
            Keys::copy(to + Keys::BYTES, values_from, a.v.token, s.lk - first, a.head_dim);
            keys_from += KEYS * a.k.token;
            values_from += KEYS * a.v.token;
        };
        float sums[MT][DIM / 8][4] = {}, tops[MT][2], totals[MT][2] = {};
#pragma unroll
        for (int m = 0; m < MT; ++m) tops[m][0] = tops[m][1] = minus_infinity();
        unsigned int stays[MT][QUERIES_STAY ? STEPS : 1][4];
        if (begin < end) {
            Queries::copy(queries, q + place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a.head_dim);
            copy_keys(begin, 0);
            commit_copies();
        }
        const float scale = a.scale * LOG2_E;
        unsigned int stage = 0;
#pragma unroll 1
        for (int first = begin; first < end; first += KEYS, stage ^= 1) {
            wait_for_copies<0>();
            __syncthreads();
            if (QUERIES_STAY && first == begin) {
#pragma unroll
                for (int m = 0; m < MT; ++m)
#pragma unroll
                    for (int step = 0; step < STEPS; ++step) Queries::left(stays[m][QUERIES_STAY ? step : 0], queries, (warp * MT + m) * 16, step);
            }
            if (first + KEYS < end) {
                copy_keys(first + KEYS, stage ^ 1);
                commit_copies();
            }
            const int warp_last = min(warp_row + MT * 16, s.lq) - 1;
            if (warp_last < warp_row || first >= end_key(a, s, warp_last) || first + KEYS <= first_key(a, s, warp_row)) continue; // hidden from this warp
            const unsigned int keys = ring + stage * 2 * Keys::BYTES, values = keys + Keys::BYTES;
            float x[MT][KEYS / 8][4] = {};
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                unsigned int left[MT][4];
#pragma unroll
                for (int m = 0; m < MT; ++m) {
                    if (QUERIES_STAY) {
#pragma unroll
                        for (int r = 0; r < 4; ++r) left[m][r] = stays[m][QUERIES_STAY ? step : 0][r];
                    } else {
                        Queries::left(left[m], queries, (warp * MT + m) * 16, step);
                    }
                }
#pragma unroll
                for (int n = 0; n < KEYS / 16; ++n) {
                    unsigned int right[4];
                    Keys::right(right, keys, 16 * n, step);
#pragma unroll
                    for (int m = 0; m < MT; ++m) {
                        T::multiply(x[m][2 * n], left[m], right[0], right[1]);
                        T::multiply(x[m][2 * n + 1], left[m], right[2], right[3]);
                    }
                }
            }
            // Whether a key of this tile is hidden from a query of this warp.
            if (first + KEYS > end_key(a, s, warp_row) || first < first_key(a, s, warp_last)) {
#pragma unroll
                for (int m = 0; m < MT; ++m)
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const int i = warp_row + m * 16 + (int)(lane / 4) + half * 8, from = first_key(a, s, i) - first - (int)(lane % 4) * 2, to = end_key(a, s, i) - first - (int)(lane % 4) * 2;
#pragma unroll
                        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                            for (int e = 0; e < 2; ++e)
                                if (n * 8 + e < from || n * 8 + e >= to) x[m][n][2 * half + e] = minus_infinity();
                    }
            }
#pragma unroll
            for (int m = 0; m < MT; ++m)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    float most = tops[m][half];
#pragma unroll
                    for (int n = 0; n < KEYS / 8; ++n) most = fmaxf(most, fmaxf(x[m][n][2 * half], x[m][n][2 * half + 1]));
                    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
                    most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
                    const float base = most == minus_infinity() ? 0.0f : most * scale, factor = exp2_fast(tops[m][half] * scale - base);
                    tops[m][half] = most;
                    float total = 0.0f;
#pragma unroll
                    for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                        for (int e = 0; e < 2; ++e) {
                            const float p = exp2_fast(x[m][n][2 * half + e] * scale - base);
                            x[m][n][2 * half + e] = p;
                            total += p;
                        }
                    totals[m][half] = totals[m][half] * factor + total;
                    if (__any_sync(0xffffffffu, factor != 1.0f)) {
#pragma unroll
                        for (int n = 0; n < DIM / 8; ++n) sums[m][n][2 * half] *= factor, sums[m][n][2 * half + 1] *= factor;
                    }
                }
#pragma unroll
            for (int step = 0; step < KEYS / 16; ++step) {
                unsigned int left[MT][4];
#pragma unroll
                for (int m = 0; m < MT; ++m) to_left<T>(left[m], x[m][2 * step], x[m][2 * step + 1]);
#pragma unroll
                for (int n = 0; n < DIM / 16; ++n) {
                    unsigned int right[4];
                    Keys::right_by_rows(right, values, 16 * step, 16 * n);
#pragma unroll
                    for (int m = 0; m < MT; ++m) {
                        T::multiply(sums[m][2 * n], left[m], right[0], right[1]);
                        T::multiply(sums[m][2 * n + 1], left[m], right[2], right[3]);
                    }
                }
            }
        }
#pragma unroll
        for (int m = 0; m < MT; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float total = totals[m][half];
                total += __shfl_xor_sync(0xffffffffu, total, 1);
                total += __shfl_xor_sync(0xffffffffu, total, 2);
                const int i = warp_row + m * 16 + (int)(lane / 4) + half * 8;
                const bool exists = i < s.lq && total != 0.0f;
                if (i >= (int)a.q_len) continue;
                if (lane % 4 == 0) lse[row_of(a, work.b, work.head, i)] = exists ? tops[m][half] * a.scale + logf(total) : minus_infinity();
                if (i >= s.lq && a.lengths == LENGTHS_PACKED) continue;
                const float factor = exists ? 1.0f / total : 0.0f;
                unsigned short* to = o + place(a.o, s, s.first_q, i, work.head) + lane % 4 * 2;
#pragma unroll
                for (int n = 0; n < DIM / 8; ++n)
                    if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = exists ? T::pack(sums[m][n][2 * half] * factor, sums[m][n][2 * half + 1] * factor) : 0u;
            }
    }
};

// Probabilities and gradients of logits of 16 x 16 pairs or more, in place: `x` holds products of queries and keys, `dp`
// those of gradients and values.
__device__ __forceinline__ void to_gradient(float& x, float& dp, bool sees, float scale, float lse, float dot) {
    const float p = sees ? exp2_fast(x * scale - lse) : 0.0f;
    x = p;
    dp = p * (dp - dot);
}
// lse in base 2; of a query without keys infinite, so that its probabilities are 0.
__device__ __forceinline__ float to_base_2(float lse) { return lse == minus_infinity() ? -minus_infinity() : lse * LOG2_E; }

// Gradients of queries.
template <class T, int DIM, int WARPS, int KEYS>
struct FlashQueriesBackward {
    static constexpr int ROWS = WARPS * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = 2 * Queries::BYTES + 4 * Keys::BYTES;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dq) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int queries = (unsigned int)__cvta_generic_to_shared(memory), gradients = queries + Queries::BYTES, ring = gradients + Queries::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, a.causal);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32, kv = work.head / a.group;
        const int warp_row = work.first + (int)warp * 16, last = min(work.first + ROWS, s.lq) - 1;
        const int begin = last >= work.first ? first_key(a, s, work.first) / KEYS * KEYS : 0, end = last >= work.first ? end_key(a, s, last) : 0;
        const unsigned short* keys_from = k + place(a.k, s, s.first_k, begin, kv);
        const unsigned short* values_from = v + place(a.v, s, s.first_k, begin, kv);
        auto copy_keys = [&](int first, unsigned int stage) {
            const unsigned int to = ring + stage * 2 * Keys::BYTES;
            Keys::copy(to, keys_from, a.k.token, s.lk - first, a.head_dim);
            Keys::copy(to + Keys::BYTES, values_from, a.v.token, s.lk - first, a.head_dim);
            keys_from += KEYS * a.k.token;
            values_from += KEYS * a.v.token;
        };
        if (begin < end) {
            Queries::copy(queries, q + place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a.head_dim);
            Queries::copy(gradients, d_o + place(a.o, s, s.first_q, work.first, work.head), a.o.token, s.lq - work.first, a.head_dim);
            copy_keys(begin, 0);
            commit_copies();
        }
        float row_lse[2], row_dot[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int i = warp_row + (int)(lane / 4) + half * 8;
            row_lse[half] = i < s.lq ? to_base_2(lse[row_of(a, work.b, work.head, i)]) : -minus_infinity();
            row_dot[half] = i < s.lq ? dots[row_of(a, work.b, work.head, i)] : 0.0f;
        }
        const float scale = a.scale * LOG2_E;
        float sums[DIM / 8][4] = {};
        unsigned int left_q[STEPS][4], left_o[STEPS][4], stage = 0;
#pragma unroll 1
        for (int first = begin; first < end; first += KEYS, stage ^= 1) {
            wait_for_copies<0>();
            __syncthreads();
            if (first == begin) {
#pragma unroll
                for (int step = 0; step < STEPS; ++step) {
                    Queries::left(left_q[step], queries, warp * 16, step);
                    Queries::left(left_o[step], gradients, warp * 16, step);
                }
            }
            if (first + KEYS < end) {
                copy_keys(first + KEYS, stage ^ 1);
                commit_copies();
            }
            const int warp_last = min(warp_row + 16, s.lq) - 1;
            if (warp_last < warp_row || first >= end_key(a, s, warp_last) || first + KEYS <= first_key(a, s, warp_row)) continue;
            const unsigned int keys = ring + stage * 2 * Keys::BYTES, values = keys + Keys::BYTES;
            float x[KEYS / 8][4] = {}, dp[KEYS / 8][4] = {};
#pragma unroll
            for (int step = 0; step < STEPS; ++step)
#pragma unroll
                for (int n = 0; n < KEYS / 16; ++n) {
                    unsigned int right[4];
                    Keys::right(right, keys, 16 * n, step);
                    T::multiply(x[2 * n], left_q[step], right[0], right[1]);
                    T::multiply(x[2 * n + 1], left_q[step], right[2], right[3]);
                    Keys::right(right, values, 16 * n, step);
                    T::multiply(dp[2 * n], left_o[step], right[0], right[1]);
                    T::multiply(dp[2 * n + 1], left_o[step], right[2], right[3]);
                }
            const bool is_whole = warp_row + 16 <= s.lq && first + KEYS <= end_key(a, s, warp_row) && first >= first_key(a, s, warp_last);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int i = warp_row + (int)(lane / 4) + half * 8, own = first + (int)(lane % 4) * 2;
                const int from = is_whole ? 0 : first_key(a, s, i) - own, to = is_whole ? KEYS : i < s.lq ? end_key(a, s, i) - own : 0;
#pragma unroll
                for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const bool sees = n * 8 + e >= from && n * 8 + e < to;
                        to_gradient(x[n][2 * half + e], dp[n][2 * half + e], sees, scale, row_lse[half], row_dot[half]);
                    }
            }
#pragma unroll
            for (int step = 0; step < KEYS / 16; ++step) {
                unsigned int left[4];
                to_left<T>(left, dp[2 * step], dp[2 * step + 1]);
#pragma unroll
                for (int n = 0; n < DIM / 16; ++n) {
                    unsigned int right[4];
                    Keys::right_by_rows(right, keys, 16 * step, 16 * n);
                    T::multiply(sums[2 * n], left, right[0], right[1]);
                    T::multiply(sums[2 * n + 1], left, right[2], right[3]);
                }
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int i = warp_row + (int)(lane / 4) + half * 8;
            if (i >= (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) continue;
            unsigned short* to = dq + place(a.q, s, s.first_q, i, work.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = i < s.lq ? T::pack(sums[n][2 * half] * a.scale, sums[n][2 * half + 1] * a.scale) : 0u;
        }
    }
};

// Gradients of keys and values, over the query heads of a group. Rows of the products are keys. KEYS_STAY: whether keys and
// values are operands in registers throughout.
template <class T, int DIM, int WARPS, int ROWS, bool KEYS_STAY>
struct FlashKeysBackward {
    static constexpr int KEYS = WARPS * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int STAGE = 2 * Queries::BYTES + 2 * ROWS * 4, BYTES = 2 * Keys::BYTES + 2 * STAGE;
    static_assert(2 * ROWS <= THREADS, "one thread copies one number of a row");

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dk, unsigned short* dv) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int keys = (unsigned int)__cvta_generic_to_shared(memory), values = keys + Keys::BYTES, ring = values + Keys::BYTES;
        const FlashWork work(a, a.heads / a.group, a.k_len, KEYS, false);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
        const int warp_key = work.first + (int)warp * 16, last = min(work.first + KEYS, s.lk) - 1;
        const int begin = last >= work.first ? first_query(a, s, work.first) / ROWS * ROWS : 0, end = last >= work.first ? end_query(a, s, last) : 0;
        const int tiles = begin < end ? (end - begin + ROWS - 1) / ROWS : 0, all = tiles * (int)a.group;
        auto copy_queries = [&](int head_in_group, int first, unsigned int stage) {
            const unsigned int to = ring + stage * STAGE, head = work.head * a.group + head_in_group;
            Queries::copy(to, q + place(a.q, s, s.first_q, first, head), a.q.token, s.lq - first, a.head_dim);
            Queries::copy(to + Queries::BYTES, d_o + place(a.o, s, s.first_q, first, head), a.o.token, s.lq - first, a.head_dim);
            if (threadIdx.x < 2 * ROWS) {
                const int row = (int)threadIdx.x % ROWS;
                const bool exists = first + row < s.lq;
                copy_four(to + 2 * Queries::BYTES + threadIdx.x * 4, (threadIdx.x < ROWS ? lse : dots) + row_of(a, work.b, head, exists ? first + row : first), exists ? 4 : 0);
            }
        };
        if (all) {
            Keys::copy(keys, k + place(a.k, s, s.first_k, work.first, work.head), a.k.token, s.lk - work.first, a.head_dim);
            Keys::copy(values, v + place(a.v, s, s.first_k, work.first, work.head), a.v.token, s.lk - work.first, a.head_dim);
            copy_queries(0, begin, 0);
            commit_copies();
        }
        const float scale = a.scale * LOG2_E;
        float sums_k[DIM / 8][4] = {}, sums_v[DIM / 8][4] = {};
        unsigned int stays_k[KEYS_STAY ? STEPS : 1][4], stays_v[KEYS_STAY ? STEPS : 1][4], stage = 0;
        int head = 0, first = begin;
#pragma unroll 1
        for (int t = 0; t < all; ++t, stage ^= 1) {
            wait_for_copies<0>();
            __syncthreads();
            if (KEYS_STAY && t == 0) {
#pragma unroll
                for (int step = 0; step < STEPS; ++step) {
                    Keys::left(stays_k[KEYS_STAY ? step : 0], keys, warp * 16, step);
                    Keys::left(stays_v[KEYS_STAY ? step : 0], values, warp * 16, step);
                }
            }
            const int this_first = first;
            first += ROWS;
            if (first >= end) first = begin, ++head;
            if (t + 1 < all) {
                copy_queries(head, first, stage ^ 1);
                commit_copies();
            }
            const int tile_last = min(this_first + ROWS, s.lq) - 1;
            if (warp_key >= end_key(a, s, tile_last) || warp_key + 16 <= first_key(a, s, this_first)) continue;
            const unsigned int queries = ring + stage * STAGE, gradients = queries + Queries::BYTES;
            const float* row_lse = (const float*)(memory + (gradients + Queries::BYTES - keys));
            float x[ROWS / 8][4] = {}, dp[ROWS / 8][4] = {};
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                unsigned int left_k[4], left_v[4];
                if (KEYS_STAY) {
#pragma unroll
                    for (int r = 0; r < 4; ++r) left_k[r] = stays_k[KEYS_STAY ? step : 0][r], left_v[r] = stays_v[KEYS_STAY ? step : 0][r];
                } else {
                    Keys::left(left_k, keys, warp * 16, step);
                    Keys::left(left_v, values, warp * 16, step);
                }
#pragma unroll
                for (int n = 0; n < ROWS / 16; ++n) {
                    unsigned int right[4];
                    Queries::right(right, queries, 16 * n, step);
                    T::multiply(x[2 * n], left_k, right[0], right[1]);
                    T::multiply(x[2 * n + 1], left_k, right[2], right[3]);
                    Queries::right(right, gradients, 16 * n, step);
                    T::multiply(dp[2 * n], left_v, right[0], right[1]);
                    T::multiply(dp[2 * n + 1], left_v, right[2], right[3]);
                }
            }
            const bool is_whole = this_first + ROWS <= s.lq && warp_key + 16 <= end_key(a, s, this_first) && warp_key >= first_key(a, s, tile_last);
#pragma unroll
            for (int n = 0; n < ROWS / 8; ++n)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int column = n * 8 + (int)(lane % 4) * 2 + e, i = this_first + column;
                    const float query_lse = to_base_2(row_lse[column]), dot = row_lse[ROWS + column];
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const int j = warp_key + (int)(lane / 4) + half * 8;
                        const bool sees = is_whole || is_visible(a, s, i, j);
                        to_gradient(x[n][2 * half + e], dp[n][2 * half + e], sees, scale, query_lse, dot);
                    }
                }
#pragma unroll
            for (int step = 0; step < ROWS / 16; ++step) {
                unsigned int left_p[4], left_s[4];
                to_left<T>(left_p, x[2 * step], x[2 * step + 1]);
                to_left<T>(left_s, dp[2 * step], dp[2 * step + 1]);
#pragma unroll
                for (int n = 0; n < DIM / 16; ++n) {
                    unsigned int right[4];
                    Queries::right_by_rows(right, gradients, 16 * step, 16 * n);
                    T::multiply(sums_v[2 * n], left_p, right[0], right[1]);
                    T::multiply(sums_v[2 * n + 1], left_p, right[2], right[3]);
                    Queries::right_by_rows(right, queries, 16 * step, 16 * n);
                    T::multiply(sums_k[2 * n], left_s, right[0], right[1]);
                    T::multiply(sums_k[2 * n + 1], left_s, right[2], right[3]);
                }
            }
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int j = warp_key + (int)(lane / 4) + half * 8;
            if (j >= (a.lengths == LENGTHS_PACKED ? s.lk : (int)a.k_len)) continue;
            unsigned short* to_k = dk + place(a.k, s, s.first_k, j, work.head) + lane % 4 * 2;
            unsigned short* to_v = (dv ? dv : dk) + place(a.v, s, s.first_k, j, work.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) {
                    *(unsigned int*)(to_k + n * 8) = j < s.lk ? T::pack(sums_k[n][2 * half] * a.scale, sums_k[n][2 * half + 1] * a.scale) : 0u;
                    *(unsigned int*)(to_v + n * 8) = j < s.lk ? T::pack(sums_v[n][2 * half], sums_v[n][2 * half + 1]) : 0u;
                }
        }
    }
};
#endif
