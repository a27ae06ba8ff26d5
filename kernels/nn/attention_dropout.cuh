// Dropout of probabilities. Whether a probability is kept is a function of its address (src/nn/attention, "Dropout").
// Four neighbouring keys of a query share a draw of ten rounds of Philox, about 100 instructions, so lanes with parts
// of the same four keys divide the draws and exchange bits. With DROPS false none of this is compiled.
#pragma once

#ifndef DROPS
#define DROPS false
#endif

#if DROPS
#include "common/philox.cuh"

struct Dropping {
    unsigned long long seed, step, first; // index of the draw for query 0, head 0, key 0
    unsigned int purpose, threshold, kept, heads, draws; // draws: number of draws per row
    float factor;

    __device__ __forceinline__ Dropping(const AttentionArgs& a, const void* from, const Sequence& s) {
        const DropoutStep d = *(const DropoutStep*)from;
        seed = d.seed, step = d.step, factor = d.factor, heads = a.heads, draws = (a.drop_keys + 3) / 4;
        first = (d.offset + (unsigned long long)s.batch * a.q_len + s.first_q) * heads * draws;
        purpose = DROPOUT | (a.drop_site & 0xffffu) << 8;
        threshold = (unsigned int)d.threshold, kept = d.threshold >> 32 ? 0 : 15; // a threshold of 2^32 keeps none
    }
    // Bits of the kept probabilities among four keys from `key` on, a multiple of four.
    __device__ __forceinline__ unsigned int four(unsigned int head, int query, int key) const {
        const unsigned long long at = first + ((unsigned long long)query * heads + head) * draws + (unsigned int)key / 4;
        const Words w = draw(seed, purpose | (unsigned int)(at >> 32) << 24, step, (unsigned int)at);
        return ((w.x >= threshold) | (w.y >= threshold) << 1 | (w.z >= threshold) << 2 | (w.w >= threshold) << 3) & kept;
    }
    __device__ __forceinline__ float factor_of(unsigned int head, int query, int key) const {
        return four(head, query, key & ~3) >> (key & 3) & 1 ? factor : 0.0f;
    }
    // Bits for m16n8 products whose rows are queries: this lane's row of a strip from `query` on and the row eight
    // below, in tiles of eight keys from `key` on. Bit 4 n + e belongs to element e of tile n.
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
    // Bits for products whose rows are keys from `key` on and whose columns are queries from `query` on: bit 4 n of
    // tile n, by half and element.
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

// Variant for wgmma, whose accumulators leave few registers: block constants are in shared memory, which the threads
// read again after each barrier, and the bits of eight tiles of eight columns form a word. Bit n of byte 2 h + e
// belongs to element e of tile n, in row lane / 4 + 8 h.
#if DROPS
struct PackedDropping {
    const Dropping& shared;

