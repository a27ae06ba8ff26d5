// Matrix multiplication without tensor cores, for any layout, alignment and device: f32 sums of f32, f16 or bf16, and
// s32 sums of s8. A block of 256 threads multiplies 128 x 128 elements of C, each thread 8 x 8, from tiles of 16 k that
// are loaded to registers while the previous tiles are multiplied. A thread loads twice four adjacent elements per
// operand, each in one access if rows are aligned to 16 bytes. Sums run over ascending k with fused multiply-adds,
// without split-K.
//
// Measured on an H200 at 4096 x 4096 x 4096, f32, TFLOP/s (cuBLAS 49.9), by the rows that are adjacent: nn 42.7, tn
// 43.1, tt 42.6, nt 42.4, which stores transposed. What decided: loads of four elements, a warp of 4 x 8 threads
// instead of 2 x 16, two blocks per multiprocessor, for which 128 registers must suffice, and 16 k per tile, whose
// loads take 64 adjacent bytes of a row.
//   also warps without rows multiply                     f32 nn 44.3, tn 44.8, tt 44.0, nt 43.4
//   16 k, tiles of two steps at a time                   f32 nn 42.6, tn 43.1, tt 42.5, nt 42.0
//   8 k, tiles of two steps at a time                    f32 nn 40.6, tn 42.0, tt 40.8, nt 38.9; bf16 nt 34.5, s8 nt 19
// Bank conflicts by ncu, nt: 437,450,752 wavefronts of shared memory, the ideal number (memory_l1_wavefronts_shared,
// counted by addresses). l1tex__data_bank_conflicts counts 2.1 M more, 0.5 %. Results stored to shared memory four at a
// time in the source: the same numbers of instructions and conflicts, 41.8 and 41.7 TFLOP/s in one run (H100) either
// way. Groups on an H200, 32768 rows of 256 and 512 in 16 | 64 groups, µs (fc1, fc2, its gradients dh, dx): 260, 233,
// 285, 230 | 331, 331, 353, 330; a warp finds the group instead of a thread, and tiles of up to 64 rows do half of the
// products: 257, 225, 277, 220 | 294, 299, 306, 289; shortest tiles last and squared ReLU without a call: 244, 225,
// 261, 220 | 270, 271, 283, 262. The test whether an operand is plain is one per tile, not one per access: registers
// for the rest, and nothing spilled. Before, with 8 k:
//   loads of single elements, warps of 2 x 16            f32 nt 34.3; 161 registers and so one block: 30.7
//   the operand's type asked for at every load           f32 nt 37.6, nn 39.4
//   the loop over k unrolled twice only                  f32 nt 38.2, nn 40.0
//   one block per multiprocessor                         f32 nt 36.7, nn 38.3, bf16 nt 26.6
//   128 x 256 elements per block, 8 x 16 per thread      f32 nt 38.9, nn 39.5; at 1024: 9.3 instead of 15.5
#pragma once
#include "nn/gemm_epilogue.cuh"

constexpr unsigned int OPERANDS_F32 = 0, OPERANDS_F16 = 1, OPERANDS_BF16 = 2, OPERANDS_S8 = 3; // as in src/nn/gemm/cuda/mod.rs

// Loads four adjacent elements, or the first `count` and zeros, widened to the type of the accumulators.
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

// Tile of 16 k by 128 rows of A or columns of B: each thread copies twice four elements, of adjacent k or of adjacent
// lines.
constexpr int SIMT_DEPTH = 16;
template <class Sum>
struct SimtOperand {
    const unsigned char* from; // source in the next tile
    unsigned long long second; // offset of the other four elements, bytes: 64 lines or 8 k further
    unsigned int step;         // offset of the next tile, bytes: rows are shorter than 2^28 (src/nn/gemm/cuda/own.rs)
    int lines;                 // lines from this thread's first element on
    bool is_plain;             // all lines exist, and four elements are one access without a conversion

    static __device__ __forceinline__ unsigned int first_k(bool by_k) { return by_k ? threadIdx.x % 4 * 4 : threadIdx.x / 32; }
    static __device__ __forceinline__ unsigned int first_line(bool by_k) { return by_k ? threadIdx.x / 4 : threadIdx.x % 32 * 4; }

    __device__ __forceinline__ SimtOperand(const void* matrix, unsigned long long before, bool by_k, unsigned long long ld, unsigned int first, unsigned int size, const GemmArgs& g) {
        const unsigned int bytes = g.operands == OPERANDS_F32 ? 4 : g.operands == OPERANDS_S8 ? 1 : 2, line = first + first_line(by_k);
        from = (const unsigned char*)matrix + (before + (by_k ? line * ld + first_k(by_k) : first_k(by_k) * ld + line)) * bytes;
        second = (by_k ? 64 : 8) * ld * bytes;
        step = (by_k ? SIMT_DEPTH : SIMT_DEPTH * (unsigned int)ld) * bytes;
        lines = (int)size - (int)line;
        is_plain = g.operands == OPERANDS_F32 && g.aligned != 0 && size >= first + 128;
    }

