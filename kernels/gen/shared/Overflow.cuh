// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A count that does not fit into its word.
struct alignas(4) Overflow {
    unsigned int word; // Index of the connection
    int count; // The exact count
};
static_assert(sizeof(Overflow) == 8, "Overflow: size");
