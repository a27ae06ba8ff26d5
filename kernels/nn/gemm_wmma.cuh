// Matrix multiplication by WMMA fragments of 16 x 16 x 16, f16 or bf16 with f32 accumulators, from compute capability
// 8.0 on: the simple use of tensor cores, in which the compiler chooses the register layout of fragments. A block of 8
// warps computes 128 x 128 elements of C, a warp 64 x 32; tiles of 32 k are copied while the previous ones are
// multiplied. k is adjacent in the tiles; operands stored that way are copied by cp.async, others element by element.
#pragma once
#include "gen/nn-gemm_wmma.cuh" // the same kernel for both types of operands
#include "nn/gemm_copy.cuh"
#include "nn/gemm_epilogue.cuh"

#if __CUDA_ARCH__ >= 800
struct F16 {
    static constexpr int WORDS = 8; // registers of an operand's fragment
    static __device__ __forceinline__ void load_a(unsigned int (&r)[8], unsigned int at, unsigned int step) {
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(at), "r"(step) : "memory");
    }
    static __device__ __forceinline__ void load_b(unsigned int (&r)[8], unsigned int at, unsigned int step) {
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8], %9;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7]) : "r"(at), "r"(step) : "memory");
    }
    static __device__ __forceinline__ void multiply(float (&c)[8], const unsigned int (&a)[8], const unsigned int (&b)[8]) {
        asm("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11,%12,%13,%14,%15}, "
            "{%16,%17,%18,%19,%20,%21,%22,%23}, {%0,%1,%2,%3,%4,%5,%6,%7};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
              "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]));
    }
};

struct BF16 {
    static constexpr int WORDS = 4;
    static __device__ __forceinline__ void load_a(unsigned int (&r)[4], unsigned int at, unsigned int step) {
        asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.shared.bf16 {%0,%1,%2,%3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at), "r"(step) : "memory");
    }
    static __device__ __forceinline__ void load_b(unsigned int (&r)[4], unsigned int at, unsigned int step) {
        asm volatile("wmma.load.b.sync.aligned.col.m16n16k16.shared.bf16 {%0,%1,%2,%3}, [%4], %5;"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at), "r"(step) : "memory");
    }
    static __device__ __forceinline__ void multiply(float (&c)[8], const unsigned int (&a)[4], const unsigned int (&b)[4]) {
        asm("wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, "
            "{%12,%13,%14,%15}, {%0,%1,%2,%3,%4,%5,%6,%7};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]), "+f"(c[7])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    }
};

__device__ __forceinline__ void store_fragment(unsigned int at, const float (&c)[8], unsigned int step) {
    asm volatile("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8}, %9;"
                 ::"r"(at), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]), "f"(c[4]), "f"(c[5]), "f"(c[6]), "f"(c[7]), "r"(step) : "memory");
}

// 128 lines of 32 k; a line takes 80 bytes, which avoids bank conflicts and keeps lines aligned to 16 bytes.
struct WmmaOperand {
    static constexpr unsigned int LINE = 80, BYTES = 128 * LINE;

    const unsigned char* from; // first line of this block, of the next tile
    unsigned long long line_step, k_step;
    int lines, left;
    bool by_k, by_chunks;

    __device__ __forceinline__ WmmaOperand(const void* matrix, unsigned long long before, unsigned long long ld, bool k_adjacent, unsigned int first, unsigned int size, unsigned int depth, bool is_aligned) {
        line_step = k_adjacent ? 2 * ld : 2;
        k_step = k_adjacent ? 2 : 2 * ld;
        from = (const unsigned char*)matrix + 2 * before + first * line_step;
        lines = (int)(size - first);
        left = (int)depth;
        by_k = k_adjacent;
        by_chunks = k_adjacent && is_aligned;
    }

    __device__ __forceinline__ void copy(unsigned int tile) {
#pragma unroll 1
        for (unsigned int i = threadIdx.x; i < 512; i += 256) {
            const unsigned int line = by_k ? i / 4 : i % 128, chunk = by_k ? i % 4 : i / 128;
            const int count = (int)line < lines ? min(max(left - (int)chunk * 8, 0), 8) : 0;
            const unsigned int to = tile + line * LINE + chunk * 16;
            const unsigned char* at = from + line * line_step + chunk * 8 * k_step;
            if (by_chunks) copy_chunk(to, at, 2 * count);
            else copy_elements<2>(to, at, k_step, count);
        }
        from += 32 * k_step;
        left -= 32;
    }
};

template <class T>
__device__ __forceinline__ void gemm_by_fragments(const GemmArgs& g, const void* a, const void* b, void* c, const Data& data) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned int ring = (unsigned int)__cvta_generic_to_shared(memory);
    constexpr unsigned int STAGE = 2 * WmmaOperand::BYTES, LINE = WmmaOperand::LINE;
    Place place = place_in_batch<128, 128>(g, blockIdx.x);
    WmmaOperand from_a(a, place.a, g.lda, g.a_by_k, place.row, place.rows, place.k, g.aligned);
    WmmaOperand from_b(b, place.b, g.ldb, g.b_by_k, place.column, g.n, place.k, g.aligned);
    const unsigned int warp = threadIdx.x / 32, row = warp % 2 * 64, column = warp / 2 * 32;
    const int tiles = (place.k + 31) / 32;
    float sums[4][2][8] = {};
    if (tiles > 0) {
        from_a.copy(ring);
        from_b.copy(ring + WmmaOperand::BYTES);
    }
    commit_copies();
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        const unsigned int now = ring + t % 2 * STAGE, next = ring + (t + 1) % 2 * STAGE;
        if (t + 1 < tiles) {
            from_a.copy(next);
            from_b.copy(next + WmmaOperand::BYTES);
        }
        commit_copies();
        wait_for_copies<1>();
        __syncthreads();
#pragma unroll
        for (int step = 0; step < 2; ++step) {
            unsigned int left[4][T::WORDS], right[2][T::WORDS];
#pragma unroll
            for (int i = 0; i < 4; ++i) T::load_a(left[i], now + (row + 16 * i) * LINE + 32 * step, LINE / 2);
#pragma unroll
            for (int j = 0; j < 2; ++j) T::load_b(right[j], now + WmmaOperand::BYTES + (column + 16 * j) * LINE + 32 * step, LINE / 2);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) T::multiply(sums[i][j], left[i], right[j]);
        }
        __syncthreads();
    }
    wait_for_copies<0>();
    place = place_in_batch<128, 128>(g, block_again());
    // 32 rows at a time, so that the epilogue's code exists once.
#pragma unroll 1
    for (unsigned int pass = 0; pass < 4; ++pass) {
        __syncthreads();
        if (row / 64 == pass / 2) {
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    float fragment[8];
#pragma unroll
                    for (int e = 0; e < 8; ++e) fragment[e] = pass % 2 ? sums[2 + i][j][e] : sums[i][j][e];
                    store_fragment(ring + (16 * i * 132 + column + 16 * j) * 4, fragment, 132);
                }
        }
        __syncthreads();
        finish_rows<128, 132, 256>(g, c, data, place, (const float*)memory, 32, 32 * pass);
    }
}
#endif

extern "C" __global__ void gemm_wmma(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux) {
#if __CUDA_ARCH__ >= 800
    gemm_by_fragments<OPERANDS>(g, a, b, c, Data{bias, other, aux, nullptr, nullptr});
#endif
}
