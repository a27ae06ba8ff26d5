// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A Poisson input of a population.
struct alignas(8) RulesInput {
    unsigned long long since; // First step with events
    unsigned int table; // Index of the first entry of its distribution
    unsigned int entries; // Entries of its distribution
    int weight; // Weight of an event, in units of the sums
    unsigned int receptor; // Receptor that receives the events
    unsigned int address; // Purpose and stream of its draws
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesInput) == 32, "RulesInput: size");
