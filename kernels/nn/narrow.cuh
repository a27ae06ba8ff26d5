// Conversions to 16 bits, powers of two and reciprocals in few instructions: a memory-bound kernel on a large GPU can
// afford about 27 instructions per bf16 element that is read and written once.
#pragma once
#include "common/elements.cuh"

// Rounds to nearest, ties to even, like to_bf16, which takes seven instructions; a NaN becomes the canonical one.
__device__ __forceinline__ bf16 narrow(float x) {
#if __CUDA_ARCH__ >= 800
    bf16 out;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
#else
    return to_bf16(x);
#endif
}

// Packs two neighbours into one word.
__device__ __forceinline__ unsigned int narrow_two(float low, float high, f16) {
#if __CUDA_ARCH__ >= 800
    unsigned int word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return to_f16(low).bits | (unsigned int)to_f16(high).bits << 16;
#endif
}
__device__ __forceinline__ unsigned int narrow_two(float low, float high, bf16) {
#if __CUDA_ARCH__ >= 800
    unsigned int word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
#else
    return to_bf16(low).bits | (unsigned int)to_bf16(high).bits << 16;
#endif
}

__device__ __forceinline__ unsigned int narrow_two(float only, float, float) { return (unsigned int)__float_as_int(only); }

// Powers of two and reciprocals within two units in the last place, without the special cases of expf and of an exact
// division; results below 2^-126 are 0.
constexpr float LOG2_E = 1.4426950408889634f;
__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float reciprocal(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
