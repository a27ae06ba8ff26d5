// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// The spikes of one step: their range in the ring.
struct alignas(8) RulesList {
    unsigned long long events; // Synaptic events of the step
    unsigned int start; // Offset in the ring of spikes
    unsigned int count; // Number of spikes
};
static_assert(sizeof(RulesList) == 16, "RulesList: size");
