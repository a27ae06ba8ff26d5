// The backward pass of attention on Hopper's tensor cores. Structure as nn/attention_flash_backward.cuh, products as
// nn/attention_hopper.cuh: those that need the next tile run while the gradients of its logits are computed from the last ones.
#pragma once
#include "nn/attention_flash_backward.cuh"
#include "nn/attention_hopper.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// d = left rightᵀ over a head, both tiles in shared memory.
template <class T, int DIM, int LEFT_BLOCK, int RIGHT_BLOCK, int N>
__device__ __forceinline__ void multiply_heads(float (&d)[N], unsigned long long left, unsigned long long right) {
#pragma unroll
    for (int step = 0; step < DIM / 16; ++step)
        multiply_tiles(T(), d, left + (step / 4 * LEFT_BLOCK + step % 4 * 32 >> 4), right + (step / 4 * RIGHT_BLOCK + step % 4 * 32 >> 4), step);
}
// d += left tile, with 16 rows of the tile per operand.
template <class T, int N, int STEPS>
__device__ __forceinline__ void add_products(float (&d)[N], const unsigned int (&left)[STEPS][4], unsigned long long tile) {
#pragma unroll
    for (int step = 0; step < STEPS; ++step) multiply_tile(T(), d, left[step], tile + (step * 16 * 128 >> 4));
}
template <class T, int STEPS, int N>
__device__ __forceinline__ void pack_left(unsigned int (&left)[STEPS][4], const float (&x)[N]) {
#pragma unroll
    for (int n = 0; n < STEPS; ++n)
#pragma unroll
        for (int r = 0; r < 4; ++r) left[n][r] = T::pack(x[n * 8 + 2 * r], x[n * 8 + 2 * r + 1]);
}

// What dropout leaves of an element, of which `kept` is all ones or zero.
__device__ __forceinline__ float dropped(float x, unsigned int kept, float factor) { return DROPS ? __int_as_float(__float_as_int(x) & (int)kept) * factor : x; }

