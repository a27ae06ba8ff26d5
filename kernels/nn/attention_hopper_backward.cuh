// Backward pass of attention on Hopper's tensor cores. Structured as nn/attention_flash_backward.cuh; copies, products
// and work items as in nn/attention_hopper.cuh.
//
// Measured on an H200, bf16, ms of dQ and of dK and dV: 2 x 8192 tokens, 16 heads of 128 elements; of 64; 16 x 1024, 12
// heads of 64, causal. With the 0.04 ms of attention_dots 472 TFLOP/s with heads of 128 and 377 with 64; cp.async 353
// and 247.
//   this                                                     2.35, 3.44    1.68, 1.94    0.128, 0.151
//   a block for each work item                               2.37, 3.46    1.69, 1.93    0.143, 0.177
//   192 tokens of heads of 64 per block                                    1.59, 2.01    0.148, 0.175
//   dK and dV: products of the next tile beside the sums     spills        2.12          0.170
//     sums of values while gradients are computed            waits         2.06          0.188
//   copies by all threads (cp.async)                         3.06, 4.61    2.29, 3.21    0.176, 0.234
// dQ of heads of 128 with 96 keys, and of 64 with 128 keys, spill.
#pragma once
#include "nn/attention_flash_backward.cuh"
#include "nn/attention_hopper_tiles.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// d = left rightᵀ over a head, with both tiles in shared memory.
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

// Applies dropout to an element; `kept` is all ones or zero.
__device__ __forceinline__ float dropped(float x, unsigned int kept, float factor) { return DROPS ? __int_as_float(__float_as_int(x) & (int)kept) * factor : x; }

// Computes gradients of queries. Products with the next tile of keys run while gradients of logits are computed from
// the last ones.
template <class T, int DIM>
struct HopperQueriesBackward {
    static constexpr int GROUPS = 2, ROWS = GROUPS * 64, KEYS = 64, STAGES = 3, WARPS = GROUPS * 4, FEWER = 40, MORE = 232;
    typedef BlockTile<ROWS, DIM, 32> Queries;
    typedef BlockTile<KEYS, DIM, 32> Keys;
    typedef Pieces<ROWS, KEYS, true> Work;
    static constexpr int STAGE = 2 * Keys::BYTES, BYTES = 2 * Queries::BYTES + STAGES * STAGE + 1024 + 128;
    const AttentionArgs& a;
    const int *q_lengths, *k_lengths;
    unsigned int queries, ring, full_q, empty_q, full, empty;

