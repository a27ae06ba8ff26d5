// Dropout. src/nn/dropout/mod.rs documents the address of a draw. Bound by memory, and by ten rounds of Philox per four
// elements.
#pragma once
#include "gen/nn-dropout.cuh"
#include "common/philox.cuh"
#include "nn/rows.cuh"

// Random words of elements 4 i to 4 i + 3.
__device__ __forceinline__ Words words_of(const DropoutStep& s, unsigned int site, u64 i) {
    return draw(s.seed, DROPOUT | (site & 0xffffu) << 8 | (unsigned int)(i >> 32) << 24, s.step, (unsigned int)i);
}

// Applies dropout to the elements of a pack. Four neighbours share a draw, unless the first element is in the middle of
// one: then each element takes its own draw.
__device__ __forceinline__ void drop_pack(const DropoutStep& s, unsigned int site, u64 pack, float (&v)[PACK]) {
    const u64 first = s.offset + pack * PACK;
    if (s.offset % 4 == 0) {
#pragma unroll
        for (unsigned int part = 0; part < PACK / 4; ++part) {
            const Words w = words_of(s, site, first / 4 + part);
            const unsigned int words[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
            for (unsigned int e = 0; e < 4; ++e) v[4 * part + e] = words[e] >= s.threshold ? v[4 * part + e] * s.factor : 0.0f;
        }
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            const Words w = words_of(s, site, (first + e) / 4);
            const unsigned int at = (first + e) % 4, word = at == 0 ? w.x : at == 1 ? w.y : at == 2 ? w.z : w.w;
            v[e] = word >= s.threshold ? v[e] * s.factor : 0.0f;
        }
    }
}

extern "C" __global__ void drop_elements(u64 n, unsigned int site, unsigned int is_aligned, const DropoutStep* step, void* x) {
    const DropoutStep s = *step;
    if (s.threshold == 0) return;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
        drop_pack(s, site, pack, v);
        write_pack((T*)x, pack * PACK, n, is_aligned, v);
    }
}

// Returns the bits of drop_elements followed by add_elements: the result of dropout is rounded before it is added.
extern "C" __global__ void add_dropped(u64 n, unsigned int site, unsigned int is_aligned, const DropoutStep* step, const void* x, const void* residual, void* y) {
    const DropoutStep s = *step;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK], r[PACK] = {};
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
        if (residual) read_pack((const T*)residual, pack * PACK, n, is_aligned, r);
        drop_pack(s, site, pack, v);
        if (residual) {
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) v[e] = r[e] + to_float(from_float<T>(v[e]));
        }
        write_pack((T*)y, pack * PACK, n, is_aligned, v);
    }
}
