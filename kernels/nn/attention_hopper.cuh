// Forward pass of attention on Hopper's tensor cores. wgmma reads right operands from shared memory once per four
// warps; otherwise as nn/attention_flash.cuh.
//
// Warp-specialised persistent grid: one block per SM loops over work items of 64 queries of a head per warp group. A
// producer warp starts TMA copies of the queries, and of keys and values in tiles of 128 into rings of two stages,
// running ahead into the next work item. A consumer group multiplies queries and the next keys while it sums the
// exponentials of this tile, multiplies probabilities and values while it computes the next ones, and waits for no
// other group:
//
//     issue x(t+1) = q k(t+1)    issue sums += p(t) v(t)    wait for x(t+1): maximum, p(t+1)    wait for sums: times factor
//
// Measured on an H200, bf16, TFLOP/s of 2 x 8192 tokens and 16 heads of 128 elements, the same with a causal mask, 16
// heads of 64; and µs of 4 x 4096 tokens with 12 heads of 64, the same and 16 x 1024 with a causal mask. cuDNN in the
// same minute 624, 575, 459; 461, 263, 86.
//   this, a block for each work item                                          621, 607, 415; 520, 326, 133
//   this, persistent grid                                                     604, 575, 443; 477, 271, 100
//   192 queries of heads of 64 per block; persistent grid                     481; 497, 315, 139    488; 466, 323, 124
//     groups pass over tiles that are hidden from all of their queries        470; 438, 282, 102; with 128 queries 398; 547, 306, 109
//   256 queries of heads of 64, 64 keys                                       435; 485, 334, 125
//   groups take turns in issuing products (FlashAttention-3)                  616, 571, 423; 509, 317, 130
//   sums multiplied only where a maximum has grown                            572, 542
//   160 keys, with turns; 176 keys without                                    592, 554; 617, 568
//   copies by all threads (cp.async), barriers of the block                   401, 407, 318; 676, 397, 145
//   keys and values of as many heads as 8 MB hold, of 40 MB (24 here)         with a causal mask 603, 529 for 549; 319, 319 for 306 us
// Earlier, by cp.async with dropout of probabilities, whose draws precede the products of a tile, µs of forward, dQ, dK
// and dV:
//                                            16 x 1024, 12 heads of 64, causal   2 x 4096, 16 heads of 128
//   without dropout                                143  172  286                    817  935 1394
//   with it                                        336  355  449                   1616 1754 2215
//   mma.sync                                       501  396  521                   2240 2615 3566
//   draws while products run                       335  372  451                   1676 1920 2481, and 32 bytes spill
//   rounds of Philox in a loop, by two and by one  351  378  461, 384 528 552
// A multiplication of f64 for the upper half of a product of a draw takes longer: 385 instead of 342 µs where nothing
// but draws is computed. The compiler makes products wait for each other where a wait is conditional.
#pragma once
#include "nn/attention_hopper_tiles.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Registers per thread: 168 for each of three groups are redistributed as 40 for the producer and 232 for consumers.
template <class T, int DIM>
struct HopperForward {
    static constexpr int GROUPS = 2, ROWS = GROUPS * 64, KEYS = 128, STAGES = 2, WARPS = GROUPS * 4, FEWER = 40, MORE = 232;
    typedef BlockTile<ROWS, DIM, 32> Queries;
    typedef BlockTile<KEYS, DIM, 32> Keys;
    typedef Pieces<ROWS, KEYS, true> Work;
    static constexpr int BYTES = Queries::BYTES + 2 * STAGES * Keys::BYTES + 1024 + 128;
    const AttentionArgs& a;
    const int *q_lengths, *k_lengths;
    unsigned int queries, keys, values, full_q, full_k, full_v, empty_q, empty_k, empty_v;

