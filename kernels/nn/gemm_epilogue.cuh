// What happens to the sums of a matrix multiplication before they are written: alpha, beta, bias, activation, residual, and the
// rounding to the format of C. Every gemm kernel includes it, so that all of them write the same.
#pragma once

// Formats of C and of the epilogue's data; C of integers is always s32. As in src/nn/gemm/cuda/mod.rs.
constexpr unsigned int OUT_F32 = 0, OUT_F16 = 1, OUT_BF16 = 2;
constexpr unsigned int NO_ACTIVATION = 0, GELU_TANH = 1, GELU_ERF = 2, RELU = 3, RELU_SQUARED = 4;

// Which dimension is divided into groups whose ends are known on the device only.
constexpr unsigned int SPLIT_ROWS = 1, SPLIT_DEPTH = 2;

// What is added to sums, and where their value before the activation is written; null pointers: nothing.
struct Data {
    const void *bias, *other; // other: residual, or argument of the activation's derivative
    void* aux;
    const float *row_scales, *column_scales; // factors of integer sums
};

// Which part of C a block computes: the elements before its matrices in their buffers, its first row and column in them, the
// rows of A and the sums' length.
struct Place {
    unsigned long long a, b, c, bias, row_scale, column_scale;
    unsigned int row, column, rows, k;
};

__device__ __forceinline__ unsigned long long first_of(const GemmArgs& g, unsigned int matrix, unsigned long long outer, unsigned long long stride) {
    return matrix / g.batch * outer + matrix % g.batch * stride;
}

// The block's number, read again: a Place that is made from it after the sums takes no registers while they are added up.
__device__ __forceinline__ unsigned int block_again() {
    unsigned int block;
    asm volatile("mov.u32 %0, %ctaid.x;" : "=r"(block));
    return block;
}

// Blocks that run at the same time share rows and columns: eight rows of tiles, column by column.
template <int BM, int BN>
__device__ __forceinline__ Place place_in_batch(const GemmArgs& g, unsigned int block) {
    const unsigned int rows = (g.m + BM - 1) / BM, columns = (g.n + BN - 1) / BN, tile = block % (rows * columns), matrix = block / (rows * columns);
    const unsigned int group = tile / (8 * columns), height = min(rows - group * 8, 8u), inside = tile % (8 * columns);
    Place p;
    p.a = first_of(g, matrix, g.outer_a, g.stride_a);
    p.b = first_of(g, matrix, g.outer_b, g.stride_b);
    p.c = first_of(g, matrix, g.outer_c, g.stride_c);
    p.bias = 0;
    p.row_scale = (unsigned long long)matrix * g.m;
    p.column_scale = (unsigned long long)matrix * g.n;
    p.row = (group * 8 + inside % height) * BM;
    p.column = inside / height * BN;
    p.rows = g.m;
    p.k = g.k;
    return p;
}

// Group i has rows (or k) offsets[i] .. offsets[i + 1]. False: there is nothing for this block.
template <int BM, int BN>
__device__ __forceinline__ bool place_in_group(const GemmArgs& g, const void* from, unsigned int block, Place& p) {
    const unsigned int* offsets = (const unsigned int*)from;
    const unsigned int columns = (g.n + BN - 1) / BN, size = g.split == SPLIT_ROWS ? g.m : g.k;
    unsigned int tile = block / columns, group = 0, start, end;
    if (g.split == SPLIT_DEPTH) {
        const unsigned int rows = (g.m + BM - 1) / BM;
        group = tile / rows;
        tile %= rows;
    }
    for (;; ++group) {
        if (group >= g.batch) return false;
        start = min(offsets[group], size);
        end = max(min(offsets[group + 1], size), start);
        const unsigned int tiles = (end - start + BM - 1) / BM;
        if (g.split == SPLIT_DEPTH || tile < tiles) break;
        tile -= tiles;
    }
    const unsigned long long first = start;
    const bool is_rows = g.split == SPLIT_ROWS;
    p.a = first * ((g.a_by_k != 0) == is_rows ? g.lda : 1);
    p.b = is_rows ? group * g.stride_b : first * (g.b_by_k ? 1 : g.ldb);
    p.c = is_rows ? first * g.ldc : group * g.stride_c;
    p.bias = p.column_scale = (unsigned long long)group * g.n;
    p.row_scale = is_rows ? first : (unsigned long long)group * g.m;
    p.row = tile * BM;
    p.column = block % columns * BN;
    p.rows = is_rows ? end - start : g.m;
    p.k = is_rows ? g.k : end - start;
    return true;
}

