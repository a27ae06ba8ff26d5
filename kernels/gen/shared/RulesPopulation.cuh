// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Population as the step reads it.
struct alignas(4) RulesPopulation {
    unsigned int state; // Index of the first neuron in the state arrays
    unsigned int first; // Index of the first neuron
    unsigned int n; // Neurons of the population
    unsigned int synapses; // Model of the synapses
    unsigned int drops; // Whether input to refractory neurons is lost
    unsigned int values; // Index of the first coefficient
    unsigned int pitch; // Distance from one coefficient of a neuron to the next
    unsigned int varies; // Distance from a coefficient of one neuron to that of the next: 1 or 0
    unsigned int inputs_from; // First Poisson input
    unsigned int inputs_to; // End of the Poisson inputs (exclusive)
    unsigned int near_from; // First outgoing projection with a smallest delay of one step
    unsigned int far_from; // First outgoing projection with a longer smallest delay; end of those with one step
    unsigned int far_to; // End of the outgoing projections
    unsigned int plastic_from; // First plastic projection onto the population
    unsigned int plastic_to; // End of the plastic projections onto the population (exclusive)
};
static_assert(sizeof(RulesPopulation) == 60, "RulesPopulation: size");
