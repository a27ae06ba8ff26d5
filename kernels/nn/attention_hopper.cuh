// The forward pass of attention on Hopper's tensor cores by wgmma, which read the right operands from shared memory once for
// four warps; otherwise as nn/attention_flash.cuh.
//
// A block takes 64 queries per warp group and passes over keys in tiles of 128. The products of queries and the next keys
// run while the exponentials of this tile are summed, those of probabilities and values while the next ones are computed:
//
//     issue x(t+1) = q k(t+1)    issue sums += p(t) v(t)    wait for x(t+1): maximum, p(t+1)    wait for sums: times factor
//
// In shared memory a tile is blocks of 64 elements: rows of 128 bytes whose 16-byte chunks are exchanged (exclusive or with
// the row's number), which wgmma knows as its swizzle of 128 bytes.
//
// Measured as there; cuDNN in the same minute: forward 672 TFLOP/s with heads of 128 elements and 467 with 64, backward 578 and 440.
//   forward    128: 431, causal 380; 64: 2 or 3 groups 324
//   backward   128: 307 (dQ 1.48 ms, dK and dV 3.00); 64: 202 (1.12, 2.28)
// With dropout of probabilities, µs of forward, dQ, dK and dV; a module of its own, whose draws precede the products of a tile:
//                                            16 x 1024, 12 heads of 64, causal   2 x 4096, 16 heads of 128
//   without dropout                                143  172  286                    817  935 1394
//   this                                           336  355  449                   1616 1754 2215
//   mma.sync                                       501  396  521                   2240 2615 3566
//   draws while products run                       335  372  451                   1676 1920 2481, and 32 bytes spill
//   rounds of Philox in a loop, by two and by one  351  378  461, 384 528 552
// 64 x 256 with 6 heads of 64 are as fast by mma.sync (63 64 86 against 65 66 84): what a draw costs is the product of 32 bits with
// an upper half. A multiplication of f64 for that half takes longer: 385 instead of 342 µs where nothing but draws is computed.
// The compiler makes products wait for each other where a wait is conditional: the last tile has code of its own.
#pragma once
#include "nn/attention_flash.cuh"
#include "nn/wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Of 16-bit elements, 64 x 64 or 64 x 128 products: of tiles in shared memory, both with adjacent k; and of a left
// operand in registers and a tile whose columns are adjacent. `d` is not read in the first step of a sum.
#define WGMMA(T, TYPE)                                                                                                              \
    __device__ __forceinline__ void multiply_tiles(T, float (&d)[64], unsigned long long a, unsigned long long b, int adds) {         \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " WGMMA_64   \
                     ", %64, %65, p, 1, 1, 0, 0; }" : WGMMA_D64 : "l"(a), "l"(b), "r"(adds));                                           \
    }                                                                                                                                \
    __device__ __forceinline__ void multiply_tiles(T, float (&d)[32], unsigned long long a, unsigned long long b, int adds) {         \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WGMMA_32    \
                     ", %32, %33, p, 1, 1, 0, 0; }" : WGMMA_D32 : "l"(a), "l"(b), "r"(adds));                                           \
    }                                                                                                                                \
    __device__ __forceinline__ void multiply_tile(T, float (&d)[64], const unsigned int (&a)[4], unsigned long long b) {             \
        asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32." TYPE "." TYPE " " WGMMA_64 ", {%64,%65,%66,%67}, %68, 1, 1, 1, 1;"   \
                     : WGMMA_D64 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                 \
    }                                                                                                                                \
    __device__ __forceinline__ void multiply_tile(T, float (&d)[32], const unsigned int (&a)[4], unsigned long long b) {             \
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WGMMA_32 ", {%32,%33,%34,%35}, %36, 1, 1, 1, 1;"    \
                     : WGMMA_D32 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                 \
    }
WGMMA(F16Pairs, "f16")
WGMMA(Bf16Pairs, "bf16")

// ROWS tokens' heads in blocks of 64 elements.
template <int ROWS, int DIM, int THREADS>
struct BlockTile {
    static constexpr int CHUNKS = DIM / 8, BYTES = ROWS * DIM * 2, PASS = THREADS / CHUNKS, BLOCK = ROWS * 128;

    static __device__ __forceinline__ void copy(unsigned int tile, const unsigned short* from, unsigned long long step, int rows, unsigned int head_dim) {
        const unsigned int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, bytes = chunk * 8 < head_dim ? 16 : 0;
        from += row * step + (bytes ? chunk * 8 : 0);
#pragma unroll
        for (int i = 0; i < (ROWS + PASS - 1) / PASS; ++i) {
            const unsigned int at = row + i * PASS;
            if (ROWS % PASS && at >= ROWS) break;
            const bool exists = (int)at < rows;
            copy_chunk(tile + chunk / 8 * BLOCK + at * 128 + (chunk % 8 ^ (at & 7)) * 16, exists ? from + i * PASS * step : from, exists ? bytes : 0);
        }
    }
};

