// Computes gradients of queries together with those of keys and values on Hopper's tensor cores: 5 products instead of
// 7. Each block adds its contribution to sums in global memory in the order of arrival, so the last bits differ from
// run to run.
//
// Both groups store the gradients of their logits in shared memory, rows of 64 queries per key. Each then multiplies
// those of all keys of the block with half of the keys' elements; a bulk reduction adds the result to global memory.
// Sums are f32 in tiles of 64 queries of a head, in the order of the threads' registers; `finish_queries` scales,
// rounds and orders them.
//
// H200, bf16, TFLOP/s of 5 products, this and the two kernels in order: 2 x 8192 tokens, 16 heads of 128 504 and 464,
// causal 458 and 418; heads of 64 419 and 378; 4 x 4096 tokens, 12 heads of 64, causal 338 and 324; 16 x 1024 226 and
// 230, as the sums are cleared and finished by kernels of their own. With heads of 64 each group by its own keys and
// all elements: 384 for 419, 322 for 338, 215 for 226.
#pragma once
#include "nn/attention_hopper_tiles.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// d (+)= left right for tiles in shared memory whose rows are k in both.
#define WGMMA_ROWS(T, TYPE)                                                                                                         \
    __device__ __forceinline__ void multiply_rows(T, float (&d)[32], unsigned long long a, unsigned long long b, int adds) {          \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; wgmma.mma_async.sync.aligned.m64n64k16.f32." TYPE "." TYPE " " WGMMA_32    \
                     ", %32, %33, p, 1, 1, 1, 1; }" : WGMMA_D32 : "l"(a), "l"(b), "r"(adds));                                           \
    }                                                                                                                                \
    __device__ __forceinline__ void multiply_rows(T, float (&d)[16], unsigned long long a, unsigned long long b, int adds) {          \
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32." TYPE "." TYPE " " WGMMA_16    \
                     ", %16, %17, p, 1, 1, 1, 1; }" : WGMMA_D16 : "l"(a), "l"(b), "r"(adds));                                           \
    }
WGMMA_ROWS(F16Pairs, "f16")
WGMMA_ROWS(Bf16Pairs, "bf16")