    __device__ __forceinline__ HopperForward(const AttentionArgs& a_, const int* ql, const int* kl, unsigned char* memory) : a(a_), q_lengths(ql), k_lengths(kl) {
        queries = ((unsigned int)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
        keys = queries + Queries::BYTES, values = keys + STAGES * Keys::BYTES;
        full_q = values + STAGES * Keys::BYTES, empty_q = full_q + 8;
        full_k = empty_q + 8, full_v = full_k + 8 * STAGES, empty_k = full_v + 8 * STAGES, empty_v = empty_k + 8 * STAGES;
    }

    __device__ __forceinline__ void produce(const TensorMap& q, const TensorMap& k, const TensorMap& v, const unsigned short* v_from) const {
        const unsigned int lane = threadIdx.x & 31;
        unsigned int stage = 0, parity = 1, parity_q = 1;
#pragma unroll 1
        for (unsigned int turn = 0; turn * gridDim.x < Work::all(a); ++turn) {
            if (index_of_piece(turn) >= Work::all(a)) continue;
            const Work w(a, q_lengths, k_lengths, index_of_piece(turn));
            const unsigned int kv = w.at.head / a.group;
            if (!w.tiles) continue;
            wait_for_phase(empty_q, parity_q);
            parity_q ^= 1;
            if (lane == 0) {
                arrive_and_expect(full_q, Queries::BYTES);
                copy_tile<Queries>(queries, q, full_q, w.s.first_q + w.at.first, w.at.head, w.s.batch);
            }
            unsigned int stage_v = stage, parity_v = parity;
            int first = w.begin;
#pragma unroll 1
            for (int t = 0; t <= w.tiles; ++t, first += KEYS) {
                if (t < w.tiles) {
                    wait_for_phase(empty_k + 8 * stage, parity);
                    if (lane == 0) {
                        arrive_and_expect(full_k + 8 * stage, Keys::BYTES);
                        copy_tile<Keys>(keys + stage * Keys::BYTES, k, full_k + 8 * stage, w.s.first_k + first, kv, w.s.batch);
                    }
                    parity ^= stage;
                    stage ^= 1;
                }
                if (t == 0) continue;
                const int before = first - KEYS;
                const unsigned int to = values + stage_v * Keys::BYTES, barrier = full_v + 8 * stage_v;
                wait_for_phase(empty_v + 8 * stage_v, parity_v);
                parity_v ^= stage_v;
                stage_v ^= 1;
                if (a.lengths == LENGTHS_FULL || before + KEYS <= w.s.lk) {
                    if (lane == 0) {
                        arrive_and_expect(barrier, Keys::BYTES);
                        copy_tile<Keys>(to, v, barrier, w.s.first_k + before, kv, w.s.batch);
                    } else {
                        arrive(barrier);
                    }
                } else {
                    copy_rows<Keys>(to, v_from + place(a.v, w.s, w.s.first_k, before, kv), a.v.token, w.s.lk - before, a.head_dim);
                    finish_copies();
                    arrive(barrier);
                }
            }
        }
    }
    __device__ __forceinline__ void consume(const PackedDropping& drop, unsigned short* o, float* lse) const {
        unsigned int tile = 0, parity_q = 0;
#pragma unroll 1
        for (unsigned int turn = 0; turn * gridDim.x < Work::all(a); ++turn) {
            if (index_of_piece(turn) < Work::all(a)) finish(drop, Work(a, q_lengths, k_lengths, index_of_piece(turn)), tile, parity_q, o, lse);
        }
    }
    __device__ __forceinline__ void finish(const PackedDropping& drop, const Work& w, unsigned int& tile, unsigned int& parity_q, unsigned short* o, float* lse) const {
        const Sequence& s = w.s;
        const unsigned int lane = threadIdx.x & 31, group = threadIdx.x / 128, head = w.at.head;
        const int warp_row = w.at.first + (int)(threadIdx.x / 32) * 16, begin = w.begin, tiles = w.tiles;
        const float scale = a.scale * LOG2_E;
        const unsigned long long group_queries = describe(queries + group * 64 * 128, 16);
        float sums[DIM / 2], x[KEYS / 2], tops[2] = {minus_infinity(), minus_infinity()}, totals[2] = {}, factors[2];
        unsigned int p[KEYS / 16][4], bits[KEYS / 64];
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) x[i] = 0.0f;
        auto multiply_keys = [&](unsigned int t) {
            const unsigned long long right = describe(keys + t % STAGES * Keys::BYTES, 16);
#pragma unroll
            for (int step = 0; step < DIM / 16; ++step)
                multiply_tiles(T(), x, group_queries + (step / 4 * Queries::BLOCK + step % 4 * 32 >> 4), right + (step / 4 * Keys::BLOCK + step % 4 * 32 >> 4), step);
            commit_products();
        };
        auto multiply_values = [&](unsigned int t) {
            const unsigned long long right = describe(values + t % STAGES * Keys::BYTES, Keys::BLOCK);
#pragma unroll
            for (int step = 0; step < KEYS / 16; ++step) multiply_tile(T(), sums, p[step], right + (step * 16 * 128 >> 4));
            commit_products();
        };
        auto exponentials = [&](int first) {
            const int warp_last = min(warp_row + 16, s.lq) - 1;
            if (warp_last < warp_row || first + KEYS > end_key(a, s, warp_row) || first < first_key(a, s, warp_last)) {
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    const int i = warp_row + (int)(lane / 4) + half * 8, own = first + (int)(lane % 4) * 2, from = first_key(a, s, i) - own, to = end_key(a, s, i) - own;
#pragma unroll
                    for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                        for (int e = 0; e < 2; ++e)
                            if (n * 8 + e < from || n * 8 + e >= to) x[n * 4 + 2 * half + e] = minus_infinity();
                }
            }
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                float most = tops[half];
#pragma unroll
                for (int n = 0; n < KEYS / 8; ++n) most = fmaxf(most, fmaxf(x[n * 4 + 2 * half], x[n * 4 + 2 * half + 1]));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
                const float base = most == minus_infinity() ? 0.0f : most * scale;
                factors[half] = exp2_fast(tops[half] * scale - base);
                tops[half] = most;
                float total = 0.0f;
#pragma unroll
                for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const float y = exp2_fast(x[n * 4 + 2 * half + e] * scale - base);
                        x[n * 4 + 2 * half + e] = y;
                        total += y;
                    }
                totals[half] = totals[half] * factors[half] + total;
            }
        };
        auto draw_bits = [&](int first) {
            const int warp_last = max(min(warp_row + 16, s.lq) - 1, 0), from = first_key(a, s, warp_row), to = end_key(a, s, warp_last);
#pragma unroll
            for (int part = 0; part < (KEYS + 63) / 64; ++part) bits[part] = drop.of_queries(head, warp_row, first + 64 * part, from, to);
        };
        auto pack = [&]() {
#pragma unroll
            for (int n = 0; n < KEYS / 16; ++n)
#pragma unroll
                for (int r = 0; r < 4; ++r) p[n][r] = T::pack(x[n * 8 + 2 * r], x[n * 8 + 2 * r + 1]) & drop.pair(bits[n / 4], (2 * n + r / 2) % 8, r % 2);
        };
        auto await = [&](unsigned int barrier, unsigned int t) { wait_for_phase(barrier + 8 * (t % STAGES), t / STAGES & 1); };
        auto release = [&](unsigned int barrier, unsigned int t) {
            if (lane == 0) arrive(barrier + 8 * (t % STAGES));
        };
        if (tiles) {
            wait_for_phase(full_q, parity_q);
            if (DROPS) draw_bits(begin);
            await(full_k, tile);
            begin_products();
            multiply_keys(tile);
            wait_for_products<0>();
            pin(x);
            release(empty_k, tile);
            exponentials(begin);
            pack();
        }
