// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Projection as the delivery reads it.
struct alignas(8) RulesProjection {
    unsigned long long starts; // Index of the start of its first row
    unsigned long long words; // Index of the word of its first synapse
    unsigned long long weights; // Offset of its first weight, bytes
    unsigned int target; // Index of the sum of the first postsynaptic neuron, in a slot
    unsigned int delay_min; // Smallest delay, steps
    unsigned int format; // Format of the weights
    int constant; // Weight of all synapses
    unsigned int shift; // Bits by which stored weights are shifted
    unsigned int plastic; // Index among the plastic projections plus 1; 0 for constant weights
};
static_assert(sizeof(RulesProjection) == 48, "RulesProjection: size");
