// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/GemmArgs.cuh"

// Matrix multiplication by tensor cores, 128 × 256 elements of C per block: for large, aligned matrices.
extern "C" __global__ void __launch_bounds__(256, 1) gemm_large(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales);

// Matrix multiplication by tensor cores, 64 × 64 elements of C per block.
extern "C" __global__ void __launch_bounds__(128, 1) gemm_small(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets, void* turns);
