// Attention on tensor cores by mma.sync m16n8k16, from compute capability 8.0 on (FlashAttention-2, arXiv:2307.08691).
//
// Forward: a block takes WARPS x MT x 16 queries of a head; each warp owns MT strips of 16 rows of logits, so that a
// row's maximum and sum need no other warp. Keys and values pass through shared memory in tiles of KEYS, copied by
// cp.async while the previous tile is multiplied. Probabilities move from the accumulators of the first product to the
// operands of the second in registers. Exponentials are base 2, with log2(e) in the scale.
//
// Backward, deterministic: one kernel takes 16 keys per warp and runs over queries, for dK and dV; one takes 16 queries
// per warp and runs over keys, for dQ. Both recompute logits from lse: 7 products instead of the 5 of a single kernel
// with atomic additions. The first works on transposed logits (keys are rows), so that its weights, too, stay in
// registers.
//
// In shared memory a row is a token's head, padded with zeros to DIM; its 16-byte chunks are swizzled (chunk XOR row),
// so that neither copies nor ldmatrix have bank conflicts.
//
// Measured on an H200, bf16, 16 heads, 8192 tokens, without a mask. FlashAttention-2 of PyTorch 2.11 in the same
// minute: forward 355 TFLOP/s with heads of 128 elements and 304 with 64, backward 295 and 272.
//   forward, 128   8 warps of 16 queries, 64 keys, queries stay 281 TFLOP/s; read again 262
//                  4 warps of 16 queries 273; 4 warps of 32 queries, 32 keys 277; 64 keys 298, but 128 bytes spill
//   forward, 64    4 warps of 32 queries, 64 keys 274; 32 keys 224; 8 warps of 16 queries, 128 keys 262; 4 warps of 16 254
//   dQ, 128        4 warps 2.70 ms; 8 warps 2.83        dK and dV, 128    4 warps 4.38 ms; 8 warps 4.78, keys stay 4.54
//   dQ, 64         4 warps 1.48 ms; 8 warps 1.57        dK and dV, 64     32 queries: 4 warps 2.76 ms, 8 warps 2.97; 64: 8 warps 2.61
//   backward       194 TFLOP/s with 128, 165 with 64
// A bias would cost the forward pass 40 registers and spill; only the naive variant supports it.
#pragma once
#include "nn/attention.cuh"
#include "nn/shared_memory.cuh"

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
// Copies `bytes` bytes and pads with zeros to four.
__device__ __forceinline__ void copy_four(unsigned int to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

// Tile in shared memory: ROWS tokens' heads of DIM elements.
template <int ROWS, int DIM, int THREADS>
struct HeadTile {
    static constexpr int CHUNKS = DIM / 8, BYTES = ROWS * DIM * 2, PASS = THREADS / CHUNKS;
    static_assert(THREADS % CHUNKS == 0 && ROWS % PASS == 0 && PASS % 8 == 0, "a thread's chunks have one place in their rows");

    static __device__ __forceinline__ unsigned int place(unsigned int row, unsigned int chunk) {
        return (row * CHUNKS + (chunk ^ (row & 7))) * 16;
    }
    // Copies `rows` rows of `head_dim` elements each, and pads with zeros.
    static __device__ __forceinline__ void copy(unsigned int tile, const unsigned short* from, unsigned long long step, int rows, unsigned int head_dim) {
        const unsigned int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        const unsigned int bytes = chunk * 8 < head_dim ? 16 : 0, to = tile + place(row, chunk);
        from += row * step + (bytes ? chunk * 8 : 0);
#pragma unroll
        for (int i = 0; i < ROWS / PASS; ++i) {
            const bool exists = (int)row + i * PASS < rows;
            copy_chunk(to + i * PASS * CHUNKS * 16, exists ? from + i * PASS * step : from, exists ? bytes : 0);
        }
    }
    // Loads the left operand: rows `first` to `first` + 15, elements 16 `step` to 16 `step` + 15.
    static __device__ __forceinline__ void left(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int step) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices(r, tile + place(first + (lane & 15), 2 * step + (lane >> 4)));
    }
    // Loads the right operand whose columns are rows of the tile: 16 rows from `first` on, two registers for each
    // eight.
    static __device__ __forceinline__ void right(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int step) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices(r, tile + place(first + (lane & 7) + (lane >> 4) * 8, 2 * step + (lane >> 3 & 1)));
    }
    // Loads the right operand whose rows are rows of the tile: 16 rows from `first` on, 16 elements from `column` on,
    // two registers for each eight.
    static __device__ __forceinline__ void right_by_rows(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int column) {
        const unsigned int lane = threadIdx.x & 31;
        load_matrices_transposed(r, tile + place(first + (lane & 15), column / 8 + (lane >> 4)));
    }
};

