// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/GemmArgs.cuh"

// Matrix multiplication, 128 × 128 elements of C per block, 8 × 8 per thread.
extern "C" __global__ void __launch_bounds__(256, 2) gemm_simt(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets, void* turns);

// Matrix multiplication of bytes, 128 × 128 elements of C per block, 8 × 8 per thread.
extern "C" __global__ void __launch_bounds__(256, 1) gemm_simt_s8(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales, const void* offsets);

// Matrix multiplication of bytes by dot products of four, 128 × 128 elements of C per block, 8 × 8 per thread; k is
// adjacent and rows are aligned.
extern "C" __global__ void __launch_bounds__(256, 1) gemm_dp4a(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux, const void* row_scales, const void* column_scales);
