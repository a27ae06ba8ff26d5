// Epilogue for accumulators in a warp's registers in tensor-core layout: 16 rows of 32, of which a lane has two
// adjacent elements in each eight columns of rows lane / 4 and lane / 4 + 8. Four lanes exchange 16-bit values, so that
// each accesses 16 bytes.
#pragma once
#include "nn/gemm_epilogue.cuh"
#include "nn/narrow.cuh"

#if __CUDA_ARCH__ >= 900
// Row length of accumulators in shared memory, padded against bank conflicts.
constexpr int WIDE_OF_FRAGMENT = 40;

// Transposes words among four lanes: word j of lane i becomes word i of lane j.
__device__ __forceinline__ void exchange_words(unsigned int (&w)[4]) {
    const bool odd = threadIdx.x & 1, upper = threadIdx.x & 2;
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
        const unsigned int other = __shfl_xor_sync(0xffffffffu, odd ? w[i] : w[i + 1], 1);
        if (odd) w[i] = other;
        else w[i + 1] = other;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const unsigned int other = __shfl_xor_sync(0xffffffffu, upper ? w[i] : w[i + 2], 2);
        if (upper) w[i] = other;
        else w[i + 2] = other;
    }
}

// Reads this lane's values of a row, 32 columns of which begin at `at` and `left` exist; zeros if the row does not
// exist.
template <unsigned int OUT>
__device__ __forceinline__ void read_fragment(const void* from, unsigned long long at, bool exists, unsigned int left, float* y) {
    const unsigned int lane = threadIdx.x % 4;
    if constexpr (OUT == OUT_F32) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float2 two = exists && 8 * j < left ? *(const float2*)((const float*)from + at + 8 * j + 2 * lane) : make_float2(0.0f, 0.0f);
            y[2 * j] = two.x, y[2 * j + 1] = two.y;
        }
    } else {
        unsigned int words[4] = {};
        if (exists && 8 * lane < left) *(uint4*)words = *(const uint4*)((const unsigned short*)from + at + 8 * lane);
        exchange_words(words);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const unsigned short bits = words[i / 2] >> i % 2 * 16;
            y[i] = OUT == OUT_F16 ? to_float(f16{bits}) : to_float(bf16{bits});
        }
    }
}

template <unsigned int OUT>
__device__ __forceinline__ void write_fragment(void* to, unsigned long long at, bool exists, unsigned int left, const float* x) {
    const unsigned int lane = threadIdx.x % 4;
    if constexpr (OUT == OUT_F32) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
            if (exists && 8 * j < left) *(float2*)((float*)to + at + 8 * j + 2 * lane) = make_float2(x[2 * j], x[2 * j + 1]);
    } else {
        alignas(16) unsigned int words[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) words[j] = OUT == OUT_F16 ? narrow_two(x[2 * j], x[2 * j + 1], f16{}) : narrow_two(x[2 * j], x[2 * j + 1], bf16{});
        exchange_words(words);
        if (exists && 8 * lane < left) *(uint4*)((unsigned short*)to + at + 8 * lane) = *(const uint4*)words;
    }
}

// Reads this lane's values in the format of C.
__device__ __forceinline__ void read_fragment(const GemmArgs& g, const void* from, unsigned long long at, bool exists, unsigned int left, float* y) {
    if (g.out == OUT_F32) read_fragment<OUT_F32>(from, at, exists, left, y);
    else if (g.out == OUT_F16) read_fragment<OUT_F16>(from, at, exists, left, y);
    else read_fragment<OUT_BF16>(from, at, exists, left, y);
}
__device__ __forceinline__ void write_fragment(const GemmArgs& g, void* to, unsigned long long at, bool exists, unsigned int left, const float* x) {
    if (g.out == OUT_F32) write_fragment<OUT_F32>(to, at, exists, left, x);
    else if (g.out == OUT_F16) write_fragment<OUT_F16>(to, at, exists, left, x);
    else write_fragment<OUT_BF16>(to, at, exists, left, x);
}

