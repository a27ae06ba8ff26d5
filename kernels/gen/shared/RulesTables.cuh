// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Sizes of the tables that the persistent kernel copies to shared memory.
struct alignas(4) RulesTables {
    unsigned int cached; // Whether the tables fit
    unsigned int projections; // Projections of the network
    unsigned int inputs; // Poisson inputs of the network
    unsigned int entries; // Entries of all distributions of Poisson counts
    unsigned int span; // Neurons of a block of a plastic network
    unsigned int decays; // Entries of all tables of decays
};
static_assert(sizeof(RulesTables) == 24, "RulesTables: size");
