// Cost of a launch: an empty kernel, and a kernel that waits while others are queued after it. Not used by simulations.
#include "gen/launch_cost.cuh"

extern "C" __global__ void do_nothing(unsigned int) {}

__device__ __forceinline__ unsigned long long nanos_now() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void wait_nanos(unsigned int nanos) {
    const unsigned long long start = nanos_now();
    while (nanos_now() - start < nanos) {}
}
