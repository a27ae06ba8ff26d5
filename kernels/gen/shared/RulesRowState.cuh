// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// State of a row of plastic synapses, see [`RowState`](crate::kinds::spiking::general::plasticity::part::RowState).
struct alignas(4) RulesRowState {
    unsigned int last; // Synapse time of the last presynaptic spike
    float trace; // Presynaptic trace at that time, the spike included
    float second; // Slow presynaptic trace at that time, the spike included
    unsigned int pad; // Padding to sixteen bytes
};
static_assert(sizeof(RulesRowState) == 16, "RulesRowState: size");
