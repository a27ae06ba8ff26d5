// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Sizes and seed of a network from rules; rewritten between steps.
struct alignas(8) RulesModel {
    unsigned long long seed; // Seed of the draws
    unsigned int n; // Neurons of the network
    unsigned int stride; // Entries of a state array
    unsigned int n_populations; // Populations of the network
    unsigned int slot_mask; // Number of slots of the sums less one; the number is a power of two, as in the next two fields
    unsigned int list_mask; // Entries of the list of steps less one
    unsigned int spike_mask; // Ring size of spikes less one
    unsigned int near; // Largest number of projections of a population whose smallest delay is one step
    unsigned int far; // Largest number of projections of a population with a longer smallest delay
    unsigned int n_far; // Different smallest delays above one step
    unsigned int has_gains; // Whether weights are changed
    unsigned int has_kicks; // Whether there are kicks
    unsigned int n_traced; // Neurons that are sampled
    unsigned int has_longer; // Whether a projection has a smallest delay of one step, and longer ones
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesModel) == 64, "RulesModel: size");
