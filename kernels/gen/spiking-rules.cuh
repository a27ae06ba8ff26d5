// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/spiking-SHARED.cuh"
#include "gen/shared/spiking-SYNAPSE.cuh"
#include "gen/shared/RingLayout.cuh"
#include "gen/shared/LifConstants.cuh"
#include "gen/shared/Model.cuh"
#include "gen/shared/Window.cuh"
#include "gen/shared/Segment.cuh"
#include "gen/shared/Chunk.cuh"
#include "gen/shared/DeviceRate.cuh"
#include "gen/shared/KickSource.cuh"
#include "gen/shared/Kick.cuh"
#include "gen/shared/Overflow.cuh"
#include "gen/shared/WeightGain.cuh"

constexpr unsigned int STATE_BLOCK = 16u;
constexpr unsigned int LEFT = 5u;
constexpr unsigned int DECAY = 0u;
constexpr unsigned int DRIVE = 1u;
constexpr unsigned int THETA = 2u;
constexpr unsigned int RESET = 3u;
constexpr unsigned int REFRACTORY = 4u;
constexpr unsigned int REST = 5u;
constexpr unsigned int TO_U_EX = 6u;
constexpr unsigned int TO_U_IN = 7u;
constexpr unsigned int SYNAPTIC_DECAY_EX = 8u;
constexpr unsigned int SYNAPTIC_DECAY_IN = 9u;
constexpr unsigned int UNIT_EX = 10u;
constexpr unsigned int UNIT_IN = 11u;
constexpr unsigned int RISE_TO_U_EX = 12u;
constexpr unsigned int RISE_TO_U_IN = 13u;
constexpr unsigned int RISE_TO_CURRENT_EX = 14u;
constexpr unsigned int RISE_TO_CURRENT_IN = 15u;
constexpr unsigned int SYNAPSES_EXPONENTIAL = 0u;
constexpr unsigned int SYNAPSES_ALPHA = 1u;
constexpr unsigned int SYNAPSES_DELTA = 2u;

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

// The steps of a graph.
struct alignas(8) RulesClock {
    unsigned long long step; // First step of the graph
    unsigned int kick_from; // First listed kick
    unsigned int kick_to; // End of its listed kicks (exclusive)
    unsigned int slot; // Row of the samples of the first step
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesClock) == 24, "RulesClock: size");

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
};
static_assert(sizeof(RulesPopulation) == 52, "RulesPopulation: size");

// Projection as the delivery reads it.
struct alignas(8) RulesProjection {
    unsigned long long starts; // Index of the start of its first row
    unsigned long long words; // Index of the word of its first synapse
    unsigned long long weights; // Offset of its first weight, bytes
    unsigned int target; // Index of the sum of the first postsynaptic neuron, in a slot
    unsigned int delay_min; // Smallest delay, steps
    unsigned int format; // Format of the weights
    int constant; // Weight of all synapses
    unsigned int shift; // Bits by which stored weights are shifted
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(RulesProjection) == 48, "RulesProjection: size");

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

// The spikes of one step: their range in the ring.
struct alignas(8) RulesList {
    unsigned long long events; // Synaptic events of the step
    unsigned int start; // Offset in the ring of spikes
    unsigned int count; // Number of spikes
};
static_assert(sizeof(RulesList) == 16, "RulesList: size");

// Sizes of the tables that the persistent kernel copies to shared memory.
struct alignas(4) RulesTables {
    unsigned int cached; // Whether the tables fit
    unsigned int projections; // Projections of the network
    unsigned int inputs; // Poisson inputs of the network
    unsigned int entries; // Entries of all distributions of Poisson counts
};
static_assert(sizeof(RulesTables) == 16, "RulesTables: size");

// Adds the rows of the spikes that arrive in the first step of a launch. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_rules(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, const RulesPopulation* __restrict__ populations, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, const unsigned int* __restrict__ spikes, int* __restrict__ sums);

// Steps every neuron, lists the spikes, and adds the rows of the spikes that arrive in the next step. Items: synaptic
// events.
extern "C" __global__ void __launch_bounds__(256, 1) step_rules(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int index, unsigned int delivers, const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, const float* __restrict__ values, const RulesInput* __restrict__ inputs, const unsigned int* __restrict__ tables, const Model* __restrict__ kicking, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ traced, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, unsigned int* __restrict__ spikes, int* __restrict__ sums, float* __restrict__ state, unsigned long long* __restrict__ non_finite, float* __restrict__ samples);

// Runs many steps per launch, like `step_rules`, with the neurons in registers. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(768, 1) step_rules_persistent(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int n_steps, RulesTables table_sizes, const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, const float* __restrict__ values, const RulesInput* __restrict__ inputs, const unsigned int* __restrict__ tables, const Model* __restrict__ kicking, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ traced, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, unsigned int* __restrict__ spikes, int* __restrict__ sums, float* __restrict__ state, unsigned long long* __restrict__ non_finite, float* __restrict__ samples, unsigned int* __restrict__ barrier);

// Computes the potential of every neuron, for views.
extern "C" __global__ void __launch_bounds__(256, 1) read_rules_potentials(const RulesModel* __restrict__ model, const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, const float* __restrict__ values, const float* __restrict__ state, float* __restrict__ v);
