// Multiplication of bytes by packed weights, which become bytes on their way to shared memory: from there on, the sums are
// those of nn/gemm_mma.cuh and nn/gemm_dp4a.cuh, and exact. In GemmArgs, offsets in B and its leading dimension are in bytes.
#pragma once
#include "nn/gemm_codes.cuh"
#include "nn/gemm_dp4a.cuh"
#include "nn/gemm_mma.cuh"

// Words of a group of a column of B; zeros, which stand for zeros, where there is none.
template <class Code>
__device__ __forceinline__ void load_group(unsigned int (&to)[Code::WORDS], const unsigned int* from, bool exists) {
#pragma unroll
    for (int i = 0; i < Code::WORDS; ++i) to[i] = exists ? from[i] : 0;
}

#if __CUDA_ARCH__ >= 800
// Tile of B, decoded: k is adjacent. AHEAD: the words of the next tile are loaded to registers when a tile is written;
// otherwise when it is written itself, for kernels without free registers.
template <class Code, int LINES, int CHUNKS, int THREADS, bool AHEAD>
struct PackedOperand {
    typedef Operand<S8, true, LINES, CHUNKS, THREADS> Tile;
    static constexpr int LINE = Tile::LINE, BYTES = Tile::BYTES, PASS = Tile::PASS, PASSES = Tile::PASSES;
    static constexpr int AT_ONCE = AHEAD ? PASSES : 4 / Code::WORDS; // groups in registers
    static_assert(PASSES % AT_ONCE == 0, "whole rounds");

    const unsigned int* from; // words of this thread's first group in the next tile to load
    unsigned int words[AT_ONCE][Code::WORDS];
    unsigned long long pass_step; // words from a pass to the next
    unsigned int to;              // destination of the first group in a tile
    int lines, k;               // lines and k from this thread's first group to the end of the matrix, negative beyond it

    static __device__ __forceinline__ unsigned int place(unsigned int line, unsigned int chunk) { return Tile::place(line, chunk); }

    // `ld` in bytes.
    __device__ __forceinline__ PackedOperand(const void* matrix, unsigned long long ld, bool, unsigned int first, unsigned int size, unsigned int depth) {
        const unsigned int line = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        from = (const unsigned int*)((const unsigned char*)matrix + (first + line) * ld) + chunk * Code::WORDS;
        pass_step = PASS * ld / 4;
        to = place(line, chunk);
        lines = (int)(size - first) - (int)line;
        k = (int)depth - (int)chunk * 16;
        if (AHEAD) load(0);
    }

    // Loads or writes passes `first` to `first` + AT_ONCE of a tile.
    __device__ __forceinline__ void load(int first) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) load_group<Code>(words[i], from + (first + i) * pass_step, k > 0 && (first + i) * PASS < lines);
    }
    __device__ __forceinline__ void write(unsigned int tile, int first) {
#pragma unroll
        for (int i = 0; i < AT_ONCE; ++i) {
            unsigned int bytes[4];
            Code::decode(words[i], bytes);
            asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(tile + to + (first + i) * PASS * CHUNKS * 16), "r"(bytes[0]), "r"(bytes[1]), "r"(bytes[2]), "r"(bytes[3]) : "memory");
        }
    }
    __device__ __forceinline__ void advance() {
        from += CHUNKS * Code::WORDS;
        k -= CHUNKS * 16;
    }

    // Writes the next tile.
    __device__ __forceinline__ void copy(unsigned int tile) {
        if (AHEAD) {
            write(tile, 0);
            advance();
            load(0);
        } else {
#pragma unroll 1
            for (int first = 0; first < PASSES; first += AT_ONCE) {
                load(first);
                write(tile, first);
            }
            advance();
        }
    }
};
#endif

// Bytes k to k + 3 of a line of A in any layout, `step` bytes apart; 0 beyond its end.
__device__ __forceinline__ int four_bytes_apart(const signed char* line, unsigned long long step, unsigned int k, unsigned int end) {
    int bytes = 0;
#pragma unroll
    for (unsigned int i = 0; i < 4; ++i)
        if (k + i < end) bytes |= (int)(unsigned char)line[(k + i) * step] << (8 * i);
    return bytes;
}

template <class Code>
__device__ __forceinline__ void multiply_packed_by_dp4a(const GemmArgs& g, const void* a, const void* b, void* c, const Data& all) {
    typedef int Lines[DP4A_WORDS][DP4A_WIDE];
    const Place p = place_in_batch<DP4A_LINES, DP4A_LINES>(g, blockIdx.x);
    const unsigned long long row_step = g.a_by_k ? g.lda : 1, k_step = g.a_by_k ? 1 : g.lda;
    const signed char* rows = (const signed char*)a + p.a + p.row * row_step;
    const unsigned char* columns = (const unsigned char*)b + p.b + p.column * g.ldb;
    auto copy_a = [&](unsigned int k, Lines& to) {
        if (g.aligned) return copy_lines(rows, g.lda, p.rows - p.row, k, p.k, to);
#pragma unroll 1
        for (unsigned int at = threadIdx.x; at < DP4A_LINES * DP4A_WORDS; at += 256) {
            const unsigned int line = g.a_by_k ? at / DP4A_WORDS : at % DP4A_LINES, word = g.a_by_k ? at % DP4A_WORDS : at / DP4A_LINES;
            to[word][line] = line < p.rows - p.row ? four_bytes_apart(rows + line * row_step, k_step, k + 4 * word, p.k) : 0;
        }
    };
    // A thread decodes one of the two groups of a line.
    static_assert(DP4A_LINES * DP4A_WORDS * 4 == 16 * 256, "a group for each thread");
    auto copy_b = [&](unsigned int k, Lines& to) {
        const unsigned int line = threadIdx.x / 2, group = threadIdx.x % 2, first = k / 16 + group;
        unsigned int words[Code::WORDS], bytes[4];
        load_group<Code>(words, (const unsigned int*)(columns + line * g.ldb) + first * Code::WORDS, line < g.n - p.column && 16 * first < p.k);
        Code::decode(words, bytes);
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) to[4 * group + i][line] = (int)bytes[i];
    };
    multiply_tiles(g, p, copy_a, copy_b, c, all);
}
