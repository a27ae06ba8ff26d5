// Groups of 16 bytes of f32, f16 or bf16 as floats. If a row is not aligned, or ends inside a group, elements are
// accessed one by one in the same groups, so results have the same bits.
#pragma once
#include "nn/narrow.cuh"

__device__ inline float to_float(float x) { return x; }

template <class T> __device__ inline T rounded(float x);
template <> __device__ inline float rounded<float>(float x) { return x; }
template <> __device__ inline f16 rounded<f16>(float x) { return to_f16(x); }
template <> __device__ inline bf16 rounded<bf16>(float x) { return narrow(x); }

template <class T>
struct Group {
    static constexpr unsigned int N = 16 / sizeof(T);
    float x[N];

    // `n` elements, of which an aligned group has all N; the others are `missing`.
    __device__ static inline Group load(const T* from, unsigned int n, bool aligned, float missing = 0.0f) {
        Group g;
        if (aligned) {
            union { uint4 bits; T x[N]; } all;
            all.bits = *(const uint4*)from;
#pragma unroll
            for (unsigned int i = 0; i < N; ++i) g.x[i] = to_float(all.x[i]);
        } else {
#pragma unroll
            for (unsigned int i = 0; i < N; ++i) g.x[i] = i < n ? to_float(from[i]) : missing;
        }
        return g;
    }

    __device__ inline void store(T* to, unsigned int n, bool aligned) const {
        if (aligned) {
            unsigned int words[4];
#pragma unroll
            for (unsigned int i = 0; i < 4; ++i) words[i] = narrow_two(x[i * N / 4], x[i * N / 4 + N / 4 - 1], T{});
            *(uint4*)to = make_uint4(words[0], words[1], words[2], words[3]);
        } else {
#pragma unroll
            for (unsigned int i = 0; i < N; ++i)
                if (i < n) to[i] = rounded<T>(x[i]);
        }
    }

    __device__ inline void add(const Group& other) {
#pragma unroll
        for (unsigned int i = 0; i < N; ++i) x[i] += other.x[i];
    }

    __device__ inline void clear() {
#pragma unroll
        for (unsigned int i = 0; i < N; ++i) x[i] = 0.0f;
    }

    // Adds the floats to f32 memory, or writes them there.
    __device__ inline void add_to(float* to, unsigned int n, bool aligned) const {
        each_four(to, n, aligned, [](float old, float x) { return old + x; });
    }
    __device__ inline void write(float* to, unsigned int n, bool aligned) const {
        each_four(to, n, aligned, [](float, float x) { return x; });
    }
    __device__ static inline Group read(const float* from, unsigned int n, bool aligned) {
        Group g;
#pragma unroll
        for (unsigned int i = 0; i < N; i += 4) {
            if (aligned) {
                const float4 v = *(const float4*)(from + i);
                g.x[i] = v.x, g.x[i + 1] = v.y, g.x[i + 2] = v.z, g.x[i + 3] = v.w;
            } else {
#pragma unroll
                for (unsigned int j = i; j < i + 4; ++j) g.x[j] = j < n ? from[j] : 0.0f;
            }
        }
        return g;
    }

private:
    template <class F>
    __device__ inline void each_four(float* to, unsigned int n, bool aligned, F f) const {
#pragma unroll
        for (unsigned int i = 0; i < N; i += 4) {
            if (aligned) {
                float4 v = *(float4*)(to + i);
                v = {f(v.x, x[i]), f(v.y, x[i + 1]), f(v.z, x[i + 2]), f(v.w, x[i + 3])};
                *(float4*)(to + i) = v;
            } else {
#pragma unroll
                for (unsigned int j = i; j < i + 4; ++j)
                    if (j < n) to[j] = f(to[j], x[j]);
            }
        }
    }
};

// Records the first place at which a value is out of range; 0 means none.
__device__ inline void raise_flag(unsigned int* flag, unsigned long long place) {
    const unsigned int most = 0xfffffffeu;
    atomicMax(flag, 0xffffffffu - (unsigned int)(place < most ? place : most));
}
