// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// Address of the self-test's draws.
struct alignas(8) Clock {
    unsigned long long seed; // Seed of the project: part of the address of every draw
    unsigned long long step; // Simulation step of the draws
    unsigned int purpose; // Purpose of the draws
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(Clock) == 24, "Clock: size");

// One thread per lane: its four random words at this step.
extern "C" __global__ void __launch_bounds__(256, 1) draw_words(const Clock* __restrict__ clock, unsigned int n, unsigned int* __restrict__ words);

// One thread per word: normal, ln, exp and Q16 of it, as bits.
extern "C" __global__ void __launch_bounds__(256, 1) apply_twins(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ bits);

// One thread per word: adds a Q16.16 term to one of a few sums, by integer atomics.
extern "C" __global__ void __launch_bounds__(256, 1) sum_fixed(unsigned int n, unsigned int n_sums, const unsigned int* __restrict__ words, int* __restrict__ sums);

// One thread per word: a number of wide range rounded to f16, bf16, e4m3 and e5m2, and back.
extern "C" __global__ void __launch_bounds__(256, 1) round_elements(unsigned int n, const unsigned int* __restrict__ words, f16* __restrict__ halves, bf16* __restrict__ brains, e4m3* __restrict__ fours, e5m2* __restrict__ fives, float* __restrict__ back);

// A grid of tiles transposes every matrix of a stack by way of dynamic shared memory, from word `spare` on.
extern "C" __global__ void __launch_bounds__(1024, 1) transpose_stack(unsigned int rows, unsigned int columns, unsigned int spare, const unsigned int* __restrict__ from, unsigned int* __restrict__ to);

// One thread: advances the clock.
extern "C" __global__ void __launch_bounds__(1, 1) tick(Clock* __restrict__ clock);
