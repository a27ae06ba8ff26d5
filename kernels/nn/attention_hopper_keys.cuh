// Gradients of keys and values on Hopper's tensor cores. The method is described in nn/attention_hopper_backward.cuh.
#pragma once
#include "nn/attention_hopper_added.cuh"
#include "nn/attention_hopper_backward.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Data read without TMA: tiles in which a sequence ends, and statistics of queries.
struct ReadTensors {
    const unsigned short *q, *d_o, *k, *v; // keys and values only with ADDS
    const float *lse, *dots;
};

// Computes gradients of keys and values over the query heads of a group. Rows of the products are keys. A tile's
// products with keys and values wait for the accumulation of the previous tile, because registers for both are too few;
// the other group's products run meanwhile. ADDS: also computes gradients of queries (nn/attention_hopper_added.cuh).
template <class T, int DIM, bool ADDS>
struct HopperKeysBackward {
    static constexpr int GROUPS = 2, KEYS = GROUPS * 64, ROWS = 64, STAGES = 3, WARPS = GROUPS * 4;
    static constexpr int FEWER = DIM == 128 ? 24 : 40, MORE = DIM == 128 ? 240 : 232;
    typedef BlockTile<ROWS, DIM, 32> Queries;
    typedef BlockTile<KEYS, DIM, 32> Keys;
    typedef Pieces<KEYS, ROWS, false> Work;
    typedef AddedQueries<T, DIM, KEYS> Added;
    static constexpr int STAGE = 2 * Queries::BYTES, STATISTICS = 2 * ROWS * 4;
    static constexpr int BYTES = 2 * Keys::BYTES + STAGES * (STAGE + STATISTICS) + (ADDS ? Added::BYTES : 1024) + 128; // with ADDS only the declared alignment fits
    const AttentionArgs& a;
    const int *q_lengths, *k_lengths;
    unsigned char* memory;
    unsigned int base, keys, ring, added, statistics, full_k, empty_k, full, empty;

    __device__ __forceinline__ HopperKeysBackward(const AttentionArgs& a_, const int* ql, const int* kl, unsigned char* memory_) : a(a_), q_lengths(ql), k_lengths(kl), memory(memory_) {
        base = (unsigned int)__cvta_generic_to_shared(memory), keys = (base + 1023) / 1024 * 1024;
        ring = keys + 2 * Keys::BYTES, added = ring + STAGES * STAGE, statistics = added + (ADDS ? Added::BYTES : 0);
        full_k = statistics + STAGES * STATISTICS, empty_k = full_k + 8, full = empty_k + 8, empty = full + 8 * STAGES;
    }
    // lse in base 2 and dots of a stage's queries.
    __device__ __forceinline__ float* numbers_of(unsigned int stage) const { return (float*)(memory + (statistics + stage * STATISTICS - base)); }

    __device__ __forceinline__ void produce(const Copied& from, const ReadTensors& read) const {
        InRing<STAGES> turn = {0, 1};
        unsigned int parity_k = 1;
#pragma unroll 1
        for (unsigned int n = 0; n * gridDim.x < Work::all(a); ++n) {
            if (index_of_piece(n) >= Work::all(a)) continue;
            const Work w(a, q_lengths, k_lengths, index_of_piece(n));
            if (!w.tiles) continue;
            wait_for_phase(empty_k, parity_k);
            parity_k ^= 1;
            copy_keys(from, read, w);
            unsigned int head = w.at.head * a.group;
            int first = w.begin;
#pragma unroll 1
            for (int t = 0; t < w.tiles * (int)a.group; ++t, turn.next()) {
                copy_queries(from, read, w, head, first, turn);
                first += ROWS;
                if (first >= w.begin + w.tiles * ROWS) first = w.begin, ++head;
            }
        }
    }
    // Keys beyond the end are masked; gradients of queries multiply them with 0, so they must not be NaN.
    __device__ __forceinline__ void copy_keys(const Copied& from, const ReadTensors& read, const Work& w) const {
        const unsigned int lane = threadIdx.x & 31;
        const int rows = w.s.lk - w.at.first;
        if (ADDS && a.lengths != LENGTHS_FULL && rows < KEYS) {
            copy_rows<Keys>(keys, read.k + place(a.k, w.s, w.s.first_k, w.at.first, w.at.head), a.k.token, rows, a.head_dim);
            copy_rows<Keys>(keys + Keys::BYTES, read.v + place(a.v, w.s, w.s.first_k, w.at.first, w.at.head), a.v.token, rows, a.head_dim);
            finish_copies();
            __syncwarp();
            if (lane == 0) arrive(full_k);
        } else if (lane == 0) {
            arrive_and_expect(full_k, 2 * Keys::BYTES);
            copy_tile<Keys>(keys, from.keys, full_k, w.s.first_k + w.at.first, w.at.head, w.s.batch);
            copy_tile<Keys>(keys + Keys::BYTES, from.values, full_k, w.s.first_k + w.at.first, w.at.head, w.s.batch);
        }
    }
    __device__ __forceinline__ void copy_queries(const Copied& from, const ReadTensors& read, const Work& w, unsigned int head, int first, const InRing<STAGES>& turn) const {
        const unsigned int lane = threadIdx.x & 31, to = ring + turn.stage * STAGE, barrier = full + 8 * turn.stage;
        float numbers[2][ROWS / 32];
#pragma unroll
        for (int i = 0; i < ROWS / 32; ++i) {
            const int row = first + (int)lane + i * 32;
            const unsigned long long at = row_of(a, w.at.b, head, row);
            numbers[0][i] = row < w.s.lq ? to_base_2(read.lse[at]) : -minus_infinity();
            numbers[1][i] = row < w.s.lq ? read.dots[at] : 0.0f;
        }
        wait_for_phase(empty + 8 * turn.stage, turn.parity);
#pragma unroll
        for (int i = 0; i < 2 * ROWS / 32; ++i) numbers_of(turn.stage)[lane + i * 32] = numbers[i / 2][i % 2];
        if (a.lengths == LENGTHS_FULL || first + ROWS <= w.s.lq) {
            if (lane == 0) {
                arrive_and_expect(barrier, STAGE);
                copy_tile<Queries>(to, from.queries, barrier, w.s.first_q + first, head, w.s.batch);
                copy_tile<Queries>(to + Queries::BYTES, from.gradients, barrier, w.s.first_q + first, head, w.s.batch);
            } else {
                arrive(barrier);
            }
        } else {
            copy_rows<Queries>(to, read.q + place(a.q, w.s, w.s.first_q, first, head), a.q.token, w.s.lq - first, a.head_dim);
            copy_rows<Queries>(to + Queries::BYTES, read.d_o + place(a.o, w.s, w.s.first_q, first, head), a.o.token, w.s.lq - first, a.head_dim);
            finish_copies();
            arrive(barrier);
        }
    }

