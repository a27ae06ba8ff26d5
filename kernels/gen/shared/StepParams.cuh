// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Inputs of a step from the host.
struct alignas(8) StepParams {
    unsigned long long record; // Index of its record
    unsigned long long targets; // Targets of all micro-batches
};
static_assert(sizeof(StepParams) == 16, "StepParams: size");
