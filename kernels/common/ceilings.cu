// Measures the peak performance of a device for the roofline, one kernel per limit. Not used by simulations.
//
//  read_all, copy_all   memory bandwidth: 16 bytes per thread and access, four accesses in flight.
//  add_scattered        L2 atomics: random targets, results unused.
//  multiply_add         f32 units: eight independent chains per thread hide the latency of four cycles.
//  multiply_tiles       tensor cores by mma.sync (Turing and later); Hopper's wgmma reaches more.
#include "gen/ceilings.cuh"

extern "C" __global__ void read_all(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ sums) {
    const uint4* quads = reinterpret_cast<const uint4*>(words);
    const unsigned int step = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int sum = 0;
#pragma unroll 4
    for (unsigned int i = first; i < n / 4; i += step) {
        const uint4 q = quads[i];
        sum += q.x ^ q.y ^ q.z ^ q.w;
    }
    sums[first] = sum;
}

extern "C" __global__ void copy_all(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ copy) {
    const uint4* from = reinterpret_cast<const uint4*>(words);
    uint4* to = reinterpret_cast<uint4*>(copy);
    const unsigned int step = gridDim.x * blockDim.x;
#pragma unroll 4
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += step) to[i] = from[i];
}

extern "C" __global__ void add_scattered(unsigned int n_targets, unsigned int rounds, int* __restrict__ targets) {
    unsigned int state = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 12345u;
    for (unsigned int i = 0; i < rounds; ++i) {
        state = state * 1664525u + 1013904223u;
        atomicAdd(targets + __umulhi(state, n_targets), 1);
    }
}

extern "C" __global__ void multiply_add(unsigned int rounds, float* __restrict__ sums) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    const float x = 0.999f + 1e-9f * at, y = 0.001f;
    float a[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) a[k] = 0.5f + k;
    for (unsigned int i = 0; i < rounds; ++i) {
#pragma unroll
        for (int k = 0; k < 8; ++k) a[k] = __fmaf_rn(a[k], x, y);
    }
    sums[at] = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
}

// Adds one 16 x 16 by 16 x 8 product of f16 tiles to four f32 accumulators per thread.
__device__ __forceinline__ void multiply_tile(float (&c)[4], unsigned int a, unsigned int b) {
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};\n\t"
                 "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a), "r"(b));
#endif
}

extern "C" __global__ void multiply_tiles(unsigned int rounds, float* __restrict__ sums) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int a = 0x3c003c00u, b = 0x14001400u; // two f16 each: 1 and 0.00098
    float c[4][4] = {};
    for (unsigned int i = 0; i < rounds; ++i) {
#pragma unroll
        for (int k = 0; k < 4; ++k) multiply_tile(c[k], a, b);
    }
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum += (c[k][0] + c[k][1]) + (c[k][2] + c[k][3]);
    sums[at] = sum;
}