// Gradients of queries.
template <class T, int DIM, int GROUPS>
struct HopperQueriesBackward {
    static constexpr int ROWS = GROUPS * 64, KEYS = 64, THREADS = GROUPS * 128, STAGES = 3;
    typedef BlockTile<ROWS, DIM, THREADS> Queries;
    typedef BlockTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = 2 * Queries::BYTES + 2 * STAGES * Keys::BYTES + 1024;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dq) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const unsigned int queries = ((unsigned int)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024, gradients = queries + Queries::BYTES, ring = gradients + Queries::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, true);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const PackedDropping drop(a, dropout, s);
        const unsigned int lane = threadIdx.x & 31, kv = work.head / a.group;
        const int warp_row = work.first + (int)(threadIdx.x / 32) * 16, last = min(work.first + ROWS, s.lq) - 1;
        const int begin = last >= work.first ? first_key(a, s, work.first) / KEYS * KEYS : 0, end = last >= work.first ? end_key(a, s, last) : 0;
        const int tiles = begin < end ? (end - begin + KEYS - 1) / KEYS : 0;
        const unsigned short* keys_from = k + place(a.k, s, s.first_k, begin, kv);
        const unsigned short* values_from = v + place(a.v, s, s.first_k, begin, kv);
        unsigned int copied = ring;
        auto copy_tile = [&](int t) {
            if (t >= tiles) return;
            const int rows = s.lk - begin - t * KEYS;
            Keys::copy(copied, keys_from + (unsigned long long)t * KEYS * a.k.token, a.k.token, rows, a.head_dim);
            Keys::copy(copied + Keys::BYTES, values_from + (unsigned long long)t * KEYS * a.v.token, a.v.token, rows, a.head_dim);
            copied = copied == ring + (STAGES - 1) * 2 * Keys::BYTES ? ring : copied + 2 * Keys::BYTES;
        };
        if (tiles) {
            Queries::copy(queries, q + place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a.head_dim);
            Queries::copy(gradients, d_o + place(a.o, s, s.first_q, work.first, work.head), a.o.token, s.lq - work.first, a.head_dim);
            copy_tile(0);
            commit_copies();
            copy_tile(1);
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
        const unsigned int group = threadIdx.x / 128 * 64 * 128;
        const unsigned long long left_q = describe(queries + group, 16), left_o = describe(gradients + group, 16);
        float sums[DIM / 2], x[KEYS / 2], dp[KEYS / 2];
        unsigned int ds[KEYS / 16][4], now = ring, bits = 0;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) x[i] = dp[i] = 0.0f;
        auto multiply = [&](unsigned int tile) {
            multiply_heads<T, DIM, Queries::BLOCK, Keys::BLOCK>(x, left_q, describe(tile, 16));
            multiply_heads<T, DIM, Queries::BLOCK, Keys::BLOCK>(dp, left_o, describe(tile + Keys::BYTES, 16));
            commit_products();
        };
        auto draw_bits = [&](int first) { bits = drop.of_queries(work.head, warp_row, first, first_key(a, s, warp_row), end_key(a, s, max(min(warp_row + 16, s.lq) - 1, 0))); };
        auto gradients_of_logits = [&](int first) {
            const int warp_last = min(warp_row + 16, s.lq) - 1;
            const float factor = drop.factor();
            const bool is_whole = warp_row + 16 <= s.lq && first + KEYS <= end_key(a, s, warp_row) && first >= first_key(a, s, warp_last);
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int i = warp_row + (int)(lane / 4) + half * 8, own = first + (int)(lane % 4) * 2;
                const int from = is_whole ? 0 : first_key(a, s, i) - own, to = is_whole ? KEYS : i < s.lq ? end_key(a, s, i) - own : 0;
#pragma unroll
                for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const int at = n * 4 + 2 * half + e;
                        dp[at] = dropped(dp[at], drop.one(bits, n, half, e), factor);
                        to_gradient(x[at], dp[at], n * 8 + e >= from && n * 8 + e < to, scale, row_lse[half], row_dot[half]);
                    }
            }
        };
        if (tiles) {
            wait_for_copies<1>();
            publish_copies();
            __syncthreads();
            begin_products();
            multiply(now);
            draw_bits(begin);
            wait_for_products<0>();
            pin(x);
            pin(dp);
            gradients_of_logits(begin);
            pack_left<T>(ds, dp);
        }
        // Tile t+1 is there, and the place of tile t+2 is free.
#pragma unroll 1
        for (int t = 0; t < tiles - 1; ++t) {
            wait_for_copies<0>();
            publish_copies();
            __syncthreads();
            copy_tile(t + 2);
            commit_copies();
            const unsigned int next = now == ring + (STAGES - 1) * 2 * Keys::BYTES ? ring : now + 2 * Keys::BYTES;
            draw_bits(begin + (t + 1) * KEYS);
            begin_products();
            multiply(next);
            add_products<T>(sums, ds, describe(now, Keys::BLOCK));
            commit_products();
            now = next;
            wait_for_products<1>();
            pin(x);
            pin(dp);
            gradients_of_logits(begin + (t + 1) * KEYS);
            wait_for_products<0>();
            pin(sums);
            pack_left<T>(ds, dp);
        }
        if (tiles) {
            begin_products();
            add_products<T>(sums, ds, describe(now, Keys::BLOCK));
            commit_products();
            wait_for_products<0>();
            pin(sums);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int i = warp_row + (int)(lane / 4) + half * 8;
            if (i >= (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) continue;
            unsigned short* to = dq + place(a.q, s, s.first_q, i, work.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = i < s.lq ? T::pack(sums[n * 4 + 2 * half] * a.scale, sums[n * 4 + 2 * half + 1] * a.scale) : 0u;
        }
    }
};

