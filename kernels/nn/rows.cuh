// Rows of f32, f16 or bf16 in packs of 16 bytes, and sums over the threads of a row. Kernels that include it define `T`, the
// type of the elements, first; they compute in f32.
//
// A row has blockDim.x threads, a multiple of 32: either a whole block (blockDim.y = 1), or a warp of a block that has one row
// per warp (blockDim.x = 32). Thread t has packs t, t + blockDim.x, …; the first KEPT of them stay in its registers between the
// passes over a row. A pack is one access where it is whole and the rows are aligned, else it is read element by element: the
// same elements belong to the same thread in the same order, so that alignment changes no bit.
#pragma once
#include "common/elements.cuh"

typedef unsigned long long u64;

__device__ __forceinline__ float to_float(float x) { return x; }
template <class To> __device__ __forceinline__ To from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ f16 from_float<f16>(float x) { return to_f16(x); }
template <> __device__ __forceinline__ bf16 from_float<bf16>(float x) { return to_bf16(x); }

// Elements of a pack, and packs of a row that a thread keeps: 8 numbers, unless the kernels keep packs as they are read.
constexpr unsigned int PACK = 16 / sizeof(T);
#ifdef KEPT_PACKS
constexpr unsigned int KEPT = KEPT_PACKS;
#else
constexpr unsigned int KEPT = 8 / PACK;
#endif

// Elements i to i + PACK of n; those beyond are 0.
template <class E>
__device__ __forceinline__ void read_pack(const E* from, u64 i, u64 n, bool is_aligned, float (&x)[PACK]) {
    if (is_aligned && i + PACK <= n) {
        alignas(16) E all[PACK];
#pragma unroll
        for (unsigned int part = 0; part < sizeof(all) / 16; ++part) ((uint4*)all)[part] = ((const uint4*)(from + i))[part];
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) x[e] = to_float(all[e]);
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) x[e] = i + e < n ? to_float(from[i + e]) : 0.0f;
    }
}

template <class E>
__device__ __forceinline__ void write_pack(E* to, u64 i, u64 n, bool is_aligned, const float (&x)[PACK]) {
    if (is_aligned && i + PACK <= n) {
        alignas(16) E all[PACK];
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) all[e] = from_float<E>(x[e]);
#pragma unroll
        for (unsigned int part = 0; part < sizeof(all) / 16; ++part) ((uint4*)(to + i))[part] = ((const uint4*)all)[part];
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) if (i + e < n) to[i + e] = from_float<E>(x[e]);
    }
}

// A pack as it is in memory: it takes four registers, and the thread waits for it only when it is unpacked.
struct Raw { unsigned int words[4]; };

__device__ __forceinline__ unsigned int bits_of(float x) { return (unsigned int)__float_as_int(x); }
__device__ __forceinline__ unsigned int bits_of(f16 x) { return x.bits; }
__device__ __forceinline__ unsigned int bits_of(bf16 x) { return x.bits; }
__device__ __forceinline__ float from_bits(unsigned int bits, float) { return __int_as_float((int)bits); }
__device__ __forceinline__ float from_bits(unsigned int bits, f16) { return to_float(f16{(unsigned short)bits}); }
__device__ __forceinline__ float from_bits(unsigned int bits, bf16) { return to_float(bf16{(unsigned short)bits}); }

// Elements of a word, and bits of an element.
constexpr unsigned int PER_WORD = PACK / 4, BITS = 8 * sizeof(T);

// Elements i to i + PACK of n; those beyond are 0.
__device__ __forceinline__ Raw read_raw(const T* from, u64 i, u64 n, bool is_aligned) {
    Raw raw = {};
    if (is_aligned && i + PACK <= n) {
        const uint4 all = *(const uint4*)(from + i);
        raw = {{all.x, all.y, all.z, all.w}};
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e)
            if (i + e < n) raw.words[e / PER_WORD] |= bits_of(from[i + e]) << (e % PER_WORD * BITS);
    }
    return raw;
}

__device__ __forceinline__ void unpack(const Raw& raw, float (&x)[PACK]) {
#pragma unroll
    for (unsigned int e = 0; e < PACK; ++e) x[e] = from_bits(raw.words[e / PER_WORD] >> (e % PER_WORD * BITS), T{});
}

// Calls f(c, i) for each pack of this thread that has a place in its registers.
template <class F>
__device__ __forceinline__ void each_kept(unsigned int n, F f) {
#pragma unroll
    for (unsigned int c = 0; c < KEPT; ++c) {
        const unsigned int i = (c * blockDim.x + threadIdx.x) * PACK;
        if (i < n) f(c, i);
    }
}

// Calls f(c, i) for each pack of this thread, from element i on; c is its place in the registers, KEPT for all that have none.
template <class F>
__device__ __forceinline__ void each_pack(unsigned int n, F f) {
    each_kept(n, f);
#pragma unroll 1
    for (unsigned int i = (KEPT * blockDim.x + threadIdx.x) * PACK; i < n; i += blockDim.x * PACK) f(KEPT, i);
}

// First row of this thread, and the distance to its next.
__device__ __forceinline__ u64 first_row() { return (u64)blockIdx.x * blockDim.y + threadIdx.y; }
__device__ __forceinline__ u64 row_step() { return (u64)gridDim.x * blockDim.y; }

// First pack of this thread in a buffer, and the distance to its next.
__device__ __forceinline__ u64 first_pack() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ __forceinline__ u64 pack_step() { return (u64)gridDim.x * blockDim.x; }

constexpr unsigned int ALL_LANES = 0xffffffffu, MAX_WARPS = 32;

struct Sum {
    static constexpr float NONE = 0.0f;
    __device__ static float of(float a, float b) { return a + b; }
};

struct Largest {
    static constexpr float NONE = -3.402823466e38f; // of a warp that is not there; the threads' own values may be -infinity
    __device__ static float of(float a, float b) { return fmaxf(a, b); }
};

template <class Op, int N>
__device__ __forceinline__ void reduce_warp(float (&x)[N]) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2)
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = Op::of(x[i], __shfl_xor_sync(ALL_LANES, x[i], offset));
}

// N sums (or maxima) over the threads of a row, for all of them. A block of several warps has one slot per warp, of any number
// of warps; all of its threads call this the same number of times.
template <class Op, int N>
__device__ __forceinline__ void reduce_row(float (&x)[N], float (*slots)[MAX_WARPS]) {
    reduce_warp<Op>(x);
    if (blockDim.x == 32) return; // a warp per row; the same for all threads of the grid
    const unsigned int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    __syncthreads(); // the slots of an earlier call have been read
    if (lane == 0)
#pragma unroll
        for (int i = 0; i < N; ++i) slots[i][threadIdx.x / 32] = x[i];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = lane < warps ? slots[i][lane] : Op::NONE;
    reduce_warp<Op>(x);
}
