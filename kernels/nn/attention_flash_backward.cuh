// Backward pass of attention on tensor cores. The method is described in nn/attention_flash.cuh.
#pragma once
#include "nn/attention_flash.cuh"

#if __CUDA_ARCH__ >= 800
// Computes probabilities and gradients of logits of a pair in place: `x` is the product of query and key, `dp` the
// product of gradient and value, `kept` the dropout factor.
__device__ __forceinline__ void to_gradient(float& x, float& dp, bool sees, float scale, float lse, float dot, float kept = 1.0f) {
    const float p = sees ? exp2_fast(x * scale - lse) : 0.0f;
    x = p * kept;
    dp = p * (dp * kept - dot);
}
// Converts lse to base 2; infinite for a query without keys, so that its probabilities are 0.
__device__ __forceinline__ float to_base_2(float lse) { return lse == minus_infinity() ? -minus_infinity() : lse * LOG2_E; }

// Computes gradients of queries.
template <class T, int DIM, int WARPS, int KEYS>
struct FlashQueriesBackward {
    static constexpr int ROWS = WARPS * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = 2 * Queries::BYTES + 4 * Keys::BYTES;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dq) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int queries = (unsigned int)__cvta_generic_to_shared(memory), gradients = queries + Queries::BYTES, ring = gradients + Queries::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, true);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const Dropping drop(a, dropout, s);
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
            unsigned int bits[2] = {};
            drop.of_queries<KEYS / 8>(bits, work.head, warp_row, first);
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
                        const float kept = !DROPS ? 1.0f : bits[half] >> (4 * n + e) & 1 ? drop.factor : 0.0f;
                        to_gradient(x[n][2 * half + e], dp[n][2 * half + e], sees, scale, row_lse[half], row_dot[half], kept);
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

// Computes gradients of keys and values over the query heads of a group. Rows of the products are keys. KEYS_STAY:
// whether keys and values stay in registers as operands, instead of being read again for each tile of queries.
template <class T, int DIM, int WARPS, int ROWS, bool KEYS_STAY>
struct FlashKeysBackward {
    static constexpr int KEYS = WARPS * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int STAGE = 2 * Queries::BYTES + 2 * ROWS * 4, BYTES = 2 * Keys::BYTES + 2 * STAGE;
    static_assert(2 * ROWS <= THREADS, "one thread copies one number of a row");

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dk, unsigned short* dv) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int keys = (unsigned int)__cvta_generic_to_shared(memory), values = keys + Keys::BYTES, ring = values + Keys::BYTES;
        const FlashWork work(a, a.heads / a.group, a.k_len, KEYS, false);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const Dropping drop(a, dropout, s);
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
            const int this_first = first, this_head = head;
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
            unsigned int bits[2][2] = {};
            drop.of_keys<ROWS / 8>(bits, work.head * a.group + this_head, this_first, warp_key);
            // Range of the queries that see each of this thread's keys.
            int from[2], to[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int j = warp_key + (int)(lane / 4) + half * 8;
                from[half] = is_whole ? 0 : first_query(a, s, j) - this_first;
                to[half] = is_whole ? ROWS : j < s.lk ? end_query(a, s, j) - this_first : 0;
            }
#pragma unroll
            for (int n = 0; n < ROWS / 8; ++n)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int column = n * 8 + (int)(lane % 4) * 2 + e;
                    const float query_lse = to_base_2(row_lse[column]), dot = row_lse[ROWS + column];
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        const float kept = !DROPS ? 1.0f : bits[half][e] >> 4 * n & 1 ? drop.factor : 0.0f;
                        to_gradient(x[n][2 * half + e], dp[n][2 * half + e], column >= from[half] && column < to[half], scale, query_lse, dot, kept);
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
