// Matrix multiplication on tensor cores by mma.sync, from compute capability 8.0 on.
//
// A block multiplies BM x BN elements of C. Operands come through a ring of STAGES tiles of 32 STEPS bytes of k each,
// filled by cp.async and read by ldmatrix; a warp owns WM x WN elements of C in registers and loads the operands of its
// next step while it multiplies those of this one. One step is two 16-byte chunks of k: 16 elements of f16 and bf16, 8
// of tf32, 32 of s8, so that the same addresses serve every type.
//
// In shared memory an operand with adjacent k is stored row by row, otherwise k by k; 16-byte chunks of a row are
// swizzled (chunk XOR row), so that neither the copies nor ldmatrix have bank conflicts.
//
// Elements outside the matrices are read as zeros. Where rows do not begin at multiples of 16 bytes, elements are
// copied one by one, for all layouts by the same code.
//
// Measured on an H200, normally distributed operands, both with adjacent k, TFLOP/s (TOP/s) of 4096 x 4096 x 4096,
// median of three; cuBLAS in the same minutes: bf16 787, f16 758, tf32 406, s8 850, f32 49. The ceiling of mma.sync is
// 620.
//   tile 128 x 256, STEPS 4, STAGES 3, warps 64 x 64, 1 block    bf16 458, f16 469, tf32 195, s8 862   large tile
//     the same, 4 stages                                         bf16 455
//     the same, other layouts (kn, mk, mn)                       bf16 462, 458, 437; tf32 174, 170, 152
//     the same, groups of 4 or 16 rows of tiles instead of 8     bf16 432, 426; at 8192: 383, 400 instead of 434
//   tile 256 x 128, STEPS 4, STAGES 3 or 4                       bf16 456 or 448; at 8192: 430 instead of 466
//     the same, a loop over pairs of steps                       bf16 376, f16 391, tf32 162, s8 759 (fifth less PTX)
//   tile 128 x 256, STEPS 2, STAGES 4 or 6                       bf16 393 or 392: a barrier every second step costs
//   tile 128 x 128, STEPS 4, STAGES 3, warps 64 x 64, 2 blocks   bf16 434; tf32 187; s8 787
//   tile 128 x 128, STEPS 2, STAGES 4, warps 64 x 64, 2 blocks   bf16 439
//   tile 128 x 128, warps 64 x 32, 2 blocks, 128 registers       bf16 293 (STEPS 4), 358 (STEPS 2): spills, 1.5 x the reads
//   tile 128 x 128, STEPS 4, STAGES 6, 1 block                   bf16 371
//   tile 64 x 64, STEPS 4, STAGES 4, warps 32 x 32, 3 blocks     bf16 301, f16 315, tf32 120, s8 634           small tile
// By estimate, two warps of 64 x 64 per scheduler read 32 KiB of shared memory for the 392 cycles of products of a
// step: 65 % of its bandwidth, and the copies take another quarter; larger warp tiles do not fit in registers. cuBLAS
// is faster through wgmma, which reads operands from shared memory once per four warps.
//
// Accumulators pass through shared memory, so that a warp writes whole rows and all layouts share one copy of the
// epilogue's code: 0.37 instead of 1.44 MB of PTX per type, and as fast. Operands of tf32 with adjacent rows or columns
// are read word by word; addresses that the compiler derived from the general exchange of chunks spilled 164 bytes.
//
// Groups, tf32, as in nn/gemm_simt.cuh, µs: 150, 100, 185, 109 | 191, 124, 226, 129; a warp finds the group: 135, 91,
// 167, 97 | 141, 98, 173, 103; squared ReLU without a call: 120, 91, 145, 96 | 127, 98, 153, 103.
//
// Rows that begin at any address, small tile, bf16: 48 to 52 by layout; one copy loop for each layout reached 65 to 73,
// and four more instances of the kernel. Choosing between both ways of copying at run time within the loop made aligned
// operands slower: tf32 97 instead of 118, s8 539 instead of 638. s8 with rows adjacent, copied one by one: 101
// (without tensor cores 27).
#pragma once
#include "gen/nn-gemm.cuh" // the same kernels for every type of operands
#include "nn/gemm_copy.cuh"
#include "nn/gemm_epilogue.cuh"

