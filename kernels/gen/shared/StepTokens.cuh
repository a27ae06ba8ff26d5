// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Tokens of a step.
struct alignas(8) StepTokens {
    unsigned long long tokens; // Tokens of all micro-batches
};
static_assert(sizeof(StepTokens) == 8, "StepTokens: size");