template <class T, int DIM, int GROUPS>
struct HopperForward {
    static constexpr int ROWS = GROUPS * 64, KEYS = 128, THREADS = GROUPS * 128;
    typedef BlockTile<ROWS, DIM, THREADS> Queries;
    typedef BlockTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = Queries::BYTES + 4 * Keys::BYTES + 1024;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, unsigned short* o, float* lse) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const unsigned int queries = ((unsigned int)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024, keys = queries + Queries::BYTES, values = keys + 2 * Keys::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, true);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const PackedDropping drop(a, dropout, s);
        const unsigned int lane = threadIdx.x & 31, kv = work.head / a.group;
        const int warp_row = work.first + (int)(threadIdx.x / 32) * 16, last = min(work.first + ROWS, s.lq) - 1;
        const int begin = last >= work.first ? first_key(a, s, work.first) / KEYS * KEYS : 0, end = last >= work.first ? end_key(a, s, last) : 0;
        const unsigned short* keys_from = k + place(a.k, s, s.first_k, begin, kv);
        const unsigned short* values_from = v + place(a.v, s, s.first_k, begin, kv);
        const int tiles = begin < end ? (end - begin + KEYS - 1) / KEYS : 0;
        auto copy_keys = [&](int t) {
            if (t < tiles) Keys::copy(keys + (t & 1) * Keys::BYTES, keys_from + (unsigned long long)t * KEYS * a.k.token, a.k.token, s.lk - begin - t * KEYS, a.head_dim);
        };
        auto copy_values = [&](int t) {
            if (t < tiles) Keys::copy(values + (t & 1) * Keys::BYTES, values_from + (unsigned long long)t * KEYS * a.v.token, a.v.token, s.lk - begin - t * KEYS, a.head_dim);
        };
        const float scale = a.scale * LOG2_E;
        const unsigned long long group_queries = describe(queries + threadIdx.x / 128 * 64 * 128, 16);
        float sums[DIM / 2], x[KEYS / 2], tops[2] = {minus_infinity(), minus_infinity()}, totals[2] = {}, factors[2];
        unsigned int p[KEYS / 16][4], bits[KEYS / 64];
#pragma unroll
        for (int i = 0; i < DIM / 2; ++i) sums[i] = 0.0f;
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) x[i] = 0.0f;
        auto multiply_keys = [&](int t) {
            const unsigned long long tile = describe(keys + (t & 1) * Keys::BYTES, 16);
#pragma unroll
            for (int step = 0; step < DIM / 16; ++step) // 32 bytes of a block of 64 elements
                multiply_tiles(T(), x, group_queries + (step / 4 * Queries::BLOCK + step % 4 * 32 >> 4), tile + (step / 4 * Keys::BLOCK + step % 4 * 32 >> 4), step);
            commit_products();
        };
        // Maxima and probabilities of the tile in `x`, and what earlier sums are to be multiplied with.
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
            for (int part = 0; part < KEYS / 64; ++part) bits[part] = drop.of_queries(work.head, warp_row, first + 64 * part, from, to);
        };
        auto pack = [&]() {
#pragma unroll
            for (int n = 0; n < KEYS / 16; ++n)
#pragma unroll
                for (int r = 0; r < 4; ++r) p[n][r] = T::pack(x[n * 8 + 2 * r], x[n * 8 + 2 * r + 1]) & drop.pair(bits[n / 4], (2 * n + r / 2) % 8, r % 2);
        };

        if (tiles) {
            Queries::copy(queries, q + place(a.q, s, s.first_q, work.first, work.head), a.q.token, s.lq - work.first, a.head_dim);
            copy_keys(0);
            commit_copies();
            copy_keys(1);
            copy_values(0);
            commit_copies();
            wait_for_copies<1>();
            publish_copies();
            __syncthreads();
            begin_products();
            multiply_keys(0);
            draw_bits(begin);
            wait_for_products<0>();
            pin(x);
            exponentials(begin);
            pack();
        }
        auto multiply_values = [&](int t) {
            const unsigned long long tile = describe(values + (t & 1) * Keys::BYTES, Keys::BLOCK);
#pragma unroll
            for (int step = 0; step < KEYS / 16; ++step) multiply_tile(T(), sums, p[step], tile + (step * 16 * 128 >> 4));
            commit_products();
        };
        // k(t+1) and v(t) are there, k(t) and v(t-1) are free.
#pragma unroll 1
        for (int t = 0; t < tiles - 1; ++t) {
            wait_for_copies<0>();
            publish_copies();
            __syncthreads();
            copy_keys(t + 2);
            copy_values(t + 1);
            commit_copies();
            draw_bits(begin + (t + 1) * KEYS);
            begin_products();
            multiply_keys(t + 1);
            multiply_values(t);
            wait_for_products<1>();
            pin(x);
            exponentials(begin + (t + 1) * KEYS);
            wait_for_products<0>();
            pin(sums);
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
#pragma unroll
                for (int e = 0; e < 4; ++e) sums[n * 4 + e] *= factors[e / 2];
            pack();
        }
        if (tiles) {
            wait_for_copies<0>();
            publish_copies();
            __syncthreads();
            begin_products();
            multiply_values(tiles - 1);
            wait_for_products<0>();
            pin(sums);
        }
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float total = totals[half];
            total += __shfl_xor_sync(0xffffffffu, total, 1);
            total += __shfl_xor_sync(0xffffffffu, total, 2);
            const int i = warp_row + (int)(lane / 4) + half * 8;
            const bool exists = i < s.lq && total != 0.0f;
            if (i >= (int)a.q_len) continue;
            if (lane % 4 == 0) lse[row_of(a, work.b, work.head, i)] = exists ? tops[half] * a.scale + logf(total) : minus_infinity();
            if (i >= s.lq && a.lengths == LENGTHS_PACKED) continue;
            const float factor = exists ? drop.factor() / total : 0.0f;
            unsigned short* to = o + place(a.o, s, s.first_q, i, work.head) + lane % 4 * 2;
#pragma unroll
            for (int n = 0; n < DIM / 8; ++n)
                if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = exists ? T::pack(sums[n * 4 + 2 * half] * factor, sums[n * 4 + 2 * half + 1] * factor) : 0u;
        }
    }
};
#endif
