// Rotary positions. `T` is defined by the file that includes this.
#pragma once
#include "nn/groups.cuh"

// Rotates a pair by an angle given as cosine and sine.
__device__ inline void turn(float& a, float& b, float cos, float sin) {
    const float x = a, y = b;
    a = x * cos - y * sin;
    b = x * sin + y * cos;
}

// Loads the angles of two pairs in a group, 8 bytes each.
__device__ inline float2 two(const float* table, bool aligned) {
    return aligned ? *(const float2*)table : float2{table[0], table[1]};
}

// One warp per token, 16 bytes per access: one group of neighbouring pairs, or one group of each half.
template <bool HALVES>
__device__ inline void rotate_token(const RopeArgs& g, const float* cos, const float* sin, T* token, unsigned int lane) {
    constexpr unsigned int PAIRS = HALVES ? Group<T>::N : Group<T>::N / 2;
    const float sign = g.inverse ? -1.0f : 1.0f;
    const unsigned int half = g.head_dim / 2, groups = (half + PAIRS - 1) / PAIRS, items = g.heads * groups;
    for (unsigned int item = lane; item < items; item += 32) {
        const unsigned int head = item / groups, pair = item % groups * PAIRS;
        const unsigned int n = half - pair < PAIRS ? half - pair : PAIRS;
        T* at = token + (unsigned long long)head * g.head_dim;
        if (HALVES) {
            Group<T> a = Group<T>::load(at + pair, n, g.aligned), b = Group<T>::load(at + half + pair, n, g.aligned);
#pragma unroll
            for (unsigned int i = 0; i < PAIRS; i += 2) {
                if (i + 1 < n) {
                    const float2 c = two(cos + pair + i, g.aligned), s = two(sin + pair + i, g.aligned);
                    turn(a.x[i], b.x[i], c.x, s.x * sign);
                    turn(a.x[i + 1], b.x[i + 1], c.y, s.y * sign);
                } else if (i < n) {
                    turn(a.x[i], b.x[i], cos[pair + i], sin[pair + i] * sign);
                }
            }
            a.store(at + pair, n, g.aligned);
            b.store(at + half + pair, n, g.aligned);
        } else {
            Group<T> x = Group<T>::load(at + 2 * pair, 2 * n, g.aligned);
#pragma unroll
            for (unsigned int i = 0; i < PAIRS; i += 2) {
                if (i + 1 < n) {
                    const float2 c = two(cos + pair + i, g.aligned), s = two(sin + pair + i, g.aligned);
                    turn(x.x[2 * i], x.x[2 * i + 1], c.x, s.x * sign);
                    turn(x.x[2 * i + 2], x.x[2 * i + 3], c.y, s.y * sign);
                } else if (i < n) {
                    turn(x.x[2 * i], x.x[2 * i + 1], cos[pair + i], sin[pair + i] * sign);
                }
            }
            x.store(at + 2 * pair, 2 * n, g.aligned);
        }
    }
}

extern "C" __global__ void rotate_heads(RopeArgs g, const float* __restrict__ cos, const float* __restrict__ sin,
                                        const void* position_ids, void* x, unsigned int* __restrict__ flag) {
    const unsigned int lane = threadIdx.x & 31;
    const unsigned long long warps = (unsigned long long)gridDim.x * (blockDim.x / 32);
    for (unsigned long long i = (unsigned long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < g.tokens; i += warps) {
        const unsigned long long position =
            position_ids != nullptr ? ((const unsigned int*)position_ids)[i] : g.offset + i % g.seq_len;
        if (position >= g.len) {
            if (lane == 0) raise_flag(flag, i);
            continue;
        }
        const float *c = cos + position * (g.head_dim / 2), *s = sin + position * (g.head_dim / 2);
        T* token = (T*)x + i * g.stride;
        if (g.halves) rotate_token<true>(g, c, s, token, lane);
        else rotate_token<false>(g, c, s, token, lane);
    }
}
