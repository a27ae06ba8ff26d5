// Bernoulli trains, drawn TRAIN_STEPS at a time; the CUDA twin of src/num/trains.rs, which documents the method.
#pragma once
#include "common/philox.cuh"

// Four words of a lane in a block; `call` counts the Philox calls.
__device__ inline Words draw_of_block(unsigned long long seed, unsigned int address, unsigned long long block,
                                      unsigned int call, unsigned int lane) {
    return philox4x32({lane, address, (unsigned int)block, (unsigned int)(block >> 32) | call << 26},
                      (unsigned int)seed, (unsigned int)(seed >> 32));
}

// Events of the steps 64 block .. 64 block + 64, one bit each. at_most[k] 2^-32 is the probability of at most k events.
__device__ inline unsigned long long events_of_block(unsigned long long seed, unsigned int address,
                                                     const unsigned long long* at_most, unsigned long long block,
                                                     unsigned int lane) {
    Words words = draw_of_block(seed, address, block, 0, lane);
    unsigned int n = 0;
#pragma unroll 1
    while (n < TRAIN_STEPS && words.x >= at_most[n]) ++n;
    const unsigned int picks = min(n, TRAIN_STEPS - n);
    unsigned long long bits = 0;
#pragma unroll 1
    for (unsigned int i = 0; i < picks; ++i) {
        // Each word serves two choices, from the second word on.
        if (i % 2 == 0) {
            words.x = words.y;
            words.y = words.z;
            words.z = words.w;
            if (i % 8 == 6) words = draw_of_block(seed, address, block, i / 8 + 1, lane);
        }
        const unsigned int last = TRAIN_STEPS - picks + i;
        const unsigned long long wide = (unsigned long long)words.x * (last + 1);
        words.x = (unsigned int)wide;
        const unsigned long long chosen = 1ull << (unsigned int)(wide >> 32);
        bits |= bits & chosen ? 1ull << last : chosen;
    }
    return n == picks ? bits : ~bits;
}

// Events of up to 32 steps from `step` on, one bit each.
__device__ inline unsigned int events_of_steps(unsigned long long seed, unsigned int address,
                                               const unsigned long long* at_most, unsigned long long step,
                                               unsigned int steps, unsigned int lane) {
    const unsigned int skip = (unsigned int)step & 63;
    unsigned long long bits = events_of_block(seed, address, at_most, step >> 6, lane) >> skip;
    if (skip + steps > TRAIN_STEPS) bits |= events_of_block(seed, address, at_most, (step >> 6) + 1, lane) << (TRAIN_STEPS - skip);
    return steps < 32 ? (unsigned int)bits & ((1u << steps) - 1) : (unsigned int)bits;
}