// Whether the epilogue is alpha and a bias only.
__device__ __forceinline__ bool is_plain(const GemmArgs& g, const Data& data, const Place& p) {
    return g.quads && g.beta == 0.0f && p.pieces == 1 && !data.aux && !data.other && g.activation == NO_ACTIVATION;
}
// Writes a tile of C like finish_fragment.
template <unsigned int OUT>
__device__ __forceinline__ void finish_plain(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int first_row, unsigned int column, const float* sums) {
    const unsigned int row = first_row + threadIdx.x % 32 / 4, left = g.n - column;
    const unsigned long long at = p.c + row * g.ldc + column;
    float x[16], y[8];
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = sums[i % 8 / 2 * 4 + i / 8 * 2 + i % 2] * g.alpha;
    if (data.bias) {
        read_fragment<OUT>(data.bias, column, true, left, y);
#pragma unroll
        for (int i = 0; i < 16; ++i) x[i] += y[i % 8];
    }
    write_fragment<OUT>(c, at, row < p.rows, left, x);
    write_fragment<OUT>(c, at + 8 * g.ldc, row + 8 < p.rows, left, x + 8);
}

// Writes a tile of C whose groups of eight elements are one or two accesses; a bias belongs to columns.
__device__ __forceinline__ void finish_fragment(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int first_row, unsigned int column, float (&sums)[16]) {
    const unsigned int row = first_row + threadIdx.x % 32 / 4, left = g.n - column;
    const unsigned long long at[2] = {p.c + row * g.ldc + column, p.c + (row + 8) * g.ldc + column};
    const bool exists[2] = {row < p.rows, row + 8 < p.rows};
    const float beta = p.piece ? 1.0f : g.beta;
    float x[16], y[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = sums[i % 8 / 2 * 4 + i / 8 * 2 + i % 2] * g.alpha; // row by row
    if (beta != 0) {
#pragma unroll
        for (int half = 0; half < 2; ++half) read_fragment(g, c, at[half], exists[half], left, y + 8 * half);
#pragma unroll
        for (int i = 0; i < 16; ++i) x[i] = fmaf(beta, y[i], x[i]);
    }
    if (data.bias) {
        read_fragment(g, data.bias, column, true, left, y);
#pragma unroll
        for (int i = 0; i < 16; ++i) x[i] += y[i % 8];
    }
    if (data.aux)
#pragma unroll
        for (int half = 0; half < 2; ++half) write_fragment(g, data.aux, at[half], exists[half], left, x + 8 * half);
    if (data.other) {
#pragma unroll
        for (int half = 0; half < 2; ++half) read_fragment(g, data.other, at[half], exists[half], left, y + 8 * half);
        if (g.is_gradient) times_slope(g.activation, x, y);
        else
#pragma unroll
            for (int i = 0; i < 16; ++i) x[i] += y[i];
    } else if (g.activation != NO_ACTIVATION) {
        activate(g.activation, x);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) write_fragment(g, c, at[half], exists[half], left, x + 8 * half);
}

// Writes any tile of C element by element, from accumulators in shared memory.
__device__ __forceinline__ void finish_elements(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, const float (&sums)[16], unsigned int room) {
    const unsigned int lane = threadIdx.x % 32, to = room + (lane / 4 * WIDE_OF_FRAGMENT + lane % 4 * 2) * 4;
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; ++i)
        asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + (i % 2 * 8 * WIDE_OF_FRAGMENT + i / 2 * 8) * 4), "f"(sums[2 * i]), "f"(sums[2 * i + 1]) : "memory");
    __syncwarp();
#pragma unroll 1
    for (unsigned int line = 0; line < 16; ++line) {
        float x[1];
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x[0]) : "r"(room + (line * WIDE_OF_FRAGMENT + lane) * 4) : "memory");
        finish_sums(g, c, data, p, row + line, column + lane, x);
    }
}
#endif
