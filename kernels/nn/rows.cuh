// Rows of f32, f16 or bf16 in packs of 16 bytes, and sums over the threads of a row. Kernels define the element type
// `T` before including it; they compute in f32.
//
// A row has blockDim.x threads, a multiple of 32: either a whole block (blockDim.y = 1), or a warp of a block that has
// one row per warp (blockDim.x = 32). Thread t has packs t, t + blockDim.x, …; the first KEPT of them stay in its
// registers between the passes over a row. A whole pack of an aligned row is one access; otherwise it is read element
// by element. A thread processes the same elements in the same order in both cases, so alignment changes no bits.
#pragma once
#include "nn/narrow.cuh"

typedef unsigned long long u64;

__device__ __forceinline__ float to_float(float x) { return x; }
template <class To> __device__ __forceinline__ To from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ f16 from_float<f16>(float x) { return to_f16(x); }
template <> __device__ __forceinline__ bf16 from_float<bf16>(float x) { return narrow(x); }

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

__device__ __forceinline__ unsigned int bits_of(float x) { return (unsigned int)__float_as_int(x); }
__device__ __forceinline__ unsigned int bits_of(f16 x) { return x.bits; }
__device__ __forceinline__ unsigned int bits_of(bf16 x) { return x.bits; }

template <class E>
__device__ __forceinline__ void write_pack(E* to, u64 i, u64 n, bool is_aligned, const float (&x)[PACK]) {
    if (is_aligned && i + PACK <= n) {
        alignas(16) unsigned int words[PACK * sizeof(E) / 4];
#pragma unroll
        for (unsigned int e = 0; e < PACK; e += 4 / sizeof(E)) {
            words[e * sizeof(E) / 4] = narrow_two(x[e], x[e + 4 / sizeof(E) - 1], E{});
        }
#pragma unroll
        for (unsigned int part = 0; part < sizeof(words) / 16; ++part) ((uint4*)(to + i))[part] = ((const uint4*)words)[part];
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) if (i + e < n) to[i + e] = from_float<E>(x[e]);
    }
}

// A pack as it is in memory: it takes four registers, and the thread waits for it only when it is unpacked.
struct Raw { unsigned int words[4]; };

__device__ __forceinline__ float from_bits(unsigned int bits, float) { return __int_as_float((int)bits); }
__device__ __forceinline__ float from_bits(unsigned int bits, f16) { return to_float(f16{(unsigned short)bits}); }
__device__ __forceinline__ float from_bits(unsigned int bits, bf16) { return to_float(bf16{(unsigned short)bits}); }

// Elements of a word, and bits of an element.
constexpr unsigned int PER_WORD = PACK / 4, BITS = 8 * sizeof(T);

// A whole pack that is aligned.
__device__ __forceinline__ Raw read_whole(const T* from) {
    const uint4 all = *(const uint4*)from;
    return {{all.x, all.y, all.z, all.w}};
}

// Elements i to i + PACK of n; those beyond are 0.
__device__ __forceinline__ Raw read_raw(const T* from, u64 i, u64 n, bool is_aligned) {
    Raw raw = {};
    if (is_aligned && i + PACK <= n) {
        raw = read_whole(from + i);
    } else {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e)
            if (i + e < n) raw.words[e / PER_WORD] |= bits_of(from[i + e]) << (e % PER_WORD * BITS);
    }
    return raw;
}

// Element e of a pack, and a word of one f32 or of two neighbours.
__device__ __forceinline__ float element(const Raw& raw, unsigned int e) {
    return from_bits(raw.words[e / PER_WORD] >> (e % PER_WORD * BITS), T{});
}
__device__ __forceinline__ unsigned int word_of(float low, float high) { return narrow_two(low, high, T{}); }

__device__ __forceinline__ void unpack(const Raw& raw, float (&x)[PACK]) {
#pragma unroll
    for (unsigned int e = 0; e < PACK; ++e) x[e] = element(raw, e);
}

// Calls f(c, i) for each of the first K packs of this thread, whose places in its registers are c.
template <unsigned int K = KEPT, class F>
__device__ __forceinline__ void each_kept(unsigned int n, F f) {
    if constexpr (K > 0)
#pragma unroll
        for (unsigned int c = 0; c < K; ++c) {
            const unsigned int i = (c * blockDim.x + threadIdx.x) * PACK;
            if (i < n) f(c, i);
        }
}

// Whether there is a place c.
template <unsigned int K>
__device__ __forceinline__ constexpr bool is_kept(unsigned int c) { return K > 0 && c + 1 <= K; }

// Calls f(c, i) for each pack of this thread, from element i on; c is its place in the registers, K for all that have none.
template <unsigned int K = KEPT, class F>
__device__ __forceinline__ void each_pack(unsigned int n, F f) {
    each_kept<K>(n, f);
#pragma unroll 1
    for (unsigned int i = (K * blockDim.x + threadIdx.x) * PACK; i < n; i += blockDim.x * PACK) f(K, i);
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

// Reduces one number per thread, as reduce_row does, with one barrier: each call of a block has slots of its own.
template <class Op>
__device__ __forceinline__ float reduce_once(float x, float* slots) {
    float all[1] = {x};
    reduce_warp<Op>(all);
    if (blockDim.x == 32) return all[0];
    const unsigned int lane = threadIdx.x % 32;
    if (lane == 0) slots[threadIdx.x / 32] = all[0];
    __syncthreads();
    all[0] = lane < blockDim.x / 32 ? slots[lane] : Op::NONE;
    reduce_warp<Op>(all);
    return all[0];
}
