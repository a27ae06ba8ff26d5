// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A selection of the largest keys.
struct alignas(4) TopK {
    unsigned int want; // Number of keys to select
    unsigned int prefix; // Known upper bits of the threshold
    unsigned int above; // Keys above it
    unsigned int ties; // Keys equal to it to select
    unsigned int count; // Keys above the threshold listed so far
    unsigned int done; // Blocks that finished counting
};
static_assert(sizeof(TopK) == 24, "TopK: size");
