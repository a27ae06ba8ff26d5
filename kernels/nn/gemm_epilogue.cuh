// What happens to the sums of a matrix multiplication before they are written: alpha, beta, bias, GELU, residual, and the
// rounding to the format of C. Every gemm kernel includes it, so that all of them write the same.
#pragma once

// Formats of C, of the bias and of the residual; C of integers is always s32. As in src/nn/gemm/cuda/mod.rs.
constexpr unsigned int OUT_F32 = 0, OUT_F16 = 1, OUT_BF16 = 2;
// What is added, and whether GELU follows.
constexpr unsigned int EPILOGUE_NONE = 0, EPILOGUE_BIAS = 1, EPILOGUE_BIAS_GELU = 2, EPILOGUE_RESIDUAL = 3;

// 0.5 x (1 + tanh(u)) = x / (1 + exp(-2 u)), which does not cancel for negative x. The division is within two units in the last
// place: an exact one takes longer than all the rest, 137 instead of 199 TFLOP/s for 8192 x 3072 x 768 of bf16 on an H200.
__device__ __forceinline__ float gelu(float x) {
    return __fdividef(x, 1.0f + expf(-1.5957691216057308f * (x + 0.044715f * x * x * x)));
}
__device__ __forceinline__ int gelu(int x) { return x; } // not called: the host refuses it

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

template <int N>
__device__ __forceinline__ void write(const GemmArgs& g, void* to, unsigned long long at, const float (&x)[N]) {
    if (g.out == OUT_F32) {
        if (N == 4) *(float4*)((float*)to + at) = *(const float4*)x;
        else ((float*)to)[at] = x[0];
    } else {
        alignas(8) unsigned short bits[N];
#pragma unroll
        for (int i = 0; i < N; ++i) bits[i] = g.out == OUT_F16 ? to_f16(x[i]).bits : to_bf16(x[i]).bits;
        if (N == 4) *(uint2*)((unsigned short*)to + at) = *(const uint2*)bits;
        else ((unsigned short*)to)[at] = bits[0];
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
__device__ __forceinline__ void finish(const GemmArgs& g, void* c, const void* extra, unsigned int batch, unsigned int row, unsigned int column, Sum (&x)[N]) {
    if (row >= g.m || column >= g.n) return;
    const unsigned long long at = batch * g.stride_c + row * g.ldc + column;
    const Sum alpha = alpha_of(g, x[0]), beta = beta_of(g, x[0]);
    alignas(16) Sum other[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] *= alpha;
    if (beta != 0) {
        read(g, c, at, other);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = add_product(beta, other[i], x[i]);
    }
    if (g.epilogue != EPILOGUE_NONE) {
        if (g.epilogue != EPILOGUE_RESIDUAL && g.bias_by_row) {
            Sum bias[1];
            read(g, extra, row, bias);
#pragma unroll
            for (int i = 0; i < N; ++i) other[i] = bias[0];
        } else {
            read(g, extra, g.epilogue == EPILOGUE_RESIDUAL ? at : column, other);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += other[i];
        if (g.epilogue == EPILOGUE_BIAS_GELU)
#pragma unroll
            for (int i = 0; i < N; ++i) x[i] = gelu(x[i]);
    }
    write(g, c, at, x);
}

// Writes `rows` x COLUMNS elements of C, from (row, column) on, from sums in shared memory, WIDE of them per row.
template <int COLUMNS, int WIDE, int THREADS, class Sum>
__device__ __forceinline__ void finish_rows(const GemmArgs& g, void* c, const void* extra, const Sum* sums, unsigned int rows, unsigned int batch, unsigned int row, unsigned int column) {
    if (g.quads) {
#pragma unroll 2
        for (unsigned int i = threadIdx.x; i < rows * (COLUMNS / 4); i += THREADS) {
            const unsigned int line = i / (COLUMNS / 4), at = i % (COLUMNS / 4) * 4;
            alignas(16) Sum x[4];
#pragma unroll
            for (int e = 0; e < 4; ++e) x[e] = sums[line * WIDE + at + e];
            finish(g, c, extra, batch, row + line, column + at, x);
        }
    } else {
#pragma unroll 1
        for (unsigned int i = threadIdx.x; i < rows * COLUMNS; i += THREADS) {
            const unsigned int line = i / COLUMNS, at = i % COLUMNS;
            Sum x[1] = {sums[line * WIDE + at]};
            finish(g, c, extra, batch, row + line, column + at, x);
        }
    }
}
