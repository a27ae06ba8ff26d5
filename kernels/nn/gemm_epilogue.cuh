// What happens to the sums of a matrix multiplication before they are written: alpha, beta, bias, GELU, residual, and the
// rounding to the format of C. Every gemm kernel includes it, so that all of them write the same.
#pragma once

// Formats of C, of the bias and of the residual; C of integers is always s32. As in src/nn/gemm/cuda/mod.rs.
constexpr unsigned int OUT_F32 = 0, OUT_F16 = 1, OUT_BF16 = 2;
// What is added, and whether GELU follows.
constexpr unsigned int EPILOGUE_NONE = 0, EPILOGUE_BIAS = 1, EPILOGUE_BIAS_GELU = 2, EPILOGUE_RESIDUAL = 3;

__device__ __forceinline__ float gelu(float x) {
    return 0.5f * x * (1.0f + tanhf(0.7978845608028654f * (x + 0.044715f * x * x * x)));
}

// Four neighbours from `at` on, of which `count` exist. `g.quads`: all four exist in every buffer, and their address is a
// multiple of their size.
__device__ __forceinline__ void read_four(const GemmArgs& g, const void* from, unsigned long long at, unsigned int count, float (&x)[4]) {
    if (g.out == OUT_F32) {
        const float* p = (const float*)from + at;
        if (g.quads) {
            const float4 four = *(const float4*)p;
            x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
        } else {
            for (unsigned int i = 0; i < 4; ++i) x[i] = i < count ? p[i] : 0.0f;
        }
    } else {
        const unsigned short* p = (const unsigned short*)from + at;
        unsigned short bits[4];
        if (g.quads) {
            const uint2 four = *(const uint2*)p;
            bits[0] = four.x & 0xffff, bits[1] = four.x >> 16, bits[2] = four.y & 0xffff, bits[3] = four.y >> 16;
        } else {
            for (unsigned int i = 0; i < 4; ++i) bits[i] = i < count ? p[i] : 0;
        }
        for (unsigned int i = 0; i < 4; ++i) x[i] = g.out == OUT_F16 ? to_float(f16{bits[i]}) : to_float(bf16{bits[i]});
    }
}

__device__ __forceinline__ void read_four(const GemmArgs&, const void* from, unsigned long long at, unsigned int count, int (&x)[4]) {
    for (unsigned int i = 0; i < 4; ++i) x[i] = i < count ? ((const int*)from)[at + i] : 0;
}

__device__ __forceinline__ void write_four(const GemmArgs& g, void* to, unsigned long long at, unsigned int count, const float (&x)[4]) {
    if (g.out == OUT_F32) {
        float* p = (float*)to + at;
        if (g.quads) *(float4*)p = make_float4(x[0], x[1], x[2], x[3]);
        else for (unsigned int i = 0; i < count; ++i) p[i] = x[i];
    } else {
        unsigned short* p = (unsigned short*)to + at;
        unsigned int bits[4];
        for (unsigned int i = 0; i < 4; ++i) bits[i] = g.out == OUT_F16 ? to_f16(x[i]).bits : to_bf16(x[i]).bits;
        if (g.quads) *(uint2*)p = make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
        else for (unsigned int i = 0; i < 4; ++i) if (i < count) p[i] = bits[i];
    }
}

__device__ __forceinline__ void write_four(const GemmArgs& g, void* to, unsigned long long at, unsigned int count, const int (&x)[4]) {
    int* p = (int*)to + at;
    if (g.quads) *(int4*)p = make_int4(x[0], x[1], x[2], x[3]);
    else for (unsigned int i = 0; i < 4; ++i) if (i < count) p[i] = x[i];
}

__device__ __forceinline__ float alpha_of(const GemmArgs& g, float) { return g.alpha; }
__device__ __forceinline__ int alpha_of(const GemmArgs& g, int) { return g.alpha_int; }
__device__ __forceinline__ float beta_of(const GemmArgs& g, float) { return g.beta; }
__device__ __forceinline__ int beta_of(const GemmArgs& g, int) { return g.beta_int; }
__device__ __forceinline__ float add_product(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ int add_product(int a, int b, int c) { return a * b + c; }

// Writes four neighbours of a row of C from their sums.
template <class Sum>
__device__ __forceinline__ void finish(const GemmArgs& g, void* c, const void* extra, unsigned int batch, unsigned int row, unsigned int column, Sum (&x)[4]) {
    if (row >= g.m || column >= g.n) return;
    const unsigned long long at = batch * g.stride_c + row * g.ldc + column;
    const unsigned int count = min(g.n - column, 4u);
    const Sum alpha = alpha_of(g, x[0]), beta = beta_of(g, x[0]);
    Sum other[4];
    for (unsigned int i = 0; i < 4; ++i) x[i] *= alpha;
    if (beta != 0) {
        read_four(g, c, at, count, other);
        for (unsigned int i = 0; i < 4; ++i) x[i] = add_product(beta, other[i], x[i]);
    }
    if (g.epilogue != EPILOGUE_NONE) {
        if (g.epilogue == EPILOGUE_RESIDUAL) {
            read_four(g, extra, at, count, other);
        } else if (g.bias_by_row) {
            read_four(g, extra, row & ~3u, min(g.m - (row & ~3u), 4u), other);
            other[0] = other[1] = other[2] = other[3] = other[row & 3];
        } else {
            read_four(g, extra, column, count, other);
        }
        for (unsigned int i = 0; i < 4; ++i) x[i] += other[i];
        if (g.epilogue == EPILOGUE_BIAS_GELU)
            for (unsigned int i = 0; i < 4; ++i) x[i] = gelu(x[i]);
    }
    write_four(g, c, at, count, x);
}
