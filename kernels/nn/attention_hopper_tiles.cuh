// Attention tiles in Hopper's shared memory: copies and products by wgmma.
//
// A tile consists of blocks of 64 elements: rows of 128 bytes with the 128-byte swizzle of wgmma and TMA (16-byte chunk
// XOR row).
#pragma once
#include "nn/attention_flash.cuh"
#include "nn/tensor_copies.cuh"
#include "nn/wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// 64 x 64 or 64 x 128 products of 16-bit elements: of tiles in shared memory, both K-major; and of a left operand in
// registers and a tile with adjacent columns. `d` is not read in the first step of a sum.
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

// Tile of ROWS tokens' heads in blocks of 64 elements.
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

// One thread copies a tile from this token on, with zeros beyond the tensor.
template <class Tile>
__device__ __forceinline__ void copy_tile(unsigned int to, const TensorMap& map, unsigned int barrier, unsigned int token, unsigned int head, unsigned int batch) {
#pragma unroll
    for (int i = 0; i < Tile::CHUNKS / 8; ++i) copy_box(to + i * Tile::BLOCK, map, barrier, i * 64, token, head, batch);
}
// A warp copies a tile in which a sequence ends, with zeros after the end, because the following memory may contain
// NaN.
template <class Tile>
__device__ __forceinline__ void copy_rows(unsigned int to, const unsigned short* from, unsigned long long step, int rows, unsigned int head_dim) {
#pragma unroll 1
    for (int at = threadIdx.x & 31; at < Tile::BYTES / 16; at += 32) {
        const int row = at / Tile::CHUNKS, chunk = at % Tile::CHUNKS;
        const bool exists = row < rows && chunk * 8 < (int)head_dim;
        copy_chunk(to + chunk / 8 * Tile::BLOCK + row * 128 + (chunk % 8 ^ (row & 7)) * 16, exists ? from + row * step + chunk * 8 : from, exists ? 16 : 0);
    }
}
// Waits for this lane's copies and makes them visible to wgmma.
__device__ __forceinline__ void finish_copies() {
    commit_copies();
    wait_for_copies<0>();
    publish_copies();
}

// Tensors that TMA copies.
struct Copied {
    const TensorMap &queries, &keys, &values, &gradients; // the last is a tensor of results
};

// Index of a block's n-th work item. Every other round is reversed, so that no block gets the longest item each time.
__device__ __forceinline__ unsigned int index_of_piece(unsigned int n) { return n * gridDim.x + (n & 1 ? gridDim.x - 1 - blockIdx.x : blockIdx.x); }

// Work item: OWN tokens of a head, and the tiles of OTHER tokens that see or are seen by any of them.
template <int OWN, int OTHER, bool OF_QUERIES>
struct Pieces {
    FlashWork at;
    Sequence s;
    int begin, tiles;

    static __device__ __forceinline__ unsigned int all(const AttentionArgs& a) {
        return ((OF_QUERIES ? a.q_len : a.k_len) + OWN - 1) / OWN * (OF_QUERIES ? a.heads : a.heads / a.group) * a.batch;
    }
    __device__ __forceinline__ Pieces(const AttentionArgs& a, const int* q_lengths, const int* k_lengths, unsigned int index)
        : at(a, OF_QUERIES ? a.heads : a.heads / a.group, OF_QUERIES ? a.q_len : a.k_len, OWN, OF_QUERIES, index), s(sequence(a, q_lengths, k_lengths, at.b)) {
        const int last = min(at.first + OWN, OF_QUERIES ? s.lq : s.lk) - 1;
        begin = last < at.first ? 0 : (OF_QUERIES ? first_key(a, s, at.first) : first_query(a, s, at.first)) / OTHER * OTHER;
        const int end = last < at.first ? 0 : OF_QUERIES ? end_key(a, s, last) : end_query(a, s, last);
        tiles = begin < end ? (end - begin + OTHER - 1) / OTHER : 0;
    }
};

// Position in a ring, and the parity of the phase there.
template <unsigned int LENGTH>
struct InRing {
    unsigned int stage, parity;
    __device__ __forceinline__ void next() {
        if (++stage == LENGTH) stage = 0, parity ^= 1;
    }
};
// Barriers for the data of a work item and for a ring, for this number of warps. Each lane of the producer warp arrives
// at `full`, so that its own writes precede its own arrival (racecheck does not follow the arrival of one lane after a
// __syncwarp).
template <int STAGES, int WARPS>
__device__ __forceinline__ void init_ring(unsigned int full_piece, unsigned int empty_piece, unsigned int full, unsigned int empty) {
    if (threadIdx.x == 0) {
        init_barrier(full_piece, 1);
        init_barrier(empty_piece, WARPS);
        for (int i = 0; i < STAGES; ++i) {
            init_barrier(full + 8 * i, 32);
            init_barrier(empty + 8 * i, WARPS);
        }
        publish_barriers();
    }
    __syncthreads();
}
#endif
