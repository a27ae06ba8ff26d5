// The CUDA twin of src/num/exact.rs: only IEEE add, mul, div, sqrt, floor and integer operations, compiled
// with --fmad=false, so that both twins return the same bits.
#pragma once

namespace exact {

// Uniform in (0, 1) with 23 bits, both ends excluded.
__device__ inline float unit(unsigned int word) { return ((word >> 9) + 0.5f) * 0x1p-23f; }

// Natural logarithm for normal positive x (Cephes logf).
__device__ inline float ln(float x) {
    int bits = __float_as_int(x);
    int e = (bits >> 23) - 126;
    float m = __int_as_float((bits & 0x007fffff) | 0x3f000000);
    if (m < 0.70710678f) { e -= 1; m = m + m - 1.0f; } else { m = m - 1.0f; }
    const float z = m * m;
    float y = 7.0376836292e-2f;
    y = y * m - 1.1514610310e-1f;
    y = y * m + 1.1676998740e-1f;
    y = y * m - 1.2420140846e-1f;
    y = y * m + 1.4249322787e-1f;
    y = y * m - 1.6668057665e-1f;
    y = y * m + 2.0000714765e-1f;
    y = y * m - 2.4999993993e-1f;
    y = y * m + 3.3333331174e-1f;
    y = y * m * z;
    const float f = (float)e;
    y = y + -2.12194440e-4f * f;
    y = y - 0.5f * z;
    return (m + y) + 0.693359375f * f;
}

// Standard normal value from one word by the inverse error function (Giles 2012, single precision).
__device__ inline float normal(unsigned int word) {
    const float x = 2.0f * unit(word) - 1.0f;
    float w = -ln((1.0f - x) * (1.0f + x));
    float p;
    if (w < 5.0f) {
        w = w - 2.5f;
        p = 2.81022636e-08f;
        p = 3.43273939e-07f + p * w;
        p = -3.5233877e-06f + p * w;
        p = -4.39150654e-06f + p * w;
        p = 0.00021858087f + p * w;
        p = -0.00125372503f + p * w;
        p = -0.00417768164f + p * w;
        p = 0.246640727f + p * w;
        p = 1.50140941f + p * w;
    } else {
        w = sqrtf(w) - 3.0f;
        p = -0.000200214257f;
        p = 0.000100950558f + p * w;
        p = 0.00134934322f + p * w;
        p = -0.00367342844f + p * w;
        p = 0.00573950773f + p * w;
        p = -0.0076224613f + p * w;
        p = 0.00943887047f + p * w;
        p = 1.00167406f + p * w;
        p = 2.83297682f + p * w;
    }
    return 1.41421356f * (p * x);
}

// Exponential function (Cephes expf). 0 below -87, infinity above 88. Without branches, and the power of two from the bits of a sum:
// conversions run at a quarter of the rate of additions.
__device__ inline float exp(float x) {
    const float n = floorf(x * 1.44269504f + 0.5f);
    float r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float y = 1.98756915e-4f;
    y = y * r + 1.39819995e-3f;
    y = y * r + 8.33345191e-3f;
    y = y * r + 4.16657958e-2f;
    y = y * r + 1.66666655e-1f;
    y = y * r + 5.00000012e-1f;
    y = y * (r * r) + r + 1.0f;
    y = y * __int_as_float((__float_as_int(n + 12582912.0f) + 127) << 23);
    y = x > 88.0f ? __int_as_float(0x7f800000) : y;
    return x < -87.0f ? 0.0f : y;
}

// 1 - exp(-x) for x >= 0 without cancellation: a Taylor polynomial below 0.35, exp above.
__device__ inline float one_minus_exp(float x) {
    if (x > 0.35f) return 1.0f - exp(-x);
    float y = 1.0f / 5040.0f;
    y = y * x + -1.0f / 720.0f;
    y = y * x + 1.0f / 120.0f;
    y = y * x + -1.0f / 24.0f;
    y = y * x + 1.0f / 6.0f;
    y = y * x + -0.5f;
    y = y * x + 1.0f;
    return y * x;
}

}  // namespace exact
