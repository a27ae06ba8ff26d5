// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Losses added so far.
struct alignas(8) LossTotal {
    double sum; // Sum of the losses of counted rows, nats
    unsigned long long count; // Rows whose target is counted
};
static_assert(sizeof(LossTotal) == 16, "LossTotal: size");
