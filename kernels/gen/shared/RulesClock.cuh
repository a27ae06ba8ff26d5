// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// The steps of a graph.
struct alignas(8) RulesClock {
    unsigned long long step; // First step of the graph
    unsigned int kick_from; // First listed kick
    unsigned int kick_to; // End of its listed kicks (exclusive)
    unsigned int slot; // Row of the samples of the first step
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesClock) == 24, "RulesClock: size");
