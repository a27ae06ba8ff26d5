// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Model constants and sizes; rewritten between steps when a parameter changes.
struct alignas(8) Model {
    unsigned long long seed; // Seed of the project: part of the address of every draw
    LifConstants lif; // Constants of the LIF neuron
    unsigned int refractory; // Steps from a spike to the next integration
    unsigned int n; // Neurons of the network
    unsigned int n_warps; // Warps of neurons
    unsigned int stride; // Neurons, rounded up to whole blocks
    unsigned int n_overflow; // Entries of the overflow list
    unsigned int n_sources; // Active kick sources
    unsigned int has_gains; // Whether weights are changed
    unsigned int counts_active; // Whether evaluated neurons are counted
    RingLayout layout; // Layout of rings and tables
    float theta_f; // Threshold in single precision, for the threshold bound
    float gain; // Increment of a running rate per spike, Hz
    unsigned int n_coarse; // Entries of the coarse decay table
    unsigned int may_overflow; // Whether an input is large enough to make a state non-finite
};
static_assert(sizeof(Model) == 136, "Model: size");