struct F16 { typedef float Sum; static constexpr int BYTES = 2; };
struct BF16 { typedef float Sum; static constexpr int BYTES = 2; };
struct TF32 { typedef float Sum; static constexpr int BYTES = 4; };
struct S8 { typedef int Sum; static constexpr int BYTES = 1; };

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void multiply(F16, float (&c)[4], const unsigned int (&a)[4], const unsigned int* b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply(BF16, float (&c)[4], const unsigned int (&a)[4], const unsigned int* b) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply(TF32, float (&c)[4], const unsigned int (&a)[4], const unsigned int* b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ __forceinline__ void multiply(S8, int (&c)[4], const unsigned int (&a)[4], const unsigned int* b) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ __forceinline__ unsigned int load_word(unsigned int at) {
    unsigned int x;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x) : "r"(at) : "memory");
    return x;
}
// Tile of an operand: LINES x CHUNKS of 16 bytes. BY_K: k is adjacent in memory and a line is a row of A or a column of
// B; otherwise rows of A or columns of B are adjacent and a line is a k.
template <class T, bool BY_K, int LINES, int CHUNKS, int THREADS>
struct Operand {
    static constexpr int PASS = THREADS / CHUNKS, PASSES = LINES / PASS, LINE = CHUNKS * 16, BYTES = LINES * LINE;
    static_assert(THREADS % CHUNKS == 0 && LINES % PASS == 0, "every thread copies as many chunks");
    static_assert(PASS % (T::BYTES == 4 && !BY_K ? 4 : 8) == 0 || CHUNKS == 4, "a thread's chunks have one place in their lines");

    const unsigned char* from; // source of this thread's first chunk in the next tile
    unsigned long long pass_step, tile_step;
    unsigned int to;           // destination of that chunk in a tile
    int lines_left, bytes_left; // lines and bytes from this thread's first chunk to the end of the matrix, negative beyond it

    // Swizzled position of a chunk in a tile.
    static __device__ __forceinline__ unsigned int place(unsigned int line, unsigned int chunk) {
        if (!BY_K && T::BYTES == 4) return (line * CHUNKS + (chunk ^ (line & 3) << 1)) * 16;
        if (CHUNKS == 4) return (line * CHUNKS + (chunk ^ (line >> 1 & 3))) * 16;
        return (line * CHUNKS + (chunk ^ (line & 7))) * 16;
    }

    // `first`: first row of A or column of B, of `size`; `ld` in elements.
    __device__ __forceinline__ Operand(const void* matrix, unsigned long long ld, bool, unsigned int first, unsigned int size, unsigned int k) {
        const unsigned int line = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
        const unsigned long long step = ld * T::BYTES;
        const unsigned int line0 = BY_K ? first : 0, chunk0 = BY_K ? 0 : first * T::BYTES;
        from = (const unsigned char*)matrix + (line0 + line) * step + chunk0 + chunk * 16;
        to = place(line, chunk);
        pass_step = PASS * step;
        tile_step = BY_K ? CHUNKS * 16 : LINES * step;
        lines_left = (int)(BY_K ? size - first : k) - (int)line;
        bytes_left = (int)((BY_K ? k : size - first) * T::BYTES) - (int)chunk * 16;
    }

    // Copies the next tile.
    __device__ __forceinline__ void copy(unsigned int tile) {
        const unsigned int bytes = min(max(bytes_left, 0), 16);
#pragma unroll
        for (int i = 0; i < PASSES; ++i)
            copy_chunk(tile + to + i * PASS * CHUNKS * 16, from + i * pass_step, i * PASS < lines_left ? bytes : 0);
        from += tile_step;
        if (BY_K) bytes_left -= CHUNKS * 16;
        else lines_left -= LINES;
    }
};

// Tile of an operand in any layout and at any address: elements are copied one by one, and k is adjacent in the tile.
template <class T, int LINES, int CHUNKS, int THREADS>
struct AnyOperand {
    typedef Operand<T, true, LINES, CHUNKS, THREADS> Tile;
    static constexpr int LINE = Tile::LINE, BYTES = Tile::BYTES, ADJACENT = 16 / T::BYTES;

    const unsigned char* from; // this tile's first element
    unsigned long long line_step, k_step;
    int lines, k; // lines of this tile, and number of k from this tile on
    bool by_k;

    static __device__ __forceinline__ unsigned int place(unsigned int line, unsigned int chunk) { return Tile::place(line, chunk); }

