// Matrix multiplication without tensor cores, for any layout, alignment and device: f32 sums of f32, f16 or bf16, and s32
// sums of s8. A block of 256 threads multiplies 128 x 128 elements of C, each thread 8 x 8, from tiles of 8 k that are
// loaded to registers while the tiles before them are multiplied. Sums run over ascending k, fused, without blocks of k.
//
// Measured on an H200 at 4096 x 4096 x 4096: f32 34.3 TFLOP/s (cuBLAS 49), bf16 24, s8 26. With an instance for each type and
// eight copies of the epilogue it needed 161 registers instead of 128, so that a multiprocessor held one block instead of two:
// 30.7, 24.5, 23. It is the reference and the fallback; loads of 16 bytes and tiles of 16 k were not tried.
#pragma once
#include "nn/gemm_epilogue.cuh"

constexpr unsigned int OPERANDS_F32 = 0, OPERANDS_F16 = 1, OPERANDS_BF16 = 2, OPERANDS_S8 = 3; // as in src/nn/gemm/cuda/mod.rs

// Elements of one type, or of a type known at run time, widened to the type of the sums.
__device__ __forceinline__ float widened(const void* from, unsigned long long at, unsigned int operands, float) {
    if (operands == OPERANDS_F32) return ((const float*)from)[at];
    const unsigned short bits = ((const unsigned short*)from)[at];
    return operands == OPERANDS_F16 ? to_float(f16{bits}) : to_float(bf16{bits});
}
__device__ __forceinline__ int widened(const void* from, unsigned long long at, unsigned int, int) { return ((const signed char*)from)[at]; }

// A tile of 8 k by 128 rows of A or columns of B: four elements per thread. Adjacent threads read adjacent elements.
template <class Sum>
struct SimtOperand {
    const void* matrix;
    unsigned long long offset, step;
    unsigned int k, line, first, size, depth, operands;
    bool by_k;

    __device__ __forceinline__ SimtOperand(const void* matrix_, unsigned long long offset_, bool k_adjacent, unsigned long long ld, unsigned int first_, unsigned int size_, const GemmArgs& g)
        : matrix(matrix_), offset(offset_), step(ld), first(first_), size(size_), depth(g.k), operands(g.operands), by_k(k_adjacent) {
        k = by_k ? threadIdx.x % 8 : threadIdx.x / 128;
        line = by_k ? threadIdx.x / 8 : threadIdx.x % 128;
    }

    __device__ __forceinline__ void load(unsigned int from_k, Sum (&x)[4]) const {
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) {
            const unsigned int at_k = from_k + k + (by_k ? 0 : 2 * i), at = first + line + (by_k ? 32 * i : 0);
            const unsigned long long place = offset + (by_k ? at * step + at_k : at_k * step + at);
            x[i] = at_k < depth && at < size ? widened(matrix, place, operands, Sum(0)) : Sum(0);
        }
    }

    __device__ __forceinline__ void store(Sum (*tile)[132], const Sum (&x)[4]) const {
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) tile[k + (by_k ? 0 : 2 * i)][line + (by_k ? 32 * i : 0)] = x[i];
    }
};

template <class Sum>
__device__ __forceinline__ void gemm_by_threads(const GemmArgs& g, const void* a, const void* b, void* c, const Data& data) {
    // One array for both types of sums, as only one of them runs.
    extern __shared__ __align__(16) unsigned char memory[];
    Sum(*left)[8][132] = (Sum(*)[8][132])memory, (*right)[8][132] = left + 2;
    const unsigned int rows = (g.m + 127) / 128, columns = (g.n + 127) / 128;
    const unsigned int batch = blockIdx.x / (rows * columns), tile = blockIdx.x % (rows * columns);
    const unsigned int row = tile / columns * 128, column = tile % columns * 128;
    const SimtOperand<Sum> from_a(a, first_of(g, batch, g.outer_a, g.stride_a), g.a_by_k, g.lda, row, g.m, g);
    const SimtOperand<Sum> from_b(b, first_of(g, batch, g.outer_b, g.stride_b), g.b_by_k, g.ldb, column, g.n, g);
    const unsigned int x = threadIdx.x % 16 * 4, y = threadIdx.x / 16 * 4;
    Sum sums[8][8] = {}, next_a[4], next_b[4];
    from_a.load(0, next_a);
    from_b.load(0, next_b);
    from_a.store(left[0], next_a);
    from_b.store(right[0], next_b);
    __syncthreads();
    for (unsigned int k = 0, now = 0; k < g.k; k += 8, now ^= 1) {
        from_a.load(k + 8, next_a);
        from_b.load(k + 8, next_b);
#pragma unroll
        for (int q = 0; q < 8; ++q) {
            Sum p[8], r[8];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                p[i] = left[now][q][y + i], p[4 + i] = left[now][q][64 + y + i];
                r[i] = right[now][q][x + i], r[4 + i] = right[now][q][64 + x + i];
            }
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
#pragma unroll 1
    for (unsigned int pass = 0; pass < 4; ++pass) {
        __syncthreads();
        if (threadIdx.x / 128 == pass % 2)
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) lines[y % 32 + i][x + j % 4 + j / 4 * 64] = pass < 2 ? sums[i][j] : sums[4 + i][j];
        __syncthreads();
        finish_rows<128, 132, 256>(g, c, data, lines[0], 32, batch, row + 32 * pass, column);
    }
}