// Gradients of keys and values, over the query heads of a group. Rows of the products are keys.
template <class T, int DIM, int GROUPS>
struct HopperKeysBackward {
    static constexpr int KEYS = GROUPS * 64, ROWS = 64, THREADS = GROUPS * 128, STAGES = 3;
    typedef BlockTile<ROWS, DIM, THREADS> Queries;
    typedef BlockTile<KEYS, DIM, THREADS> Keys;
    // A stage begins at a multiple of 1024 bytes.
    static constexpr int STAGE = 2 * Queries::BYTES, STATISTICS = 2 * ROWS * 4, BYTES = 2 * Keys::BYTES + STAGES * (STAGE + STATISTICS) + 1024;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, const unsigned short* d_o, const float* lse, const float* dots, unsigned short* dk, unsigned short* dv) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const unsigned int base = (unsigned int)__cvta_generic_to_shared(memory), keys = (base + 1023) / 1024 * 1024, values = keys + Keys::BYTES, ring = values + Keys::BYTES, statistics = ring + STAGES * STAGE;
        const FlashWork work(a, a.heads / a.group, a.k_len, KEYS, false);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const PackedDropping drop(a, dropout, s);
        const unsigned int lane = threadIdx.x & 31;
        const int warp_key = work.first + (int)(threadIdx.x / 32) * 16, last = min(work.first + KEYS, s.lk) - 1;
        const int begin = last >= work.first ? first_query(a, s, work.first) / ROWS * ROWS : 0, end = last >= work.first ? end_query(a, s, last) : 0;
        const int tiles = begin < end ? (end - begin + ROWS - 1) / ROWS : 0, all = tiles * (int)a.group;
        // Positions are computed again for each tile, as registers are short.
        auto copy_tile = [&](int t) {
            if (t >= all) return;
            const unsigned int stage = t % STAGES, to = ring + stage * STAGE, head = work.head * a.group + t / tiles;
            const int first = begin + t % tiles * ROWS;
            Queries::copy(to, q + place(a.q, s, s.first_q, first, head), a.q.token, s.lq - first, a.head_dim);
            Queries::copy(to + Queries::BYTES, d_o + place(a.o, s, s.first_q, first, head), a.o.token, s.lq - first, a.head_dim);
            if (threadIdx.x < 2 * ROWS) {
                const int row = first + (int)threadIdx.x % ROWS;
                copy_four(statistics + stage * STATISTICS + threadIdx.x * 4, (threadIdx.x < ROWS ? lse : dots) + row_of(a, work.b, head, row < s.lq ? row : first), row < s.lq ? 4 : 0);
            }
        };
        if (all) {
            Keys::copy(keys, k + place(a.k, s, s.first_k, work.first, work.head), a.k.token, s.lk - work.first, a.head_dim);
            Keys::copy(values, v + place(a.v, s, s.first_k, work.first, work.head), a.v.token, s.lk - work.first, a.head_dim);
            copy_tile(0);
            commit_copies();
            copy_tile(1);
            commit_copies();
        }
        const float scale = a.scale * LOG2_E;
        const unsigned int group = threadIdx.x / 128 * 64 * 128;
        const unsigned long long left_k = describe(keys + group, 16), left_v = describe(values + group, 16);
        float sums_k[DIM / 2], sums_v[DIM / 2], x[ROWS / 2], dp[ROWS / 2];
        unsigned int p[ROWS / 16][4], ds[ROWS / 16][4], bits = 0;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums_k[i] = sums_v[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) x[i] = dp[i] = 0.0f;
        auto multiply = [&](unsigned int tile) {
            multiply_heads<T, DIM, Keys::BLOCK, Queries::BLOCK>(x, left_k, describe(tile, 16));
            multiply_heads<T, DIM, Keys::BLOCK, Queries::BLOCK>(dp, left_v, describe(tile + Queries::BYTES, 16));
            commit_products();
        };
        auto add = [&](unsigned int tile) {
            add_products<T>(sums_v, p, describe(tile + Queries::BYTES, Queries::BLOCK));
            add_products<T>(sums_k, ds, describe(tile, Queries::BLOCK));
            commit_products();
        };
        auto draw_bits = [&](int t) { bits = drop.of_keys(work.head * a.group + t / tiles, begin + t % tiles * ROWS, warp_key, first_query(a, s, warp_key), end_query(a, s, warp_key + 15)); };
        auto gradients_of_logits = [&](int t) {
            const int first = begin + t % tiles * ROWS;
            const float factor = drop.factor();
            const int tile_last = min(first + ROWS, s.lq) - 1;
            const bool is_whole = first + ROWS <= s.lq && warp_key + 16 <= end_key(a, s, first) && warp_key >= first_key(a, s, tile_last);
            const float* row_lse = (const float*)(memory + (statistics + t % STAGES * STATISTICS - base));
            // Of this thread's keys the queries that see them.
            int from[2], to[2];
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int j = warp_key + (int)(lane / 4) + half * 8;
                from[half] = is_whole ? 0 : first_query(a, s, j) - first;
                to[half] = is_whole ? ROWS : j < s.lk ? end_query(a, s, j) - first : 0;
            }