    __device__ __forceinline__ AnyOperand(const void* matrix, unsigned long long ld, bool k_adjacent, unsigned int first, unsigned int size, unsigned int depth) {
        line_step = k_adjacent ? ld * T::BYTES : T::BYTES;
        k_step = k_adjacent ? T::BYTES : ld * T::BYTES;
        from = (const unsigned char*)matrix + first * line_step;
        lines = size - first;
        k = depth;
        by_k = k_adjacent;
    }

    // Adjacent threads read adjacent elements: k or lines.
    __device__ __forceinline__ void copy(unsigned int tile) {
#pragma unroll 1
        for (unsigned int i = threadIdx.x; i < LINES * CHUNKS; i += THREADS) {
            const unsigned int line = by_k ? i / CHUNKS : i % LINES, chunk = by_k ? i % CHUNKS : i / LINES;
            const int count = (int)line < lines ? k - (int)chunk * ADJACENT : 0;
            copy_elements<T::BYTES>(tile + place(line, chunk), from + line * line_step + chunk * ADJACENT * k_step, k_step, count);
        }
        from += CHUNKS * ADJACENT * k_step;
        k -= CHUNKS * ADJACENT;
    }
};

__device__ __forceinline__ unsigned int to_tf32(unsigned int x) {
    unsigned int rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(__uint_as_float(x)));
    return rounded;
}

// Loads the operands of one step for 16 rows of A (IS_A) or 16 columns of B from `first` of the tile.
template <class T, class Op, bool BY_K, bool IS_A>
__device__ __forceinline__ void load_step(unsigned int (&r)[4], unsigned int tile, unsigned int first, unsigned int step) {
    const unsigned int lane = threadIdx.x & 31, row = lane & 7, one = lane >> 3 & 1, two = lane >> 4;
    if (BY_K) {
        load_matrices(r, tile + Op::place(first + row + 8 * (IS_A ? one : two), 2 * step + (IS_A ? two : one)));
    } else if (T::BYTES == 2) {
        load_matrices_transposed(r, tile + Op::place(16 * step + row + 8 * (IS_A ? two : one), first / 8 + (IS_A ? one : two)));
    } else {
        // `first` is a multiple of 16 and k & 3 is t, so the swizzle depends on the lane's bits alone.
        const unsigned int g = lane >> 2, t = lane & 3, mixed = (g >> 2 ^ t << 1) * 16, base = tile + t * Op::LINE + (g & 3) * 4 + first / 32 * 128;
#pragma unroll
        for (unsigned int i = 0; i < 4; ++i) {
            const unsigned int half = IS_A ? i & 1 : i >> 1, later = IS_A ? i >> 1 : i & 1;
            r[i] = load_word(base + (mixed ^ (first / 4 % 8 + 2 * half) * 16) + (8 * step + 4 * later) * Op::LINE);
        }
    }
    if (T::BYTES == 4) {
#pragma unroll
        for (int i = 0; i < 4; ++i) r[i] = to_tf32(r[i]);
    }
}

// Kernels for tiles of BM x BN elements of C.
template <class T, int BM, int BN, int STEPS, int WM, int WN, int STAGES>
struct MmaTile {
    typedef typename T::Sum Sum;
    static constexpr int THREADS = BM / WM * (BN / WN) * 32, BK = 32 * STEPS / T::BYTES;
    // Padding of 8 elements per row of accumulators against bank conflicts.
    static constexpr int WIDE = BN + 8;
    static_assert(STEPS % 2 == 0, "operands of two steps alternate");

    Place place;
    __device__ __forceinline__ explicit MmaTile(const Place& place_) : place(place_) {}

    // Operands with aligned rows. A_BY_K: k is adjacent in A; B_BY_K: k is adjacent in B.
    template <bool A_BY_K, bool B_BY_K>
    __device__ __forceinline__ void sum_aligned(const GemmArgs& g, const void* a, const void* b) const {
        typedef Operand<T, A_BY_K, A_BY_K ? BM : BK, A_BY_K ? 2 * STEPS : BM * T::BYTES / 16, THREADS> A;
        typedef Operand<T, B_BY_K, B_BY_K ? BN : BK, B_BY_K ? 2 * STEPS : BN * T::BYTES / 16, THREADS> B;
        sum_products<A, B, A_BY_K, B_BY_K>(g, a, b);
    }

    // Operands in any layout, at any address.
    __device__ __forceinline__ void sum_any(const GemmArgs& g, const void* a, const void* b) const {
        sum_products<AnyOperand<T, BM, 2 * STEPS, THREADS>, AnyOperand<T, BN, 2 * STEPS, THREADS>, true, true>(g, a, b);
    }

