// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A tensor that is copied box by box.
struct alignas(64) TensorMap {
    unsigned long long words[16]; // Of the driver and the hardware
};
static_assert(sizeof(TensorMap) == 128, "TensorMap: size");
