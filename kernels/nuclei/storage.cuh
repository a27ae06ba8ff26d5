// Weights rounded for evaluation: 0 not rounded, 1 to 11 significant bits (f16), 2 to 8 (bf16).
#pragma once

__device__ inline unsigned int f16_bits(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}

__device__ inline float f16_value(unsigned int bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"((unsigned short)bits));
    return x;
}

__device__ inline float stored(float x, unsigned int storage) {
    if (storage == 1) return f16_value(f16_bits(x));
    if (storage == 0) return x;
    const unsigned int bits = (unsigned int)__float_as_int(x);
    return __int_as_float((int)((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u));
}
