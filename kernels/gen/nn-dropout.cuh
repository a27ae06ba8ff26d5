// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nn-DROPOUT_CONSTANTS.cuh"
#include "gen/shared/DropoutStep.cuh"

// A thread per 16 bytes: drops elements and scales the others. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) drop_elements(unsigned long long n, unsigned int site, unsigned int is_aligned, const DropoutStep* __restrict__ step, void* x);

// A thread per 16 bytes: drops and scales elements, and writes their sums with a residual to another tensor.
// Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) add_dropped(unsigned long long n, unsigned int site, unsigned int is_aligned, const DropoutStep* __restrict__ step, const void* x, const void* residual, void* y);
