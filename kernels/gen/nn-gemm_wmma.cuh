// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/GemmArgs.cuh"

// Matrix multiplication by WMMA fragments, 128 × 128 elements of C per block.
extern "C" __global__ void __launch_bounds__(256, 2) gemm_wmma(GemmArgs g, const void* a, const void* b, void* c, const void* bias, const void* other, void* aux);