template <int BM, int BN>
__device__ __forceinline__ bool place_of(const GemmArgs& g, const void* offsets, unsigned int block, Place& p) {
    if (g.split) return place_in_group<BM, BN>(g, offsets, block, p);
    p = place_in_batch<BM, BN>(g, block);
    return true;
}

// The epilogue's data of a part of C.
__device__ __forceinline__ Data data_at(const GemmArgs& g, const Place& p, const Data& all) {
    const unsigned int bytes = g.out == OUT_F32 ? 4 : 2;
    Data data = all;
    if (all.bias) data.bias = (const unsigned char*)all.bias + p.bias * bytes;
    if (all.row_scales) data.row_scales += p.row_scale;
    if (all.column_scales) data.column_scales += p.column_scale;
    return data;
}

// gelu is x times 1 / (1 + exp(-2 u)) = 1 / (1 + 2^(x (a + b x^2))), which does not cancel for negative x. Approximate
// exponential and quotient, each within two units in the last place: with expf and an exact quotient the epilogue took longer than
// the sums, 137 instead of 199 TFLOP/s for 8192 x 3072 x 768 of bf16 on an H200.
__device__ __forceinline__ float gelu_share(float x) {
    float power, share;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * fmaf(-0.10294324f, x * x, -2.3022082f)));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(1.0f + power));
    return share;
}
// Not inlined: kernels have eight copies of the epilogue.
__device__ __noinline__ float other_activation(unsigned int f, float x) {
    if (f == GELU_ERF) return 0.5f * x * erfcf(-0.70710678118654752f * x);
    x = fmaxf(x, 0.0f);
    return f == RELU ? x : x * x;
}
__device__ __noinline__ float other_slope(unsigned int f, float x) {
    if (f == GELU_ERF) return 0.5f * erfcf(-0.70710678118654752f * x) + x * 0.3989422804014327f * expf(-0.5f * x * x);
    if (f == RELU) return x > 0.0f ? 1.0f : 0.0f;
    return 2.0f * fmaxf(x, 0.0f);
}
// x = f(x), and x = x f'(z). One branch for all N, whose evaluations overlap.
template <int N>
__device__ __forceinline__ void activate(unsigned int f, float (&x)[N]) {
    if (f == GELU_TANH)
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= gelu_share(x[i]);
    else
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = other_activation(f, x[i]);
}
template <int N>
__device__ __forceinline__ void times_slope(unsigned int f, float (&x)[N], const float (&z)[N]) {
    if (f == GELU_TANH)
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float s = gelu_share(z[i]), t = z[i] * s;
            x[i] *= fmaf(t - t * s, fmaf(0.21406445f, z[i] * z[i], 1.5957691216057308f), s);
        }
    else
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= other_slope(f, z[i]);
}
// Not called: the host refuses it.
template <int N>
__device__ __forceinline__ void activate(unsigned int, int (&)[N]) {}
template <int N>
__device__ __forceinline__ void times_slope(unsigned int, int (&)[N], const int (&)[N]) {}

// N = 1 or 4 neighbours from `at` on. Four are one access: their address is a multiple of their size.
template <int N>
__device__ __forceinline__ void read(const GemmArgs& g, const void* from, unsigned long long at, float (&x)[N]) {
    if (g.out == OUT_F32) {
        if (N == 4) *(float4*)x = *(const float4*)((const float*)from + at);
        else x[0] = ((const float*)from)[at];
    } else {
        alignas(8) unsigned short bits[N];
        if (N == 4) *(uint2*)bits = *(const uint2*)((const unsigned short*)from + at);
        else bits[0] = ((const unsigned short*)from)[at];
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = g.out == OUT_F16 ? to_float(f16{bits[i]}) : to_float(bf16{bits[i]});
    }
}

template <int N>
__device__ __forceinline__ void read(const GemmArgs&, const void* from, unsigned long long at, int (&x)[N]) {
    if (N == 4) *(int4*)x = *(const int4*)((const int*)from + at);
    else x[0] = ((const int*)from)[at];
}

// Two numbers in the format of C.
__device__ __forceinline__ unsigned int pair(const GemmArgs& g, float low, float high) {
    if (g.out == OUT_F16) return to_f16(low).bits | (unsigned int)to_f16(high).bits << 16;
#if __CUDA_ARCH__ >= 800
    unsigned int bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
#else
    return to_bf16(low).bits | (unsigned int)to_bf16(high).bits << 16;
#endif
}

