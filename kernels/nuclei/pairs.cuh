// All pairs of four sites with a list of others: three additions, one ex2, two fused multiply-adds and one more
// addition each. Partial sums of 32 cost a thirtieth more and limit the rounding error of a sum over thousands to that of
// a sum over a hundred.
#pragma once

struct Four { float re[4], im[4], d[4]; };

__device__ inline void add_pairs(const float4* others, unsigned int count, const float (&x)[4], const float (&h)[4], Four& sum) {
    for (unsigned int k = 0; k < count; k += 32) {
        Four part = {};
#pragma unroll 8
        for (int u = 0; u < 32; ++u) {
            const float4 other = others[k + u];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const float weight = ex2(-fabsf(x[q] - other.x) - fabsf(h[q] - other.y));
                part.re[q] = fmaf(weight, other.z, part.re[q]);
                part.im[q] = fmaf(weight, other.w, part.im[q]);
                part.d[q] += weight;
            }
        }
#pragma unroll
        for (int q = 0; q < 4; ++q) {
            sum.re[q] += part.re[q];
            sum.im[q] += part.im[q];
            sum.d[q] += part.d[q];
        }
    }
}

// A site at infinity with weight exactly 0: pads a list to a multiple of 32.
__device__ inline float4 empty_site() { return make_float4(__int_as_float(0x7f800000), 0.0f, 0.0f, 0.0f); }