// Converts a 16 x 16 accumulator to a left operand.
template <class T>
__device__ __forceinline__ void to_left(unsigned int (&r)[4], const float (&low)[4], const float (&high)[4]) {
    r[0] = T::pack(low[0], low[1]);
    r[1] = T::pack(low[2], low[3]);
    r[2] = T::pack(high[0], high[1]);
    r[3] = T::pack(high[2], high[3]);
}

// Head and tile of this block's work item, if there is one. Causal attention starts with the tiles that have most
// partners, for as many heads as fit their keys and values into 24 MB of L2 cache, so that no long block starts last.
// On an H200, of attention to all keys (32, 24, 16, 8 MB): heads of 128, 4096 tokens 0.62, 0.54, 0.58, 0.59 of its
// time, 8192 tokens 0.56, 0.60, 0.59, 0.56; of 64, 4096 tokens 0.59, 0.54, 0.56, 0.59; 16 x 1024 tokens of 12 heads of
// 64 175 instead of 187 us.
struct FlashWork {
    unsigned int b, head;
    int first;
    __device__ __forceinline__ FlashWork(const AttentionArgs& a, unsigned int heads, unsigned int len, unsigned int tile, bool last_first, unsigned int index = blockIdx.x) {
        const unsigned int tiles = (len + tile - 1) / tile;
        unsigned int at = index % tiles, unit = index / tiles;
        if (a.causal) {
            const unsigned int units = heads * a.batch, fitting = (unsigned int)min((24ull << 20) / (4ull * a.k_len * a.head_dim + 1), 1ull << 20);
            const unsigned int section = min(max(fitting, 1u), units), start = index / (section * tiles) * section;
            const unsigned int here = min(section, units - start), inside = index - start * tiles;
            at = last_first ? tiles - 1 - inside / here : inside / here;
            unit = start + inside % here;
        }
        first = (int)(at * tile);
        head = unit % heads;
        b = unit / heads;
    }
};

// Forward pass. QUERIES_STAY: whether queries stay in registers as operands, instead of being read again for each tile
// of keys.
template <class T, int DIM, int WARPS, int MT, int KEYS, bool QUERIES_STAY>
struct FlashForward {
    static constexpr int ROWS = WARPS * MT * 16, THREADS = WARPS * 32, STEPS = DIM / 16;
    typedef HeadTile<ROWS, DIM, THREADS> Queries;
    typedef HeadTile<KEYS, DIM, THREADS> Keys;
    static constexpr int BYTES = Queries::BYTES + 4 * Keys::BYTES;

    static __device__ __forceinline__ void run(const AttentionArgs& a, const unsigned short* q, const unsigned short* k, const unsigned short* v, const int* q_lengths, const int* k_lengths, const void* dropout, unsigned short* o, float* lse) {
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int queries = (unsigned int)__cvta_generic_to_shared(memory), ring = queries + Queries::BYTES;
        const FlashWork work(a, a.heads, a.q_len, ROWS, true);
        const Sequence s = sequence(a, q_lengths, k_lengths, work.b);
        const Dropping drop(a, dropout, s);
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
            // Whether any key of this tile is masked for a query of this warp.
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
            if (DROPS) {
#pragma unroll
                for (int m = 0; m < MT; ++m) {
                    unsigned int bits[2] = {};
                    drop.of_queries<KEYS / 8>(bits, work.head, warp_row + m * 16, first);
#pragma unroll
                    for (int half = 0; half < 2; ++half)
#pragma unroll
                        for (int n = 0; n < KEYS / 8; ++n)
#pragma unroll
                            for (int e = 0; e < 2; ++e)
                                if (!(bits[half] >> (4 * n + e) & 1)) x[m][n][2 * half + e] = 0.0f;
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
                const float factor = exists ? drop.factor / total : 0.0f;
                unsigned short* to = o + place(a.o, s, s.first_q, i, work.head) + lane % 4 * 2;
#pragma unroll
                for (int n = 0; n < DIM / 8; ++n)
                    if (n * 8 < a.head_dim) *(unsigned int*)(to + n * 8) = exists ? T::pack(sums[m][n][2 * half] * factor, sums[m][n][2 * half + 1] * factor) : 0u;
            }
    }
};
#endif
