// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// A norm of rows.
struct alignas(8) NormArgs {
    unsigned long long rows; // Rows of the input
    unsigned int columns; // Elements of a row
    unsigned int rows_per_part; // Rows of a partial sum of the gradients of parameters
    float eps; // Constant added to the variance
    unsigned int is_rms; // Whether the mean stays
    unsigned int is_aligned; // Whether packs of 16 bytes of a row are aligned
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(NormArgs) == 32, "NormArgs: size");

// A warp or a block per row: output and statistics; with a residual, of its sum with the input. Items: rows.
extern "C" __global__ void __launch_bounds__(1024, 1) norm_forward(NormArgs a, const void* x, const void* residual, const void* weight, const void* bias, void* sum, void* y, float* __restrict__ stats);

// Narrow rows, a warp each: adds the gradient of the input; sums of a part of the rows for weight and bias. Items: rows.
extern "C" __global__ void __launch_bounds__(256, 2) norm_backward_narrow(NormArgs a, const void* dy, const void* x, const void* weight, const float* __restrict__ stats, void* dx, float* __restrict__ partials);

// A warp or a block per wide row: adds the gradient of the input. Items: rows.
extern "C" __global__ void __launch_bounds__(512, 1) norm_backward(NormArgs a, const void* dy, const void* x, const void* weight, const float* __restrict__ stats, void* dx, float* __restrict__ shifts);

// A block per 128 columns and part of the wide rows: that part's sums for the gradients of weight and bias.
extern "C" __global__ void __launch_bounds__(256, 1) norm_parameters(NormArgs a, const void* dy, const void* x, const float* __restrict__ stats, const float* __restrict__ shifts, float* __restrict__ partials);

// A block per 32 columns: adds the parts to the gradients of weight and bias.
extern "C" __global__ void __launch_bounds__(512, 1) add_norm_partials(unsigned int columns, unsigned int n_parts, const float* __restrict__ partials, float* __restrict__ dweight, void* dbias);
