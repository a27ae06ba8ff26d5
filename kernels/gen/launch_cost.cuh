// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

// An empty kernel: launch overhead.
extern "C" __global__ void __launch_bounds__(32, 1) do_nothing(unsigned int unused);

// Waits for `nanos` nanoseconds.
extern "C" __global__ void __launch_bounds__(32, 1) wait_nanos(unsigned int nanos);