    // Must be called before the first barrier of a block.
    __device__ __forceinline__ PackedDropping(const AttentionArgs& a, const void* from, const Sequence& s) : shared(place()) {
        if (threadIdx.x == 0) place() = Dropping(a, from, s);
    }
    static __device__ __forceinline__ Dropping& place() {
        __shared__ __align__(16) unsigned char bytes[sizeof(Dropping)];
        return *(Dropping*)bytes;
    }
    __device__ __forceinline__ float factor() const { return shared.factor; }
    // Evaluates draws `at`, `at` + `step`, … of philox4x32 together with one key schedule. Bit n of byte j: whether
    // word j of draw n is kept.
    template <int N>
    static __device__ __forceinline__ unsigned int draws(const Dropping& d, unsigned long long at, unsigned long long step) {
        Words c[N];
        unsigned int k0 = (unsigned int)d.seed, k1 = (unsigned int)(d.seed >> 32), bits = 0;
#pragma unroll
        for (int n = 0; n < N; ++n, at += step) c[n] = {(unsigned int)at, d.purpose | (unsigned int)(at >> 32) << 24, (unsigned int)d.step, (unsigned int)(d.step >> 32)};
#pragma unroll
        for (int round = 0; round < 10; ++round) {
#pragma unroll
            for (int n = 0; n < N; ++n) {
                const unsigned long long p0 = 0xD2511F53ull * c[n].x, p1 = 0xCD9E8D57ull * c[n].z;
                c[n] = {(unsigned int)(p1 >> 32) ^ c[n].y ^ k0, (unsigned int)p1, (unsigned int)(p0 >> 32) ^ c[n].w ^ k1, (unsigned int)p0};
            }
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
#pragma unroll
        for (int n = 0; n < N; ++n) {
            if (c[n].x >= d.threshold) bits |= 1u << n;
            if (c[n].y >= d.threshold) bits |= 0x100u << n;
            if (c[n].z >= d.threshold) bits |= 0x10000u << n;
            if (c[n].w >= d.threshold) bits |= 0x1000000u << n;
        }
        return d.kept ? bits : 0;
    }
    // Bits of eight tiles, of which only the first or last four may be needed.
    static __device__ __forceinline__ unsigned int eight(const Dropping& d, unsigned long long at, unsigned long long step, bool first, bool last) {
        unsigned int bits = 0;
        if (first) bits = draws<4>(d, at, step);
        if (last) bits |= draws<4>(d, at + 4 * step, step) << 4;
        return bits;
    }
    // Rows are queries from `query` on; columns are keys from `key` on, of which `from` to `to` are seen by any of the
    // rows.
    __device__ __forceinline__ unsigned int of_queries(unsigned int head, int query, int key, int from, int to) const {
        const Dropping d = shared;
        const unsigned int lane = threadIdx.x & 31, odd = lane & 1;
        const unsigned long long row = (unsigned long long)(query + (int)(lane / 4 + odd * 8)) * d.heads + head;
        const unsigned int own = eight(d, d.first + row * d.draws + ((unsigned int)key / 4 + (lane >> 1 & 1)), 2, key < to && key + 32 > from, key + 32 < to && key + 64 > from);
        const unsigned int other = __shfl_xor_sync(0xffffffffu, own, 1);
        return odd ? permute(other, own, 0x7632) : permute(own, other, 0x5410);
    }
    // Rows are keys; columns are queries, of which `from` to `to` see any of the rows.
    __device__ __forceinline__ unsigned int of_keys(unsigned int head, int query, int key, int from, int to) const {
        const Dropping d = shared;
        const unsigned int lane = threadIdx.x & 31, member = lane >> 2 & 3;
        const unsigned long long row = (unsigned long long)(query + (int)((lane & 3) * 2 + (member & 1))) * d.heads + head;
        const unsigned int four = (unsigned int)key / 4 + 2 * (member >> 1) + (lane >> 4);
        const unsigned int own = eight(d, d.first + row * d.draws + four, 8ull * d.heads * d.draws, query < to && query + 32 > from, query + 32 < to && query + 64 > from);
        // Byte f of member m is byte m of member f.
        unsigned int other = __shfl_xor_sync(0xffffffffu, own, 8);
        const unsigned int both = permute(own, other, member & 2 ? 0x3276 : 0x5410);
        other = __shfl_xor_sync(0xffffffffu, both, 4);
        return permute(both, other, member & 1 ? 0x3715 : 0x6240);
    }
    // Masks of a tile, all ones where an element is kept: a pair of 16 bits, and one of 32.
    static __device__ __forceinline__ unsigned int pair(unsigned int bits, int tile, int half) { return permute(bits << (7 - tile), 0, half ? 0xbbaa : 0x9988); }
    static __device__ __forceinline__ unsigned int one(unsigned int bits, int tile, int half, int e) { return permute(bits << (7 - tile), 0, 0x8888 + 0x1111 * (2 * half + e)); }
    // Bytes of two words; 8 and more are the sign of byte - 8.
    static __device__ __forceinline__ unsigned int permute(unsigned int low, unsigned int high, unsigned int bytes) {
        unsigned int out;
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(out) : "r"(low), "r"(high), "r"(bytes));
        return out;
    }
};
#else
struct PackedDropping {
    __device__ __forceinline__ PackedDropping(const AttentionArgs&, const void*, const Sequence&) {}
    static __device__ __forceinline__ float factor() { return 1.0f; }
    static __device__ __forceinline__ unsigned int of_queries(unsigned int, int, int, int, int) { return 0; }
    static __device__ __forceinline__ unsigned int of_keys(unsigned int, int, int, int, int) { return 0; }
    static __device__ __forceinline__ unsigned int pair(unsigned int, int, int) { return ~0u; }
    static __device__ __forceinline__ unsigned int one(unsigned int, int, int, int) { return ~0u; }
};
#endif