template <int N>
__device__ __forceinline__ void write(const GemmArgs& g, void* to, unsigned long long at, const float (&x)[N]) {
    if (g.out == OUT_F32) {
        if (N == 4) *(float4*)((float*)to + at) = *(const float4*)x;
        else ((float*)to)[at] = x[0];
    } else {
        if constexpr (N == 4) *(uint2*)((unsigned short*)to + at) = make_uint2(pair(g, x[0], x[1]), pair(g, x[2], x[3]));
        else ((unsigned short*)to)[at] = g.out == OUT_F16 ? to_f16(x[0]).bits : to_bf16(x[0]).bits;
    }
}

template <int N>
__device__ __forceinline__ void write(const GemmArgs&, void* to, unsigned long long at, const int (&x)[N]) {
    if (N == 4) *(int4*)((int*)to + at) = *(const int4*)x;
    else ((int*)to)[at] = x[0];
}

__device__ __forceinline__ float alpha_of(const GemmArgs& g, float) { return g.alpha; }
__device__ __forceinline__ int alpha_of(const GemmArgs& g, int) { return g.alpha_int; }
__device__ __forceinline__ float beta_of(const GemmArgs& g, float) { return g.beta; }
__device__ __forceinline__ int beta_of(const GemmArgs& g, int) { return g.beta_int; }
__device__ __forceinline__ float add_product(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ int add_product(int a, int b, int c) { return a * b + c; }

// Writes N neighbours of a row of C from their sums.
template <class Sum, int N>
__device__ __forceinline__ void finish(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, Sum (&x)[N]) {
    const unsigned long long at = p.c + row * g.ldc + column;
    const Sum alpha = alpha_of(g, x[0]), beta = beta_of(g, x[0]);
    alignas(16) Sum y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] *= alpha;
    if (beta != 0) {
        read(g, c, at, y);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = add_product(beta, y[i], x[i]);
    }
    if (data.bias) {
        if (g.bias_by_row) {
            Sum bias[1];
            read(g, data.bias, row, bias);
#pragma unroll
            for (int i = 0; i < N; ++i) y[i] = bias[0];
        } else {
            read(g, data.bias, column, y);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += y[i];
    }
    if (data.aux) write(g, data.aux, at, x);
    if (data.other) {
        read(g, data.other, at, y);
        if (g.is_gradient) times_slope(g.activation, x, y);
        else
#pragma unroll
            for (int i = 0; i < N; ++i) x[i] += y[i];
    } else if (g.activation != NO_ACTIVATION) {
        activate(g.activation, x);
    }
    write(g, c, at, x);
}

// Sums of integers are written as they are, or with scales as floats.
template <int N>
__device__ __forceinline__ void finish_sums(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, float (&x)[N]) {
    if (row < p.rows && column < g.n) finish(g, c, data, p, row, column, x);
}
template <int N>
__device__ __forceinline__ void finish_sums(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, int (&x)[N]) {
    if (row >= p.rows || column >= g.n) return;
    if (!g.is_scaled) return finish(g, c, data, p, row, column, x);
    const float scale = data.row_scales ? data.row_scales[row] : 1.0f;
    alignas(16) float y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = (float)x[i] * scale * (data.column_scales ? data.column_scales[column + i] : 1.0f);
    finish(g, c, data, p, row, column, y);
}

// Writes `rows` x COLUMNS elements of C, from row `from` of the block's part on, from sums in shared memory, WIDE of them per row.
template <int COLUMNS, int WIDE, int THREADS, class Sum>
__device__ __forceinline__ void finish_rows(const GemmArgs& g, void* c, const Data& all, const Place& p, const Sum* sums, unsigned int rows, unsigned int from) {
    const Data data = data_at(g, p, all);
    if (g.quads) {
#pragma unroll 2
        for (unsigned int i = threadIdx.x; i < rows * (COLUMNS / 4); i += THREADS) {
            const unsigned int line = i / (COLUMNS / 4), at = i % (COLUMNS / 4) * 4;
            alignas(16) Sum x[4];
            *(uint4*)x = *(const uint4*)(sums + line * WIDE + at);
            finish_sums(g, c, data, p, p.row + from + line, p.column + at, x);
        }
    } else {
#pragma unroll 1
        for (unsigned int i = threadIdx.x; i < rows * COLUMNS; i += THREADS) {
            const unsigned int line = i / COLUMNS, at = i % COLUMNS;
            Sum x[1] = {sums[line * WIDE + at]};
            finish_sums(g, c, data, p, p.row + from + line, p.column + at, x);
        }
    }
}
