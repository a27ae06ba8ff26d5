// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/LossTotal.cuh"

// Sizes of a block of logits.
struct alignas(8) CrossEntropyArgs {
    unsigned long long rows; // Rows of logits
    unsigned int vocab; // Columns that are tokens
    unsigned int padded; // Columns of a row
    unsigned int aligned; // Whether every row begins at a multiple of 16 bytes and ends at one
    unsigned int writes; // Whether the logits become gradients
};
static_assert(sizeof(CrossEntropyArgs) == 24, "CrossEntropyArgs: size");

// Cross-entropy and gradient of small vocabularies: one warp per row. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(256, 1) cross_entropy_small(CrossEntropyArgs g, void* logits, const int* __restrict__ targets, const void* scale, float* __restrict__ losses, float* __restrict__ lse, unsigned int* __restrict__ flag);

// Cross-entropy and gradient: one block per row. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(512, 1) cross_entropy_large(CrossEntropyArgs g, void* logits, const int* __restrict__ targets, const void* scale, float* __restrict__ losses, float* __restrict__ lse, unsigned int* __restrict__ flag);

// Cross-entropy and gradient of rows that fit into shared memory: one block per row. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(512, 2) cross_entropy_kept(CrossEntropyArgs g, void* logits, const int* __restrict__ targets, const void* scale, float* __restrict__ losses, float* __restrict__ lse, unsigned int* __restrict__ flag);

// Sum of the losses of a block of logits, added to the total: one block.
extern "C" __global__ void __launch_bounds__(1024, 1) add_losses(CrossEntropyArgs g, const float* __restrict__ losses, const int* __restrict__ targets, LossTotal* __restrict__ total);

// Factor of gradients from the loss scale and the number of targets: one block.
extern "C" __global__ void __launch_bounds__(1024, 1) set_gradient_scale(CrossEntropyArgs g, const int* __restrict__ targets, const float* __restrict__ loss_scale, float* __restrict__ scale);
