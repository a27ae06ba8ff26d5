// Matrix multiplication without tensor cores, for any layout, alignment and device: f32 sums of f32, f16 or bf16, and s32
// sums of s8. A block of 256 threads multiplies 128 x 128 elements of C, each thread 8 x 8, from tiles of 8 k that are
// loaded to registers while the tiles before them are multiplied, four adjacent elements per thread and operand: one access
// where rows begin at multiples of 16 bytes. Sums run over ascending k, fused, without blocks of k.
//
// Measured on an H200 at 4096 x 4096 x 4096: f32 34.3 TFLOP/s (cuBLAS 49), bf16 24, s8 26. With an instance for each type and
// eight copies of the epilogue it needed 161 registers instead of 128, so that a multiprocessor held one block instead of two:
// 30.7, 24.5, 23. It is the reference and the fallback; loads of 16 bytes and tiles of 16 k were not tried.
#pragma once
#include "nn/gemm_epilogue.cuh"

constexpr unsigned int OPERANDS_F32 = 0, OPERANDS_F16 = 1, OPERANDS_BF16 = 2, OPERANDS_S8 = 3; // as in src/nn/gemm/cuda/mod.rs

// Four adjacent elements, or the first `count` and zeros, widened to the type of the sums.
__device__ __forceinline__ void load_four(const unsigned char* from, int count, bool is_aligned, unsigned int operands, float (&x)[4]) {
    if (operands == OPERANDS_F32) {
        if (count >= 4 && is_aligned) {
            *(float4*)x = *(const float4*)from;
            return;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = i < count ? ((const float*)from)[i] : 0.0f;
        return;
    }
    alignas(8) unsigned short bits[4] = {0, 0, 0, 0};
    if (count >= 4 && is_aligned) *(uint2*)bits = *(const uint2*)from;
    else
#pragma unroll
        for (int i = 0; i < 4; ++i) if (i < count) bits[i] = ((const unsigned short*)from)[i];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = operands == OPERANDS_F16 ? to_float(f16{bits[i]}) : to_float(bf16{bits[i]});
}
__device__ __forceinline__ void load_four(const unsigned char* from, int count, bool, unsigned int, int (&x)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = i < count ? ((const signed char*)from)[i] : 0;
}

// A tile of 8 k by 128 rows of A or columns of B: each thread copies four elements, of adjacent k or of adjacent lines.
template <class Sum>
struct SimtOperand {
    const unsigned char* from; // of the next tile
    unsigned int operands;
    int across, left; // elements of this thread, as far as lines go; k from its first on
    bool by_k, is_aligned;

    __device__ __forceinline__ SimtOperand(const void* matrix, unsigned long long before, bool k_adjacent, unsigned long long ld, unsigned int first, unsigned int size, unsigned int depth, const GemmArgs& g)
        : operands(g.operands), by_k(k_adjacent), is_aligned(g.aligned != 0) {
        const unsigned int bytes = operands == OPERANDS_F32 ? 4 : operands == OPERANDS_S8 ? 1 : 2;
        const unsigned int k = by_k ? threadIdx.x % 2 * 4 : threadIdx.x / 32;
        const unsigned int line = by_k ? threadIdx.x / 2 : threadIdx.x % 32 * 4;
        from = (const unsigned char*)matrix + (before + (by_k ? (first + line) * ld + k : k * ld + first + line)) * bytes;
        across = (int)size - (int)(first + line);
        if (by_k) across = across > 0 ? 4 : 0;
        left = (int)depth - (int)k;
    }

    // `ld` again: to keep the step takes two registers.
    __device__ __forceinline__ void load(Sum (&x)[4], unsigned long long ld) {
        load_four(from, by_k ? min(across, left) : left > 0 ? across : 0, is_aligned, operands, x);
        from += (by_k ? 8 : 8 * ld) * (operands == OPERANDS_F32 ? 4 : operands == OPERANDS_S8 ? 1 : 2);
        left -= 8;
    }

    __device__ __forceinline__ void store(Sum (*tile)[132], const Sum (&x)[4]) const {
        if (by_k) {
#pragma unroll
            for (unsigned int i = 0; i < 4; ++i) tile[threadIdx.x % 2 * 4 + i][threadIdx.x / 2] = x[i];
        } else {
            *(uint4*)&tile[threadIdx.x / 32][threadIdx.x % 32 * 4] = *(const uint4*)x;
        }
    }
};

template <class Sum>
__device__ __forceinline__ void gemm_by_threads(const GemmArgs& g, const void* a, const void* b, void* c, const Data& data, const void* offsets) {
    Place place;
    if (!place_of<128, 128>(g, offsets, blockIdx.x, place)) return;
    // One array for both types of sums, as only one of them runs.
    extern __shared__ __align__(16) unsigned char memory[];
    Sum(*left)[8][132] = (Sum(*)[8][132])memory, (*right)[8][132] = left + 2;
    SimtOperand<Sum> from_a(a, place.a, g.a_by_k, g.lda, place.row, place.rows, place.k, g);
    SimtOperand<Sum> from_b(b, place.b, g.b_by_k, g.ldb, place.column, g.n, place.k, g);
    // A warp has 32 x 64 elements, twice two 16 rows apart and twice 32 columns: it reads 4 + 8 vectors per k.
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int x = (warp % 2 * 8 + lane % 8) * 4, y = (warp / 2 * 4 + lane / 8) * 4;
    Sum sums[8][8] = {};
    alignas(16) Sum next_a[4], next_b[4];
    from_a.load(next_a, g.lda);
    from_b.load(next_b, g.ldb);
    from_a.store(left[0], next_a);
    from_b.store(right[0], next_b);
    __syncthreads();
    const unsigned int depth = place.k;
    for (unsigned int k = 0, now = 0; k < depth; k += 8, now ^= 1) {
        from_a.load(next_a, g.lda);
        from_b.load(next_b, g.ldb);
#pragma unroll
        for (int q = 0; q < 8; ++q) {
            alignas(16) Sum p[8], r[8];
            *(uint4*)&p[0] = *(const uint4*)&left[now][q][y], *(uint4*)&p[4] = *(const uint4*)&left[now][q][64 + y];
            *(uint4*)&r[0] = *(const uint4*)&right[now][q][x], *(uint4*)&r[4] = *(const uint4*)&right[now][q][64 + x];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sums[i][j] = add_product(p[i], r[j], sums[i][j]);
        }
        from_a.store(left[now ^ 1], next_a);
        from_b.store(right[now ^ 1], next_b);
        __syncthreads();
    }
    // Through shared memory, 32 rows at a time, so that the code of the epilogue is there once.
    Sum(*lines)[132] = left[0]; // over all four tiles
    place_of<128, 128>(g, offsets, block_again(), place);
#pragma unroll 1
    for (unsigned int pass = 0; pass < 4; ++pass) {
        __syncthreads();
        if (y / 32 == pass % 2)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) lines[y % 32 + i][x + j % 4 + j / 4 * 64] = pass < 2 ? sums[i][j] : sums[4 + i][j];
        __syncthreads();
        finish_rows<128, 132, 256>(g, c, data, place, lines[0], 32, 32 * pass);
    }
}