#pragma unroll
            for (int n = 0; n < ROWS / 8; ++n)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const int column = n * 8 + (int)(lane % 4) * 2 + e, at = n * 4 + e;
                    const float query_lse = to_base_2(row_lse[column]), dot = row_lse[ROWS + column];
#pragma unroll
                    for (int half = 0; half < 2; ++half) {
                        dp[at + 2 * half] = dropped(dp[at + 2 * half], drop.one(bits, n, half, e), factor);
                        to_gradient(x[at + 2 * half], dp[at + 2 * half], column >= from[half] && column < to[half], scale, query_lse, dot);
                    }
                }
        };
        // Products of values take what is kept of the probabilities; their factor follows at the end.
        auto pack = [&]() {
#pragma unroll
            for (int n = 0; n < ROWS / 16; ++n)
#pragma unroll
                for (int r = 0; r < 4; ++r) p[n][r] = T::pack(x[n * 8 + 2 * r], x[n * 8 + 2 * r + 1]) & drop.pair(bits, 2 * n + r / 2, r % 2);
            pack_left<T>(ds, dp);
        };
        if (all) {
            wait_for_copies<1>();
            publish_copies();
            __syncthreads();
            begin_products();
            multiply(ring);
            draw_bits(0);
            wait_for_products<0>();
            pin(x);
            pin(dp);
            gradients_of_logits(0);
            pack();
        }
        // Tile t+1 is there, and the place of tile t+2 is free.
#pragma unroll 1
        for (int t = 0; t < all - 1; ++t) {
            wait_for_copies<0>();
            publish_copies();
            __syncthreads();
            copy_tile(t + 2);
            commit_copies();
            if (DROPS) {
                draw_bits(t + 1);
                // So that their registers are free meanwhile.
#pragma unroll
                for (int i = 0; i < ROWS / 2; ++i) x[i] = dp[i] = 0.0f;
            }
            begin_products();
            multiply(ring + (t + 1) % STAGES * STAGE);
            add(ring + t % STAGES * STAGE);
            wait_for_products<1>();
            pin(x);
            pin(dp);
            gradients_of_logits(t + 1);
            wait_for_products<0>();
            pin(sums_v);
            pin(sums_k);
            pack();
        }
        if (all) {
            begin_products();
            add(ring + (all - 1) % STAGES * STAGE);
            wait_for_products<0>();
            pin(sums_v);
            pin(sums_k);
        }
        const float factor = DROPS && !all ? 0.0f : drop.factor(); // it is there after the first barrier
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int j = warp_key + (int)(lane / 4) + half * 8;
            if (j >= (a.lengths == LENGTHS_PACKED ? s.lk : (int)a.k_len)) continue;
            unsigned short* to_k = dk + place(a.k, s, s.first_k, j, work.head) + lane % 4 * 2;
            unsigned short* to_v = (dv ? dv : dk) + place(a.v, s, s.first_k, j, work.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) {
                    *(unsigned int*)(to_k + n * 8) = j < s.lk ? T::pack(sums_k[n * 4 + 2 * half] * a.scale, sums_k[n * 4 + 2 * half + 1] * a.scale) : 0u;
                    *(unsigned int*)(to_v + n * 8) = j < s.lk ? T::pack(sums_v[n * 4 + 2 * half] * factor, sums_v[n * 4 + 2 * half + 1] * factor) : 0u;
                }
        }
    }
};
#endif
