// Prefix sums over a block of 256 threads.
#pragma once

// Sum over the threads before this one, and over all.
struct Scan { unsigned int before, all; };

__device__ inline Scan scan_block(unsigned int x, unsigned int* warps) {
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned int sum = x;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned int other = __shfl_up_sync(ALL_LANES, sum, d);
        if (lane >= d) sum += other;
    }
    __syncthreads();
    if (lane == 31) warps[warp] = sum;
    __syncthreads();
    Scan scan = {sum - x, 0};
    for (unsigned int v = 0; v < 8; ++v) {
        if (v < warp) scan.before += warps[v];
        scan.all += warps[v];
    }
    return scan;
}

// Sum of the counts of the first `blocks` blocks, in all threads.
__device__ inline unsigned int sum_before(const unsigned int* block_counts, unsigned int blocks, unsigned int* warps) {
    unsigned int sum = 0;
    for (unsigned int b = threadIdx.x; b < blocks; b += 256) sum += block_counts[b];
    return scan_block(sum, warps).all;
}
