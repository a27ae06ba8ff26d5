// Dropout of probabilities: whether one is kept is a function of its address (src/nn/attention, "Dropout"). Four neighbouring
// keys of a query share a draw of ten rounds of Philox, about 100 instructions, so lanes that hold parts of the same four
// divide the draws among them and exchange bits. With DROPS false nothing of this is compiled.
#pragma once

#ifndef DROPS
#define DROPS false
#endif

#if DROPS
#include "common/philox.cuh"

struct Dropping {
    unsigned long long seed, step, first; // number of the draw of query 0, head 0, key 0
    unsigned int purpose, threshold, kept, heads, draws; // of a row
    float factor;

    __device__ __forceinline__ Dropping(const AttentionArgs& a, const void* from, const Sequence& s) {
        const DropoutStep d = *(const DropoutStep*)from;
        seed = d.seed, step = d.step, factor = d.factor, heads = a.heads, draws = (a.drop_keys + 3) / 4;
        first = (d.offset + (unsigned long long)s.batch * a.q_len + s.first_q) * heads * draws;
        purpose = DROPOUT | (a.drop_site & 0xffffu) << 8;
        threshold = (unsigned int)d.threshold, kept = d.threshold >> 32 ? 0 : 15; // a threshold of 2^32 keeps none
    }
    // Of four keys from `key` on, a multiple of four, the bits of those that are kept.
    __device__ __forceinline__ unsigned int four(unsigned int head, int query, int key) const {
        const unsigned long long at = first + ((unsigned long long)query * heads + head) * draws + (unsigned int)key / 4;
        const Words w = draw(seed, purpose | (unsigned int)(at >> 32) << 24, step, (unsigned int)at);
        return ((w.x >= threshold) | (w.y >= threshold) << 1 | (w.z >= threshold) << 2 | (w.w >= threshold) << 3) & kept;
    }
    __device__ __forceinline__ float factor_of(unsigned int head, int query, int key) const {
        return four(head, query, key & ~3) >> (key & 3) & 1 ? factor : 0.0f;
    }
    // Of products of m16n8 with rows that are queries: this lane's row of a strip from `query` on and the one eight below,
    // in tiles of eight keys from `key` on. Bit 4 n + e is that of element e in tile n.
    template <int TILES>
    __device__ __forceinline__ void of_queries(unsigned int (&bits)[2], unsigned int head, int query, int key) const {
        static_assert(TILES <= 8, "four bits of a tile");
        const unsigned int lane = threadIdx.x & 31, odd = lane & 1;
        unsigned int own = 0;
#pragma unroll 2
        for (int n = 0; n < TILES; ++n) own |= four(head, query + (int)(lane / 4 + odd * 8), key + 8 * n + (int)(lane & 2) * 2) << 4 * n;
        const unsigned int other = __shfl_xor_sync(0xffffffffu, own, 1);
        bits[0] = (odd ? other : own) >> 2 * odd;
        bits[1] = (odd ? own : other) >> 2 * odd;
    }
    // The same where rows are keys, from `key` on, and columns queries, from `query` on: bit 4 n of tile n, by half and element.
    template <int TILES>
    __device__ __forceinline__ void of_keys(unsigned int (&bits)[2][2], unsigned int head, int query, int key) const {
        static_assert(TILES <= 8, "four bits of a tile");
        const unsigned int lane = threadIdx.x & 31, member = lane >> 2 & 3;
        unsigned int own = 0;
#pragma unroll 2
        for (int n = 0; n < TILES; ++n)
            own |= four(head, query + 8 * n + (int)((lane & 3) * 2 + (member & 1)), key + (int)(8 * (member >> 1) + 4 * (lane >> 4))) << 4 * n;
#pragma unroll
        for (unsigned int from = 0; from < 4; ++from) bits[from >> 1][from & 1] = __shfl_sync(0xffffffffu, own, (lane & 0x13) | from << 2) >> member;
    }
};
#else
struct Dropping {
    static constexpr float factor = 1.0f;
    __device__ __forceinline__ Dropping(const AttentionArgs&, const void*, const Sequence&) {}
    __device__ __forceinline__ unsigned int four(unsigned int, int, int) const { return 15; }
    __device__ __forceinline__ float factor_of(unsigned int, int, int) const { return 1.0f; }
    template <int TILES>
    __device__ __forceinline__ void of_queries(unsigned int (&)[2], unsigned int, int, int) const {}
    template <int TILES>
    __device__ __forceinline__ void of_keys(unsigned int (&)[2][2], unsigned int, int, int) const {}
};
#endif
