// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A change of outgoing weights.
struct alignas(8) WeightGain {
    double factor; // Multiplies the count
    int sign; // Sign given to the count first; 0 keeps its own
    unsigned int silent; // Whether spikes are not delivered
    unsigned int changes; // Whether counts change
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(WeightGain) == 24, "WeightGain: size");