    // Leaves the accumulators in shared memory, row by row. A_BY_K, B_BY_K: whether k is adjacent in the tiles of A and
    // B.
    template <class A, class B, bool A_BY_K, bool B_BY_K>
    __device__ __forceinline__ void sum_products(const GemmArgs& g, const void* a, const void* b) const {
        constexpr unsigned int STAGE = A::BYTES + B::BYTES;
        extern __shared__ __align__(128) unsigned char memory[];
        const unsigned int ring = (unsigned int)__cvta_generic_to_shared(memory);

        A from_a((const unsigned char*)a + place.a * T::BYTES, g.lda, g.a_by_k, place.row, place.rows, place.k);
        B from_b((const unsigned char*)b + place.b * T::BYTES, g.ldb, g.b_by_k, place.column, g.n, place.k);
        const int tiles = (place.k + BK - 1) / BK;
#pragma unroll 1
        for (int s = 0; s < STAGES - 1; ++s) {
            if (s < tiles) {
                from_a.copy(ring + s * STAGE);
                from_b.copy(ring + s * STAGE + A::BYTES);
            }
            commit_copies();
        }

        const unsigned int warp = threadIdx.x / 32, warp_row = warp % (BM / WM) * WM, warp_column = warp / (BM / WM) * WN;
        Sum sums[WM / 16][WN / 8][4] = {};
        unsigned int left[2][WM / 16][4], right[2][WN / 16][4];
        auto load = [&](int to, unsigned int stage, int step) {
            const unsigned int at = ring + stage * STAGE;
#pragma unroll
            for (int i = 0; i < WM / 16; ++i) load_step<T, A, A_BY_K, true>(left[to][i], at, warp_row + 16 * i, step);
#pragma unroll
            for (int j = 0; j < WN / 16; ++j) load_step<T, B, B_BY_K, false>(right[to][j], at + A::BYTES, warp_column + 16 * j, step);
        };

        wait_for_copies<STAGES - 2>();
        __syncthreads();
        load(0, 0, 0);
        unsigned int stage = 0, filled = STAGES - 1;
        for (int t = 0; t < tiles; ++t) {
#pragma unroll
            for (int step = 0; step < STEPS; ++step) {
                if (step == STEPS - 1) {
                    wait_for_copies<STAGES - 2>();
                    __syncthreads();
                    stage = stage + 1 == STAGES ? 0 : stage + 1;
                }
                load((step + 1) & 1, stage, (step + 1) % STEPS);
                if (step == 0) {
                    if (t + STAGES - 1 < tiles) {
                        from_a.copy(ring + filled * STAGE);
                        from_b.copy(ring + filled * STAGE + A::BYTES);
                    }
                    commit_copies();
                    filled = filled + 1 == STAGES ? 0 : filled + 1;
                }
#pragma unroll
                for (int i = 0; i < WM / 16; ++i)
#pragma unroll
                    for (int j = 0; j < WN / 8; ++j) {
                        const int column_of = i & 1 ? WN / 8 - 1 - j : j; // reuses operands of the last product
                        multiply(T(), sums[i][column_of], left[step & 1][i], &right[step & 1][column_of / 2][column_of % 2 * 2]);
                    }
            }
        }

        wait_for_copies<0>();
        __syncthreads();
        Sum* tile_of_c = (Sum*)memory;
        const unsigned int lane = threadIdx.x & 31;
#pragma unroll
        for (int i = 0; i < WM / 16; ++i)
#pragma unroll
            for (int j = 0; j < WN / 8; ++j)
#pragma unroll
                for (int half = 0; half < 2; ++half) {
                    Sum* to = tile_of_c + (warp_row + 16 * i + 8 * half + lane / 4) * WIDE + warp_column + 8 * j + lane % 4 * 2;
                    to[0] = sums[i][j][2 * half];
                    to[1] = sums[i][j][2 * half + 1];
                }
    }

    // Writes C from the accumulators; a warp writes whole rows.
    __device__ __forceinline__ void finish(const GemmArgs& g, void* c, const Data& data) const {
        extern __shared__ __align__(128) unsigned char memory[];
        __syncthreads();
        finish_rows<BN, WIDE, THREADS>(g, c, data, place, (const Sum*)memory, BM, 0);
    }
};
#endif
