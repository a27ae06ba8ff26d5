// Multiplication of bytes by dp4a, the dot product of four bytes, without tensor cores: k is adjacent in both operands; their rows
// begin at multiples of 16 bytes. A block of 256 threads multiplies 128 x 128 elements of C, each thread 8 x 8, from tiles
// of 32 k. Sums are exact.
#pragma once
#include "nn/gemm_epilogue.cuh"

constexpr int DP4A_LINES = 128, DP4A_WORDS = 8, DP4A_WIDE = DP4A_LINES + 4;

// Four bytes of a line from `k` on; 0 beyond its end.
__device__ __forceinline__ int four_bytes(const signed char* line, unsigned int k, unsigned int end) {
    if (k + 4 <= end) return *(const int*)(line + k);
    int bytes = 0;
    for (unsigned int i = 0; k + i < end; ++i) bytes |= (int)(unsigned char)line[k + i] << (8 * i);
    return bytes;
}

// Copies a tile of 128 lines; lines beyond `lines` are 0.
__device__ __forceinline__ void copy_lines(const signed char* from, unsigned long long ld, unsigned int lines, unsigned int k, unsigned int end, int (&to)[DP4A_WORDS][DP4A_WIDE]) {
#pragma unroll
    for (unsigned int i = 0; i < DP4A_LINES * DP4A_WORDS / 256; ++i) {
        const unsigned int at = threadIdx.x + 256 * i, line = at / DP4A_WORDS, word = at % DP4A_WORDS;
        to[word][line] = line < lines ? four_bytes(from + line * ld, k + 4 * word, end) : 0;
    }
}

// Multiplies tiles that `copy_a(k, tile)` and `copy_b(k, tile)` write: word w of a line holds its bytes k + 4 w to k + 4 w + 3.
template <class CopyA, class CopyB>
__device__ __forceinline__ void multiply_tiles(const GemmArgs& g, const Place& p, CopyA copy_a, CopyB copy_b, void* c, const Data& all) {
    // Two tiles of operands, then 32 rows of sums.
    __shared__ alignas(16) int memory[32 * DP4A_WIDE];
    static_assert(2 * DP4A_WORDS <= 32, "operands fit");
    int(&left)[DP4A_WORDS][DP4A_WIDE] = *(int(*)[DP4A_WORDS][DP4A_WIDE])memory;
    int(&right)[DP4A_WORDS][DP4A_WIDE] = *(int(*)[DP4A_WORDS][DP4A_WIDE])(memory + DP4A_WORDS * DP4A_WIDE);
    const unsigned int y = threadIdx.x / 16 * 4, x = threadIdx.x % 16 * 4;
    int sums[8][8] = {};
    for (unsigned int k = 0; k < p.k; k += 4 * DP4A_WORDS) {
        copy_a(k, left);
        copy_b(k, right);
        __syncthreads();
#pragma unroll
        for (int word = 0; word < DP4A_WORDS; ++word) {
            alignas(16) int of_row[8], of_column[8];
            *(int4*)of_row = *(const int4*)&left[word][y];
            *(int4*)(of_row + 4) = *(const int4*)&left[word][y + 64];
            *(int4*)of_column = *(const int4*)&right[word][x];
            *(int4*)(of_column + 4) = *(const int4*)&right[word][x + 64];
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sums[i][j]) : "r"(of_row[i]), "r"(of_column[j]));
        }
        __syncthreads();
    }
    // A thread has rows y and y + 64 and the three after each. One copy of the epilogue serves all passes.
#pragma unroll 1
    for (unsigned int pass = 0; pass < DP4A_LINES / 32; ++pass) {
        if (y / 32 == pass % 2) {
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) memory[(y % 32 + i) * DP4A_WIDE + x + j % 4 + j / 4 * 64] = pass < 2 ? sums[i][j] : sums[i + 4][j];
        }
        __syncthreads();
        finish_rows<DP4A_LINES, DP4A_WIDE, 256>(g, c, all, p, memory, 32, 32 * pass);
        __syncthreads();
    }
}

__device__ __forceinline__ void multiply_by_dp4a(const GemmArgs& g, const void* a, const void* b, void* c, const Data& all) {
    const Place p = place_in_batch<DP4A_LINES, DP4A_LINES>(g, blockIdx.x);
    const signed char* rows = (const signed char*)a + p.a + p.row * g.lda;
    const signed char* columns = (const signed char*)b + p.b + p.column * g.ldb;
    multiply_tiles(
        g, p, [&](unsigned int k, int(&to)[DP4A_WORDS][DP4A_WIDE]) { copy_lines(rows, g.lda, p.rows - p.row, k, p.k, to); },
        [&](unsigned int k, int(&to)[DP4A_WORDS][DP4A_WIDE]) { copy_lines(columns, g.ldb, g.n - p.column, k, p.k, to); }, c, all);
}