    __device__ __forceinline__ HopperQueriesBackward(const AttentionArgs& a_, const int* ql, const int* kl, unsigned char* memory) : a(a_), q_lengths(ql), k_lengths(kl) {
        queries = ((unsigned int)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
        ring = queries + 2 * Queries::BYTES, full_q = ring + STAGES * STAGE, empty_q = full_q + 8, full = empty_q + 8, empty = full + 8 * STAGES;
    }

    __device__ __forceinline__ void produce(const Copied& from, const unsigned short* k, const unsigned short* v) const {
        const unsigned int lane = threadIdx.x & 31;
        InRing<STAGES> turn = {0, 1};
        unsigned int parity_q = 1;
#pragma unroll 1
        for (unsigned int n = 0; n * gridDim.x < Work::all(a); ++n) {
            if (index_of_piece(n) >= Work::all(a)) continue;
            const Work w(a, q_lengths, k_lengths, index_of_piece(n));
            const unsigned int kv = w.at.head / a.group;
            if (!w.tiles) continue;
            wait_for_phase(empty_q, parity_q);
            parity_q ^= 1;
            if (lane == 0) {
                arrive_and_expect(full_q, 2 * Queries::BYTES);
                copy_tile<Queries>(queries, from.queries, full_q, w.s.first_q + w.at.first, w.at.head, w.s.batch);
                copy_tile<Queries>(queries + Queries::BYTES, from.gradients, full_q, w.s.first_q + w.at.first, w.at.head, w.s.batch);
            }
#pragma unroll 1
            for (int t = 0; t < w.tiles; ++t, turn.next()) {
                const int first = w.begin + t * KEYS;
                const unsigned int to = ring + turn.stage * STAGE, barrier = full + 8 * turn.stage;
                wait_for_phase(empty + 8 * turn.stage, turn.parity);
                if (a.lengths == LENGTHS_FULL || first + KEYS <= w.s.lk) {
                    if (lane == 0) {
                        arrive_and_expect(barrier, STAGE);
                        copy_tile<Keys>(to, from.keys, barrier, w.s.first_k + first, kv, w.s.batch);
                        copy_tile<Keys>(to + Keys::BYTES, from.values, barrier, w.s.first_k + first, kv, w.s.batch);
                    } else {
                        arrive(barrier);
                    }
                } else {
                    copy_rows<Keys>(to, k + place(a.k, w.s, w.s.first_k, first, kv), a.k.token, w.s.lk - first, a.head_dim);
                    copy_rows<Keys>(to + Keys::BYTES, v + place(a.v, w.s, w.s.first_k, first, kv), a.v.token, w.s.lk - first, a.head_dim);
                    finish_copies();
                    arrive(barrier);
                }
            }
        }
    }

    __device__ __forceinline__ void finish(const PackedDropping& drop, const Work& w, InRing<STAGES>& turn, unsigned int& parity_q, const float* lse, const float* dots, unsigned short* dq) const {
        const Sequence& s = w.s;
        const unsigned int lane = threadIdx.x & 31, group = threadIdx.x / 128, head = w.at.head;
        const int warp_row = w.at.first + (int)(threadIdx.x / 32) * 16, begin = w.begin, tiles = w.tiles;
        float row_lse[2], row_dot[2];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int i = warp_row + (int)(lane / 4) + half * 8;
            row_lse[half] = i < s.lq ? to_base_2(lse[row_of(a, w.at.b, head, i)]) : -minus_infinity();
            row_dot[half] = i < s.lq ? dots[row_of(a, w.at.b, head, i)] : 0.0f;
        }
        const float scale = a.scale * LOG2_E;
        const unsigned long long left_q = describe(queries + group * 64 * 128, 16), left_o = describe(queries + Queries::BYTES + group * 64 * 128, 16);
        float sums[DIM / 2], x[KEYS / 2], dp[KEYS / 2];
        unsigned int ds[KEYS / 16][4], bits = 0;
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) x[i] = dp[i] = 0.0f;
        auto multiply = [&](unsigned int tile) {
            multiply_heads<T, DIM, Queries::BLOCK, Keys::BLOCK>(x, left_q, describe(tile, 16));
            multiply_heads<T, DIM, Queries::BLOCK, Keys::BLOCK>(dp, left_o, describe(tile + Keys::BYTES, 16));
            commit_products();
        };
        auto draw_bits = [&](int first) { bits = drop.of_queries(head, warp_row, first, first_key(a, s, warp_row), end_key(a, s, max(min(warp_row + 16, s.lq) - 1, 0))); };
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
        unsigned int now = ring + turn.stage * STAGE;
        if (tiles) {
            wait_for_phase(full_q, parity_q);
            wait_for_phase(full + 8 * turn.stage, turn.parity);
            begin_products();
            multiply(now);
            draw_bits(begin);
            wait_for_products<0>();
            pin(x);
            pin(dp);
            gradients_of_logits(begin);
            pack_left<T>(ds, dp);
        }
#pragma unroll 1
        for (int t = 0; t < tiles - 1; ++t) {
            const unsigned int barrier = empty + 8 * turn.stage;
            turn.next();
            const unsigned int next = ring + turn.stage * STAGE;
            if (DROPS) draw_bits(begin + (t + 1) * KEYS);
            wait_for_phase(full + 8 * turn.stage, turn.parity);
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
            if (lane == 0) arrive(barrier);
            pack_left<T>(ds, dp);
        }
        if (tiles) {
            if (lane == 0) arrive(empty_q);
            parity_q ^= 1;
            begin_products();
            add_products<T>(sums, ds, describe(now, Keys::BLOCK));
            commit_products();
            wait_for_products<0>();
            pin(sums);
            if (lane == 0) arrive(empty + 8 * turn.stage);
            turn.next();
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int i = warp_row + (int)(lane / 4) + half * 8;
            if (i >= (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) continue;
            unsigned short* to = dq + place(a.q, s, s.first_q, i, head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = i < s.lq ? T::pack(sums[n * 4 + 2 * half] * a.scale, sums[n * 4 + 2 * half + 1] * a.scale) : 0u;
        }
        __syncwarp();
    }

    static __device__ __forceinline__ void run(const AttentionArgs& a, const Copied& from, const unsigned short* k, const unsigned short* v, const int* ql, const int* kl, const void* dropout, const float* lse, const float* dots, unsigned short* dq) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const HopperQueriesBackward f(a, ql, kl, memory);
        const PackedDropping drop(a, dropout, sequence(a, ql, kl, FlashWork(a, a.heads, a.q_len, ROWS, true).b));
        init_ring<STAGES, WARPS>(f.full_q, f.empty_q, f.full, f.empty);
        if (threadIdx.x >= GROUPS * 128) {
            give_registers<FEWER>();
            if (threadIdx.x < GROUPS * 128 + 32) f.produce(from, k, v);
        } else {
            take_registers<MORE>();
            InRing<STAGES> turn = {0, 0};
            unsigned int parity_q = 0;
#pragma unroll 1
            for (unsigned int n = 0; n * gridDim.x < Work::all(a); ++n)
                if (index_of_piece(n) < Work::all(a)) f.finish(drop, Work(a, ql, kl, index_of_piece(n)), turn, parity_q, lse, dots, dq);
        }
    }
};
#endif