    // `all`: number of k from this tile on.
    __device__ __forceinline__ void load(Sum (&x)[2][4], int all, bool by_k, const GemmArgs& g) {
        if (is_plain && all >= SIMT_DEPTH) {
            *(uint4*)x[0] = *(const uint4*)from;
            *(uint4*)x[1] = *(const uint4*)(from + second);
        } else {
            const int left = all - (int)first_k(by_k);
            load_four(from, by_k ? (lines > 0 ? left : 0) : (left > 0 ? lines : 0), g.aligned != 0, g.operands, x[0]);
            load_four(from + second, by_k ? (lines > 64 ? left : 0) : (left > 8 ? lines : 0), g.aligned != 0, g.operands, x[1]);
        }
        from += step;
    }

    // Lines of k from 8 on are swizzled in groups of eight, so that the stores of a warp use different banks.
    __device__ __forceinline__ static void store(Sum (*tile)[132], const Sum (&x)[2][4], bool by_k) {
        if (by_k) {
            const unsigned int k = first_k(true), line = first_line(true) ^ (k & 8);
#pragma unroll
            for (unsigned int i = 0; i < 4; ++i) tile[k + i][line] = x[0][i], tile[k + i][64 + line] = x[1][i];
        } else {
            *(uint4*)&tile[first_k(false)][first_line(false)] = *(const uint4*)x[0];
            *(uint4*)&tile[first_k(false) + 8][first_line(false) ^ 8] = *(const uint4*)x[1];
        }
    }
};

// Adds the products of a tile for a thread's 8 columns and its rows, or the first four; the others are 64 rows further.
template <int ROWS, class Sum>
__device__ __forceinline__ void multiply_tile(const Sum (*left)[132], const Sum (*right)[132], unsigned int x, unsigned int y, Sum (&sums)[8][8]) {
#pragma unroll
    for (int q = 0; q < SIMT_DEPTH; ++q) {
        alignas(16) Sum p[8], r[4];
        const unsigned int sx = x ^ (q & 8), sy = y ^ (q & 8);
#pragma unroll
        for (int i = 0; i < ROWS; i += 4) *(uint4*)&p[i] = *(const uint4*)&left[q][16 * i + sy];
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            *(uint4*)r = *(const uint4*)&right[q][64 * half + sx];
#pragma unroll
            for (int i = 0; i < ROWS; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j) sums[i][4 * half + j] = add_product(p[i], r[j], sums[i][4 * half + j]);
        }
    }
}

template <class Sum>
__device__ __forceinline__ void gemm_by_threads(const GemmArgs& g, const void* a, const void* b, void* c, const Data& data, const void* offsets, void* turns) {
    // Stored for the epilogue, because registers are scarce.
    __shared__ Place kept;
    Place place;
    if (!place_of<128, 128>(g, offsets, blockIdx.x, place)) return;
    if (threadIdx.x == 0) kept = place;
    // One array serves both types of accumulators, because only one of them runs.
    extern __shared__ __align__(16) unsigned char memory[];
    Sum(*left)[132] = (Sum(*)[132])memory, (*right)[132] = left + SIMT_DEPTH;
    SimtOperand<Sum> from_a(a, place.a, g.a_by_k, g.lda, place.row, place.rows, g);
    SimtOperand<Sum> from_b(b, place.b, g.b_by_k, g.ldb, place.column, g.n, g);
    // A warp computes 32 x 64 elements, as two strips of 16 rows and two of 32 columns: it reads 4 + 8 vectors per k.
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned int x = (warp % 2 * 8 + lane % 8) * 4, y = (warp / 2 * 4 + lane / 8) * 4;
    // Groups end with partly empty tiles.
    const unsigned int first_row = place.row + warp / 2 * 16;
    const bool has_rows = first_row < place.rows, has_second = first_row + 64 < place.rows;
    Sum sums[8][8] = {};
    alignas(16) Sum next_a[2][4], next_b[2][4];
    int left_k = (int)place.k;
    from_a.load(next_a, left_k, g.a_by_k, g);
    from_b.load(next_b, left_k, g.b_by_k, g);
    from_a.store(left, next_a, g.a_by_k);
    from_b.store(right, next_b, g.b_by_k);
    __syncthreads();
    while (left_k > 0) {
        left_k -= SIMT_DEPTH;
        from_b.load(next_b, left_k, g.b_by_k, g);
        from_a.load(next_a, left_k, g.a_by_k, g);
        if (has_second) multiply_tile<8>(left, right, x, y, sums);
        else if (has_rows) multiply_tile<4>(left, right, x, y, sums);
        __syncthreads();
        from_a.store(left, next_a, g.a_by_k);
        from_b.store(right, next_b, g.b_by_k);
        __syncthreads();
    }
    // Accumulators pass through shared memory, 32 rows at a time, so that the epilogue's code exists once.
    Sum(*lines)[132] = left; // over both tiles
    begin_turn(kept, turns);
    place = place_again(kept);
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
    end_turn(kept, turns);
}
