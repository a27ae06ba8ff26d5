// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/GemmArgs.cuh"
#include "gen/shared/TensorMap.cuh"

// Matrix multiplication by wgmma, 128 × 256 elements of C at a time per block.
extern "C" __global__ void __launch_bounds__(384, 1) gemm_wgmma(GemmArgs g, unsigned int items, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap boxes, void* c, const void* bias, const void* other, void* aux, const void* offsets, void* turns);
