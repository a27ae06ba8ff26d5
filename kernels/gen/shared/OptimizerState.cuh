// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// State of the updates on the device.
struct alignas(8) OptimizerState {
    unsigned long long t; // Updates applied so far
    unsigned long long skipped; // Updates skipped because a gradient was not finite
    float scale; // Scale of the next loss
    unsigned int good; // Updates without overflow since the scale changed
    float norm; // Norm of the last gradient, before clipping
    unsigned int is_applied; // Whether the last update was applied
    float grad_scale; // Factor of the last gradient: of the clipping, and 1 / scale of the loss
    float c1; // 1 / (1 - beta1^t)
    float c2; // 1 / (1 - beta2^t)
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(OptimizerState) == 48, "OptimizerState: size");
