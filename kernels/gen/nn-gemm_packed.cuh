// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/GemmArgs.cuh"

// Matrix multiplication by packed weights on tensor cores, 128 × 256 elements of C per block: for aligned A with adjacent k.
extern "C" __global__ void __launch_bounds__(256, 1) gemm_packed_large(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux);

// Matrix multiplication by packed weights on tensor cores, 64 × 64 elements of C per block.
extern "C" __global__ void __launch_bounds__(128, 1) gemm_packed_small(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux);

// Matrix multiplication by packed weights without tensor cores, by dot products of four bytes, 128 × 128 elements of C per
// block.
extern "C" __global__ void __launch_bounds__(256, 1) gemm_packed_dp4a(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux);
