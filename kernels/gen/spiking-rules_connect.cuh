// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/spiking-SYNAPSE.cuh"

constexpr unsigned int STAGE_SYNAPSE = 0u;
constexpr unsigned int STAGE_PERMUTATION = 1u;
constexpr unsigned int LAW_CONSTANT = 0u;
constexpr unsigned int LAW_UNIFORM = 1u;
constexpr unsigned int LAW_NORMAL = 2u;
constexpr unsigned int LAW_LOG_NORMAL = 3u;
constexpr unsigned int RULE_ALL = 0u;
constexpr unsigned int RULE_ONE = 1u;
constexpr unsigned int RULE_PAIRS = 2u;
constexpr unsigned int RULE_IN_DEGREE = 3u;
constexpr unsigned int RULE_DEGREE = 4u;

// A distribution whose quantiles are evaluated.
struct alignas(8) RulesLaw {
    double a; // First argument; of a uniform distribution the lowest value
    double b; // Second argument; of a uniform distribution the width
    double low; // Lowest value
    double high; // Largest value
    double z_low; // Lowest value of the standard normal number
    double z_high; // Largest value of the standard normal number
    double below; // Probability below the lowest value
    double below_width; // Probability between lowest and largest value
    double above; // Probability above the largest value
    double above_width; // Probability between lowest and largest value, as a difference of upper tails
    unsigned int kind; // Family of distributions
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesLaw) == 88, "RulesLaw: size");

// A projection whose rows are made.
struct alignas(8) RulesRowArgs {
    unsigned long long seed; // Seed of the draws
    unsigned long long starts; // Index of the start of its first row
    unsigned long long words; // Index of the word of its first synapse
    unsigned long long weights; // Offset of its first weight, bytes
    double p; // Probability of a pair
    double per_log; // 1 / ln(1 - p); 0 for p = 1
    double dt_ms; // Time step, ms
    double scale; // Weight that is stored as 1
    RulesLaw weight; // Distribution of the weights
    RulesLaw delay; // Distribution of the delays, ms
    unsigned int address; // Purpose and stream of its draws
    unsigned int rule; // Rule of the connections
    unsigned int n_from; // Number of presynaptic neurons
    unsigned int n_to; // Number of postsynaptic neurons
    unsigned int degree; // Partners of each neuron
    unsigned int skips_own; // Whether a neuron never connects to itself
    unsigned int multapses; // Whether a pair may be connected several times
    unsigned int format; // Format of the weights
    int constant; // Weight of all synapses
    unsigned int shift; // Bits by which stored weights are shifted
    unsigned int delay_min; // Smallest delay, steps
    unsigned int delays; // Steps from the smallest to the largest delay, both included
    unsigned int projection; // Index of the projection
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesRowArgs) == 296, "RulesRowArgs: size");

// Counts the synapses of each row, for rules whose draws decide the number. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) count_rules_rows(RulesRowArgs r, unsigned int* __restrict__ degrees);

// Makes all synapses of a projection. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) fill_rules_rows(RulesRowArgs r, const unsigned long long* __restrict__ starts, unsigned int* __restrict__ splits, unsigned int* __restrict__ cursors, unsigned int* __restrict__ words, unsigned char* __restrict__ weights);

// Adds the mixed synapses of a projection to the hash of all connections. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) hash_rules_rows(RulesRowArgs r, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, unsigned long long* __restrict__ hash);