    __device__ __forceinline__ void finish(const PackedDropping& drop, const Work& w, InRing<STAGES>& turn, unsigned int& parity_k, Added& queries, unsigned short* dk, unsigned short* dv) const {
        const Sequence& s = w.s;
        const unsigned int lane = threadIdx.x & 31, group = threadIdx.x / 128;
        const int warp_key = w.at.first + (int)(threadIdx.x / 32) * 16, all = w.tiles * (int)a.group;
        const float scale = a.scale * LOG2_E;
        const unsigned long long left_k = describe(keys + group * 64 * 128, 16), left_v = describe(keys + Keys::BYTES + group * 64 * 128, 16);
        float sums_k[DIM / 2], sums_v[DIM / 2], x[ROWS / 2], dp[ROWS / 2];
        unsigned int p[ROWS / 16][4], ds[ROWS / 16][4], bits = 0, head = w.at.head * a.group;
        int first = w.begin;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums_k[i] = sums_v[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < ROWS / 2; ++i) x[i] = dp[i] = 0.0f;
        // The logit of a masked key is minus infinity.
        auto probabilities = [&](const float* numbers) {
            const bool is_whole = first + ROWS <= s.lq && warp_key + 16 <= end_key(a, s, first) && warp_key >= first_key(a, s, first + ROWS - 1);
            const float2* row_lse = (const float2*)numbers + lane % 4;
            if (!is_whole) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int j = warp_key + (int)(lane / 4) + half * 8, own = first + (int)(lane % 4) * 2;
                    const int from = first_query(a, s, j) - own, to = j < s.lk ? end_query(a, s, j) - own : 0;
#pragma unroll
                    for (int n = 0; n < ROWS / 8; ++n)
#pragma unroll
                        for (int e = 0; e < 2; ++e)
                            if (n * 8 + e < from || n * 8 + e >= to) x[n * 4 + 2 * half + e] = minus_infinity();
                }
            }
#pragma unroll
            for (int n = 0; n < ROWS / 8; ++n) {
                const float2 query_lse = row_lse[n * 4];
#pragma unroll
                for (int i = 0; i < 4; ++i) x[n * 4 + i] = exp2_fast(x[n * 4 + i] * scale - (i % 2 ? query_lse.y : query_lse.x));
            }
        };
        auto gradients = [&](const float* numbers) {
            const float2* row_dot = (const float2*)numbers + ROWS / 2 + lane % 4;
            const float factor = drop.factor();
#pragma unroll
            for (int n = 0; n < ROWS / 8; ++n) {
                const float2 dot = row_dot[n * 4];
#pragma unroll
                for (int i = 0; i < 4; ++i) dp[n * 4 + i] = x[n * 4 + i] * (dropped(dp[n * 4 + i], drop.one(bits, n, i / 2, i % 2), factor) - (i % 2 ? dot.y : dot.x));
            }
        };
        auto draw_bits = [&]() { bits = drop.of_keys(head, first, warp_key, first_query(a, s, warp_key), end_query(a, s, warp_key + 15)); };
        // Products with values use the kept probabilities; the dropout factor is applied at the end.
        auto pack = [&]() {
#pragma unroll
            for (int n = 0; n < ROWS / 16; ++n)
#pragma unroll
                for (int r = 0; r < 4; ++r) p[n][r] = T::pack(x[n * 8 + 2 * r], x[n * 8 + 2 * r + 1]) & drop.pair(bits, 2 * n + r / 2, r % 2);
            pack_left<T>(ds, dp);
        };
        auto multiply = [&](unsigned int tile) {
            multiply_heads<T, DIM, Keys::BLOCK, Queries::BLOCK>(x, left_k, describe(tile, 16));
            commit_products();
            multiply_heads<T, DIM, Keys::BLOCK, Queries::BLOCK>(dp, left_v, describe(tile + Queries::BYTES, 16));
            commit_products();
        };
        auto add = [&](unsigned int tile) {
            add_products<T>(sums_v, p, describe(tile + Queries::BYTES, Queries::BLOCK));
            add_products<T>(sums_k, ds, describe(tile, Queries::BLOCK));
            commit_products();
        };
        auto advance = [&]() {
            turn.next();
            first += ROWS;
            if (first >= w.begin + w.tiles * ROWS) first = w.begin, ++head;
        };
        if (all) wait_for_phase(full_k, parity_k);