// Stores four 8 x 8 matrices of 16-bit elements, one row address per lane.
__device__ __forceinline__ void store_matrices(unsigned int at, const unsigned int (&r)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
__device__ __forceinline__ void store_four(unsigned int at, const float* x) {
    asm volatile("st.shared.v4.f32 [%0], {%1,%2,%3,%4};" ::"r"(at), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
}
__device__ __forceinline__ void wait_at(unsigned int barrier, unsigned int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

template <class T, int DIM, int KEYS>
struct AddedQueries {
    static constexpr int ROWS = 64, GROUPS = 2, SHARE = ROWS * DIM / GROUPS, N = SHARE / 128, STEPS = KEYS / 16;
    static constexpr int WEIGHTS = KEYS * ROWS * 2, BYTES = 2 * WEIGHTS + GROUPS * SHARE * 4;
    static constexpr unsigned int EVERY_GROUP = 1, ONE_GROUP = 2; // barriers of the block

    unsigned int weights, staged; // two buffers for gradients of logits, so that one barrier per tile suffices
    unsigned long long right;     // this group's elements of the keys
    float* sums;
    unsigned int buffer;

    __device__ __forceinline__ AddedQueries(unsigned int at, unsigned int keys, float* sums_) : sums(sums_), buffer(0) {
        const unsigned int group = threadIdx.x / 128;
        weights = at, staged = at + 2 * WEIGHTS + group * SHARE * 4;
        constexpr unsigned int BLOCK = KEYS * 128; // bytes of a block of 64 elements
        constexpr unsigned int COLUMNS = DIM / GROUPS;
        right = describe(keys + group * COLUMNS / 64 * BLOCK + group * COLUMNS % 64 * 2, BLOCK);
    }
    // Stores the gradients of this warp's 16 keys: left operands of 16 keys and 16 queries each.
    __device__ __forceinline__ void store(const unsigned int (&ds)[ROWS / 16][4]) const {
        const unsigned int lane = threadIdx.x & 31, row = threadIdx.x / 32 * 16 + (lane & 15), to = weights + buffer * WEIGHTS + row * 128;
#pragma unroll
        for (int n = 0; n < ROWS / 16; ++n) store_matrices(to + ((2 * n + (lane >> 4)) ^ (row & 7)) * 16, ds[n]);
        publish_copies();
    }
    // Waits until the gradients that this group multiplies are stored, and until its previous contribution has been
    // read for the reduction.
    __device__ __forceinline__ void meet() const {
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        wait_at(EVERY_GROUP, GROUPS * 128);
    }
    __device__ __forceinline__ void multiply(float (&d)[N]) {
        const unsigned long long left = describe(weights + buffer * WEIGHTS, 8192);
#pragma unroll
        for (int step = 0; step < STEPS; ++step) multiply_rows(T(), d, left + (step * 16 * 128 >> 4), right + (step * 16 * 128 >> 4), step);
        commit_products();
        buffer ^= 1;
    }
    // Adds to the sums of a tile of queries.
    __device__ __forceinline__ void add(const float (&d)[N], unsigned long long tile) const {
        const unsigned int group = threadIdx.x / 128, thread = threadIdx.x % 128;
#pragma unroll
        for (int i = 0; i < N; i += 4) store_four(staged + (i / 4 * 128 + thread) * 16, d + i);
        publish_copies();
        wait_at(ONE_GROUP + group, 128);
        if (thread == 0)
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;\n\tcp.async.bulk.commit_group;"
                         ::"l"(sums + (tile * GROUPS + group) * SHARE), "r"(staged), "r"(SHARE * 4) : "memory");
    }
    // Waits until the shared memory has been read.
    static __device__ __forceinline__ void finish() {
        if (threadIdx.x % 128 == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
};

// First tile of sums from this query on.
__device__ __forceinline__ unsigned long long tile_of(const AttentionArgs& a, unsigned int b, unsigned int head, int first) {
    return ((unsigned long long)b * a.heads + head) * ((a.q_len + 63) / 64) + first / 64;
}

// Computes gradients of queries from their sums: one block per tile, whose threads hold the registers of the two
// groups.
template <class T, int DIM>
__device__ __forceinline__ void finish_queries(const AttentionArgs& a, const int* q_lengths, const int* k_lengths, const float* sums, unsigned short* dq) {
    constexpr unsigned int QUADS = DIM / 16, COLUMNS = DIM / 2;
    const unsigned int tiles = (a.q_len + 63) / 64, group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = thread % 32;
    const unsigned int head = blockIdx.x / tiles % a.heads, b = blockIdx.x / tiles / a.heads;
    const int first = (int)(blockIdx.x % tiles * 64), row = first + (int)(thread / 32 * 16 + lane / 4);
    const Sequence s = sequence(a, q_lengths, k_lengths, b);
    const float4* from = (const float4*)sums + (tile_of(a, b, head, first) * 2 + group) * QUADS * 128 + thread;
    float4 x[QUADS];
#pragma unroll
    for (int n = 0; n < QUADS; ++n) x[n] = from[n * 128];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int i = row + half * 8;
        if (i >= (a.lengths == LENGTHS_PACKED ? s.lq : (int)a.q_len)) continue;
        const unsigned int column = group * COLUMNS + lane % 4 * 2;
        unsigned short* to = dq + place(a.q, s, s.first_q, i, head) + column;
#pragma unroll
        for (int n = 0; n < QUADS; ++n)
            if (column + n * 8 < a.head_dim)
                *(unsigned int*)(to + n * 8) = i < s.lq ? T::pack((half ? x[n].z : x[n].x) * a.scale, (half ? x[n].w : x[n].y) * a.scale) : 0u;
    }
}
#endif
