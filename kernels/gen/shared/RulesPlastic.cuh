// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Plasticity of a projection, see [`Rule`](crate::kinds::spiking::general::plasticity::laws::Rule).
struct alignas(8) RulesPlastic {
    unsigned long long rows; // Index of its first row among the states of rows
    unsigned long long weights; // Index of its first weight
    unsigned long long eligibility; // Index of its first eligibility
    unsigned long long heads; // Index of the head of its first history
    unsigned long long entries; // Index of the first entry of its histories
    unsigned long long seconds; // Index of the first slow trace of its histories
    RulesDecay plus; // Decay of the presynaptic trace; of x with short-term plasticity
    RulesDecay minus; // Decay of the postsynaptic trace; of u with short-term plasticity
    RulesDecay slow_pre; // Decay of the slow presynaptic trace
    RulesDecay slow_post; // Decay of the slow postsynaptic trace
    RulesDecay eligible; // Decay of the eligibility
    unsigned int law; // Law of the weight changes
    unsigned int projection; // Index of the projection
    unsigned int dendritic_min; // Smallest dendritic delay, steps
    unsigned int mask; // Entries of a history less one
    unsigned int settled; // Synapse time up to which all rows are up to date
    unsigned int is_nearest; // Whether spikes set traces to 1
    unsigned int has_slow; // Whether there are slow traces
    unsigned int is_inhibitory; // Whether weights of 0 are inhibitory
    unsigned int is_learning; // Whether spikes change weights and eligibilities
    float a_plus; // Amplitude of potentiation; learning rate; with short-term plasticity the utilisation
    float a_minus; // Amplitude of depression; depression per presynaptic spike
    float b_plus; // Amplitude of potentiation by triplets
    float b_minus; // Amplitude of depression by triplets
    float mu_plus; // Exponent of potentiation
    float mu_minus; // Exponent of depression
    float w_max; // Maximum weight
    float unit; // Weight of one unit of the sums
    float scale; // Units of the sums per weight
};
static_assert(sizeof(RulesPlastic) == 160, "RulesPlastic: size");
