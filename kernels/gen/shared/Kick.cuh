// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A listed kick; sorted by step, neuron, source.
struct alignas(8) Kick {
    unsigned long long step; // Step at which the kick is applied
    double weight; // Increase of u, mV
    unsigned int lane; // Index of the target neuron
    unsigned int source; // Index of the source
};
static_assert(sizeof(Kick) == 24, "Kick: size");
