// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int BLOCK = 16384u;

// A thread per 16 bytes: adds a buffer. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) add_elements(unsigned long long n, unsigned int is_aligned, const void* y, void* x);

// A thread per 16 bytes: multiplies by a number in device memory. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) scale_elements(unsigned long long n, unsigned int is_aligned, const float* __restrict__ factor, void* x);

// A thread per 16 bytes: sets all elements. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) fill_elements(unsigned long long n, unsigned int is_aligned, float value, void* x);

// A thread per 16 bytes of the result: rounds f32. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) round_elements(unsigned long long n, unsigned int is_aligned, const float* __restrict__ from, void* to);

// A thread per 16 bytes of the input: converts to f32. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) widen_elements(unsigned long long n, unsigned int is_aligned, const void* from, float* __restrict__ to);

// A block per 32 accesses of 16 bytes of a row and a part of the rows: sums of columns. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_columns(unsigned long long rows, unsigned int columns, unsigned int is_aligned, unsigned int rows_per_part, const void* x, float* __restrict__ partials);

// A thread per column: adds the parts, in ascending order.
extern "C" __global__ void __launch_bounds__(256, 1) add_partials(unsigned int columns, unsigned int n_parts, const float* __restrict__ partials, float* __restrict__ out);

// A block per 16,384 elements: the sum of their squares. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) sum_of_squares(unsigned long long n, unsigned int is_aligned, const void* x, float* __restrict__ partials);

// One block: the sum of partial sums.
extern "C" __global__ void __launch_bounds__(256, 1) sum_partials(unsigned int n, const float* __restrict__ partials, float* __restrict__ out);

// A thread per 16 bytes: raises a flag where an element is infinite or NaN. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) find_non_finite(unsigned long long n, unsigned int is_aligned, const void* x, unsigned int* __restrict__ flag);

// A thread per 16 bytes: counts elements per bin. Items: elements.
extern "C" __global__ void __launch_bounds__(1024, 1) count_elements(unsigned long long n, unsigned int is_aligned, unsigned int first, unsigned int n_bins, const void* x, unsigned int* __restrict__ counts);
