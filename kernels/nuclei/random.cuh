// Addressed random numbers: counter (slot, block, generation, stream) and the seed as key; see random.rs.
#pragma once
#include "common/philox.cuh"
#include "common/exact.cuh"

enum Stream { FOR_DECAY = 4, FOR_FUSION = 5, FOR_WEIGHTS = 6, FOR_PHASE = 7, FOR_NOISE = 8, FOR_SPIKES = 9, FOR_DEATH = 10 };

__device__ inline Words words(unsigned long long seed, unsigned int stream, unsigned long long generation, unsigned int slot, unsigned int block) {
    return philox4x32({slot, block, (unsigned int)generation, stream}, (unsigned int)seed, (unsigned int)(seed >> 32));
}

__device__ inline double uniform(unsigned long long seed, unsigned int stream, unsigned long long generation, unsigned int slot) {
    return exact::unit(words(seed, stream, generation, slot, 0).x);
}

// Two standard normal numbers from two words (Box-Muller), in double precision as on the CPU.
__device__ inline double2 normal_pair(unsigned int a, unsigned int b) {
    double sine, cosine;
    sincospi(2.0 * exact::unit(b), &sine, &cosine);
    const double radius = sqrt(-2.0 * log((double)exact::unit(a)));
    return make_double2(radius * cosine, radius * sine);
}
