// Element types narrower than float, without CUDA's headers. num/elements.rs defines the same bits.
#pragma once

struct f16 { unsigned short bits; };
struct bf16 { unsigned short bits; };
struct e4m3 { unsigned char bits; };
struct e5m2 { unsigned char bits; };

__device__ inline float to_float(f16 x) {
    float out;
    asm("cvt.f32.f16 %0, %1;" : "=f"(out) : "h"(x.bits));
    return out;
}

__device__ inline float to_float(bf16 x) { return __int_as_float((int)((unsigned int)x.bits << 16)); }

// The bits are those of an f16 whose exponent is 8 too small.
__device__ inline float to_float(e4m3 x) {
    if ((x.bits & 0x7fu) == 0x7fu) return __int_as_float(0x7fc00000);
    return 256.0f * to_float(f16{(unsigned short)((x.bits & 0x80u) << 8 | (x.bits & 0x7fu) << 7)});
}

__device__ inline float to_float(e5m2 x) { return to_float(f16{(unsigned short)(x.bits << 8)}); }

__device__ inline f16 to_f16(float x) {
    f16 out;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(x));
    return out;
}

__device__ inline bf16 to_bf16(float x) {
    const unsigned int bits = (unsigned int)__float_as_int(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{(unsigned short)(bits >> 16 | 0x40u)};
    return bf16{(unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

// Encodes eight bits as num/elements.rs: `mantissa` stored bits, smallest exponent of normal numbers, largest value.
__device__ inline unsigned char eight_bits(float x, int mantissa, int least, float largest) {
    const unsigned char sign = (unsigned char)((unsigned int)__float_as_int(x) >> 24 & 0x80u);
    if (x != x) return sign | 0x7fu;
    const float size = fminf(fabsf(x), largest);
    const int exponent = max((__float_as_int(size) >> 23) - 127, least);
    const float units_per_one = __int_as_float((mantissa - exponent + 127) << 23);
    return sign | (unsigned char)(((exponent - least) << mantissa) + (int)rintf(size * units_per_one));
}

__device__ inline e4m3 to_e4m3(float x) { return e4m3{eight_bits(x, 3, -6, 448.0f)}; }
__device__ inline e5m2 to_e5m2(float x) { return e5m2{eight_bits(x, 2, -14, 57344.0f)}; }
