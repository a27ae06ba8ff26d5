// Matrix multiplication without tensor cores, for any layout, alignment and device: f32 sums of f32, f16 or bf16, and s32
// sums of s8. A block of 256 threads multiplies 128 x 128 elements of C, each thread 8 x 8, from tiles of 8 k that are
// loaded to registers while the tiles before them are multiplied. Sums run over ascending k, fused, without blocks of k.
//
// Measured on an H200 at 4096 x 4096 x 4096: f32 30.5 to 32.2 TFLOP/s by layout (cuBLAS 49), bf16 14 to 24, s8 23. It is
// the reference and the fallback; loads of 16 bytes and tiles of 16 k were not tried.
#pragma once
#include "nn/gemm_epilogue.cuh"

constexpr unsigned int OPERANDS_F32 = 0, OPERANDS_F16 = 1, OPERANDS_BF16 = 2; // as in src/nn/gemm/cuda/mod.rs; 3 is s8

struct FromF32 { typedef float In; typedef float Sum; static __device__ __forceinline__ float widen(float x) { return x; } };
struct FromF16 { typedef f16 In; typedef float Sum; static __device__ __forceinline__ float widen(f16 x) { return to_float(x); } };
struct FromBF16 { typedef bf16 In; typedef float Sum; static __device__ __forceinline__ float widen(bf16 x) { return to_float(x); } };
struct FromS8 { typedef signed char In; typedef int Sum; static __device__ __forceinline__ int widen(signed char x) { return x; } };

// A tile of 8 k by 128 rows of A or columns of B: four elements per thread. Adjacent threads read adjacent elements.
template <class T>
struct SimtOperand {
    const typename T::In* from;
    unsigned long long step;
    unsigned int k, line, first, size, depth;
    bool by_k;

    __device__ __forceinline__ SimtOperand(const void* matrix, unsigned long long offset, bool k_adjacent, unsigned long long ld, unsigned int first_, unsigned int size_, unsigned int depth_)
        : step(ld), first(first_), size(size_), depth(depth_), by_k(k_adjacent) {
        from = (const typename T::In*)matrix + offset;
        k = by_k ? threadIdx.x % 8 : threadIdx.x / 128;
        line = by_k ? threadIdx.x / 8 : threadIdx.x % 128;
    }

    __device__ __forceinline__ void load(unsigned int from_k, typename T::Sum (&x)[4]) const {
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) {
            const unsigned int at_k = from_k + k + (by_k ? 0 : 2 * i), at = first + line + (by_k ? 32 * i : 0);
            const unsigned long long place = by_k ? at * step + at_k : at_k * step + at;
            x[i] = at_k < depth && at < size ? T::widen(from[place]) : typename T::Sum(0);
        }
    }

    __device__ __forceinline__ void store(typename T::Sum (*tile)[132], const typename T::Sum (&x)[4]) const {
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) tile[k + (by_k ? 0 : 2 * i)][line + (by_k ? 32 * i : 0)] = x[i];
    }
};

template <class T>
__device__ __forceinline__ void gemm_by_threads(const GemmArgs& g, const void* a, const void* b, void* c, const void* extra) {
    typedef typename T::Sum Sum;
    // One array for all operand types, as only one of them runs.
    extern __shared__ __align__(16) unsigned char memory[];
    Sum(*left)[8][132] = (Sum(*)[8][132])memory, (*right)[8][132] = left + 2;
    const unsigned int rows = (g.m + 127) / 128, columns = (g.n + 127) / 128;
    const unsigned int batch = blockIdx.x / (rows * columns), tile = blockIdx.x % (rows * columns);
    const unsigned int row = tile / columns * 128, column = tile % columns * 128;
    const SimtOperand<T> from_a(a, batch * g.stride_a, g.a_by_k, g.lda, row, g.m, g.k);
    const SimtOperand<T> from_b(b, batch * g.stride_b, g.b_by_k, g.ldb, column, g.n, g.k);
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
    // Through shared memory, 8 rows of threads at a time, so that the code of the epilogue is there once.
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        Sum(*lines)[132] = left[0]; // 16 rows over both tiles
        const unsigned int line = threadIdx.x / 16;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; ++j) lines[line][x + j % 4 + j / 4 * 64] = sums[i][j];
        __syncthreads();
        Sum four[4];
#pragma unroll 1
        for (unsigned int at = threadIdx.x; at < 16 * 32; at += 256) {
            const unsigned int from = at / 32, over = at % 32 * 4;
            for (int e = 0; e < 4; ++e) four[e] = lines[from][over + e];
            finish(g, c, extra, batch, row + from * 4 + i % 4 + i / 4 * 64, column + over, four);
        }
    }
}