#pragma unroll 1
        for (int t = 0; t < tiles - 1; ++t) {
            if (DROPS) draw_bits(begin + (t + 1) * KEYS);
            await(full_k, tile + t + 1);
            await(full_v, tile + t);
            begin_products();
            multiply_keys(tile + t + 1);
            multiply_values(tile + t);
            wait_for_products<1>();
            pin(x);
            release(empty_k, tile + t + 1);
            exponentials(begin + (t + 1) * KEYS);
            wait_for_products<0>();
            pin(sums);
            release(empty_v, tile + t);
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
#pragma unroll
                for (int e = 0; e < 4; ++e) sums[n * 4 + e] *= factors[e / 2];
            pack();
        }
        if (tiles) {
            if (lane == 0) arrive(empty_q);
            parity_q ^= 1;
            await(full_v, tile + tiles - 1);
            begin_products();
            multiply_values(tile + tiles - 1);
            wait_for_products<0>();
            pin(sums);
            release(empty_v, tile + tiles - 1);
        }
        tile += tiles;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = totals[half];
            total += __shfl_xor_sync(0xffffffffu, total, 1);
            total += __shfl_xor_sync(0xffffffffu, total, 2);
            const int i = warp_row + (int)(lane / 4) + half * 8;
            const bool exists = i < s.lq && total != 0.0f;
            if (i >= (int)a.q_len) continue;
            if (lane % 4 == 0) lse[row_of(a, w.at.b, head, i)] = exists ? tops[half] * a.scale + logf(total) : minus_infinity();
            if (i >= s.lq && a.lengths == LENGTHS_PACKED) continue;
            const float factor = exists ? drop.factor() / total : 0.0f;
            unsigned short* to = o + place(a.o, s, s.first_q, i, head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = exists ? T::pack(sums[n * 4 + 2 * half] * factor, sums[n * 4 + 2 * half + 1] * factor) : 0u;
        }
        __syncwarp();
    }
    static __device__ __forceinline__ void run(const AttentionArgs& a, const TensorMap& q, const TensorMap& k, const TensorMap& v, const unsigned short* v_from, const int* ql, const int* kl, const void* dropout, unsigned short* o, float* lse) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const HopperForward f(a, ql, kl, memory);
        const PackedDropping drop(a, dropout, sequence(a, ql, kl, FlashWork(a, a.heads, a.q_len, ROWS, true).b)); // with dropout, a block has one work item
        if (threadIdx.x == 0) {
            init_barrier(f.full_q, 1);
            init_barrier(f.empty_q, WARPS);
            for (int i = 0; i < STAGES; ++i) {
                init_barrier(f.full_k + 8 * i, 1);
                init_barrier(f.full_v + 8 * i, 32); // each lane of the producer warp
                init_barrier(f.empty_k + 8 * i, WARPS);
                init_barrier(f.empty_v + 8 * i, WARPS);
            }
            publish_barriers();
        }
        __syncthreads();
        if (threadIdx.x >= GROUPS * 128) {
            give_registers<FEWER>();
            if (threadIdx.x < GROUPS * 128 + 32) f.produce(q, k, v, v_from);
        } else {
            take_registers<MORE>();
            f.consume(drop, o, lse);
        }
    }
};
#endif
