// Functions of the nuclei kernels: angles, the exponential of a pair, ordered keys, block sums of fixed order.
// The compiler does not contract operations (--fmad=false); fused multiply-adds are explicit.
#pragma once

constexpr float LOG2_E = 1.44269504f;
constexpr float PI = 3.14159265f;
constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ inline unsigned int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// 2^x in one instruction, to 2 units in the last place; 0 for results below 2^-126.
__device__ inline float ex2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// cos and sin to about one unit in the last place for phases a few turns from 0, without a table in local memory.
__device__ inline float2 phasor(float phi) {
    const float turns = rintf(phi * 0.636619772f);
    float r = fmaf(turns, -1.5703125f, phi);
    r = fmaf(turns, -4.83751297e-4f, r);
    r = fmaf(turns, -7.54978942e-8f, r);
    const float z = r * r;
    float s = fmaf(z, -1.95152959e-4f, 8.33216087e-3f);
    s = fmaf(s, z, -1.66666546e-1f);
    s = fmaf(s * z, r, r);
    float c = fmaf(z, 2.44331571e-5f, -1.38873162e-3f);
    c = fmaf(c, z, 4.16666457e-2f);
    c = fmaf(c * z, z, fmaf(-0.5f, z, 1.0f));
    const int quadrant = (int)turns & 3;
    const float x = (quadrant & 1) ? s : c, y = (quadrant & 1) ? c : s;
    return make_float2(quadrant == 1 || quadrant == 2 ? -x : x, quadrant >= 2 ? -y : y);
}

// Wraps a phase into [-pi, pi].
__device__ inline float wrap(float phi) {
    const float turns = rintf(phi * 0.159154943f);
    const float r = fmaf(turns, 1.74845553e-7f, fmaf(turns, -6.28318548f, phi));
    return fminf(fmaxf(r, -PI), PI);
}

// Maps floats to unsigned integers of the same order; -0 equals 0, and NaN is last.
__device__ inline unsigned int ordered(float x) {
    const unsigned int bits = (unsigned int)__float_as_int(x + 0.0f);
    return bits ^ ((bits >> 31) ? 0xffffffffu : 0x80000000u);
}

// Sum over a block of 256, in the same order on every device; valid in thread 0.
__device__ inline double block_sum(double x, double* warps) {
    for (int d = 16; d > 0; d >>= 1) x += __shfl_down_sync(ALL_LANES, x, d);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = x;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (int w = 0; w < 8; ++w) sum += warps[w];
    return sum;
}

// Sum over a block of 256, in the same order on every device; valid in all threads.
__device__ inline double block_total(double x, double* warps) {
    const double sum = block_sum(x, warps);
    __syncthreads();
    if (threadIdx.x == 0) warps[0] = sum;
    __syncthreads();
    return warps[0];
}