#pragma unroll 1
        for (int t = 0; t < all; ++t) {
            if (DROPS) draw_bits();
            wait_for_phase(full + 8 * turn.stage, turn.parity);
            begin_products();
            multiply(ring + turn.stage * STAGE);
            wait_for_products<1>();
            pin(x);
            probabilities(numbers_of(turn.stage));
            wait_for_products<0>();
            pin(dp);
            gradients(numbers_of(turn.stage));
            pack();
            if constexpr (ADDS) queries.store(ds);
            begin_products();
            add(ring + turn.stage * STAGE);
            float of_queries[ADDS ? Added::N : 1];
            if constexpr (ADDS) {
#pragma unroll
                for (int i = 0; i < Added::N; ++i) of_queries[i] = 0.0f;
                queries.meet();
                begin_products();
                queries.multiply(of_queries);
            }
            wait_for_products<ADDS ? 1 : 0>();
            pin(sums_v);
            pin(sums_k);
            __syncwarp(); // all lanes have read the statistics of the queries
            if (lane == 0) arrive(empty + 8 * turn.stage);
            if constexpr (ADDS) {
                wait_for_products<0>();
                pin(of_queries);
                queries.add(of_queries, tile_of(a, w.at.b, head, first));
            }
            advance();
        }
        if (all) {
            if (lane == 0) arrive(empty_k);
            parity_k ^= 1;
        }
        const float factor = DROPS && !all ? 0.0f : drop.factor();
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int j = warp_key + (int)(lane / 4) + half * 8;
            if (j >= (a.lengths == LENGTHS_PACKED ? s.lk : (int)a.k_len)) continue;
            unsigned short* to_k = dk + place(a.k, s, s.first_k, j, w.at.head) + lane % 4 * 2;
            unsigned short* to_v = (dv ? dv : dk) + place(a.v, s, s.first_k, j, w.at.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) {
                    *(unsigned int*)(to_k + n * 8) = j < s.lk ? T::pack(sums_k[n * 4 + 2 * half] * a.scale, sums_k[n * 4 + 2 * half + 1] * a.scale) : 0u;
                    *(unsigned int*)(to_v + n * 8) = j < s.lk ? T::pack(sums_v[n * 4 + 2 * half] * factor, sums_v[n * 4 + 2 * half + 1] * factor) : 0u;
                }
        }
        __syncwarp();
    }

    static __device__ __forceinline__ void run(const AttentionArgs& a, const Copied& from, const ReadTensors& read, const int* ql, const int* kl, const void* dropout, float* sums, unsigned short* dk, unsigned short* dv) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const HopperKeysBackward f(a, ql, kl, memory);
        const PackedDropping drop(a, dropout, sequence(a, ql, kl, FlashWork(a, a.heads / a.group, a.k_len, KEYS, false).b));
        init_ring<STAGES, WARPS>(f.full_k, f.empty_k, f.full, f.empty);
        if (threadIdx.x >= GROUPS * 128) {
            give_registers<FEWER>();
            if (threadIdx.x < GROUPS * 128 + 32) f.produce(from, read);
        } else {
            take_registers<MORE>();
            InRing<STAGES> turn = {0, 0};
            unsigned int parity_k = 0;
            Added queries(f.added, f.keys, sums);
#pragma unroll 1
            for (unsigned int n = 0; n * gridDim.x < Work::all(a); ++n)
                if (index_of_piece(n) < Work::all(a)) f.finish(drop, Work(a, ql, kl, index_of_piece(n)), turn, parity_k, queries, dk, dv);
            if (ADDS) queries.finish();
        }
    }
};
#endif
