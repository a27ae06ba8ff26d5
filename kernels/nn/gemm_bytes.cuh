// Integer sums as bytes, with the arithmetic of src/nn/quantized/cpu.rs: q8(beta f(alpha sum)), f is GELU or the identity. Modules of
// multiplications are compiled with contraction, which these intrinsics prevent: every operation is rounded once.
#pragma once

// C of integers as bytes; the other formats are in nn/gemm_epilogue.cuh.
constexpr unsigned int OUT_BYTES = 4;

// Twin of exact::exp for finite x.
__device__ __forceinline__ float exp_rounded(float x) {
    const float within = fminf(fmaxf(x, -87.0f), 88.0f);
    const float n = floorf(__fadd_rn(__fmul_rn(within, 1.44269504f), 0.5f));
    float r = __fsub_rn(within, __fmul_rn(n, 0.693359375f));
    r = __fsub_rn(r, __fmul_rn(n, -2.12194440e-4f));
    float y = __fadd_rn(__fmul_rn(1.98756915e-4f, r), 1.39819995e-3f);
    y = __fadd_rn(__fmul_rn(y, r), 8.33345191e-3f);
    y = __fadd_rn(__fmul_rn(y, r), 4.16657958e-2f);
    y = __fadd_rn(__fmul_rn(y, r), 1.66666655e-1f);
    y = __fadd_rn(__fmul_rn(y, r), 5.00000012e-1f);
    y = __fadd_rn(__fadd_rn(__fmul_rn(y, __fmul_rn(r, r)), r), 1.0f);
    y = __fmul_rn(y, __int_as_float(((int)n + 127) << 23));
    return x > 88.0f ? __int_as_float(0x7f800000) : x < -87.0f ? 0.0f : y;
}

__device__ __forceinline__ float gelu_rounded(float x) {
    const float u = __fmul_rn(0.7978846f, __fadd_rn(x, __fmul_rn(0.044715f, __fmul_rn(__fmul_rn(x, x), x))));
    return __fdiv_rn(x, __fadd_rn(1.0f, exp_rounded(__fmul_rn(-2.0f, u))));
}

// Not inlined: kernels contain several copies of the epilogue.
__device__ __noinline__ int byte_of(int sum, float before, float after, unsigned int has_gelu) {
    const float z = __fmul_rn((float)sum, before);
    return __float2int_rn(fminf(fmaxf(__fmul_rn(after, has_gelu ? gelu_rounded(z) : z), -127.0f), 127.0f));
}
