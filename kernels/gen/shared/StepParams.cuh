// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// What the host says about a step.
struct alignas(8) StepParams {
    unsigned long long record; // Where its record goes
    unsigned long long targets; // Targets of all micro-batches
};
static_assert(sizeof(StepParams) == 16, "StepParams: size");
