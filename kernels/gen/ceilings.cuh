// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// A grid of threads sums a buffer, 16 bytes at a time. Items: words.
extern "C" __global__ void __launch_bounds__(256, 1) read_all(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ sums);

// A grid of threads copies a buffer, 16 bytes at a time. Items: words.
extern "C" __global__ void __launch_bounds__(256, 1) copy_all(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ copy);

// Each thread adds one to random targets, by atomics whose result is unused.
extern "C" __global__ void __launch_bounds__(256, 1) add_scattered(unsigned int n_targets, unsigned int rounds, int* __restrict__ targets);

// Each thread multiplies and adds in registers: eight independent f32 sums.
extern "C" __global__ void __launch_bounds__(256, 1) multiply_add(unsigned int rounds, float* __restrict__ sums);

// Each warp multiplies 16 × 16 by 16 × 8 tiles of f16 into four independent f32 tiles.
extern "C" __global__ void __launch_bounds__(256, 1) multiply_tiles(unsigned int rounds, float* __restrict__ sums);
