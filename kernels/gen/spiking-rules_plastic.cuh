// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/spiking-SHARED.cuh"
#include "gen/shared/spiking-SYNAPSE.cuh"
#include "gen/shared/spiking-RULES.cuh"
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
#include "gen/shared/RulesModel.cuh"
#include "gen/shared/RulesClock.cuh"
#include "gen/shared/RulesPopulation.cuh"
#include "gen/shared/RulesProjection.cuh"
#include "gen/shared/RulesInput.cuh"
#include "gen/shared/RulesList.cuh"
#include "gen/shared/RulesTables.cuh"
#include "gen/shared/RulesDecay.cuh"
#include "gen/shared/RulesPlastic.cuh"
#include "gen/shared/RulesRowState.cuh"

// Like `deliver_rules`, and updates the weights that it adds. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_rules_plastic(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, const RulesPopulation* __restrict__ populations, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, const unsigned int* __restrict__ spikes, int* __restrict__ sums, const RulesPlastic* __restrict__ plastic, const unsigned int* __restrict__ incoming, const float* __restrict__ decays, RulesRowState* __restrict__ rows, unsigned long long* __restrict__ heads, unsigned long long* __restrict__ entries, float* __restrict__ seconds, float* __restrict__ plastic_weights, float* __restrict__ eligibility, unsigned long long* __restrict__ weight_hash);

// Like `step_rules`, and updates the weights that it adds. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) step_rules_plastic(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int index, unsigned int delivers, const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, const float* __restrict__ values, const RulesInput* __restrict__ inputs, const unsigned int* __restrict__ tables, const Model* __restrict__ kicking, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ traced, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, unsigned int* __restrict__ spikes, int* __restrict__ sums, float* __restrict__ state, unsigned long long* __restrict__ non_finite, float* __restrict__ samples, const RulesPlastic* __restrict__ plastic, const unsigned int* __restrict__ incoming, const float* __restrict__ decays, RulesRowState* __restrict__ rows, unsigned long long* __restrict__ heads, unsigned long long* __restrict__ entries, float* __restrict__ seconds, float* __restrict__ plastic_weights, float* __restrict__ eligibility, unsigned long long* __restrict__ weight_hash);

// Like `step_rules_persistent`, and updates the weights that it adds. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(512, 1) step_rules_plastic_persistent(const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, unsigned int n_steps, RulesTables table_sizes, const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, const float* __restrict__ values, const RulesInput* __restrict__ inputs, const unsigned int* __restrict__ tables, const Model* __restrict__ kicking, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ traced, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, unsigned int* __restrict__ spikes, int* __restrict__ sums, float* __restrict__ state, unsigned long long* __restrict__ non_finite, float* __restrict__ samples, unsigned int* __restrict__ barrier, const RulesPlastic* __restrict__ plastic, const unsigned int* __restrict__ incoming, const float* __restrict__ decays, RulesRowState* __restrict__ rows, unsigned long long* __restrict__ heads, unsigned long long* __restrict__ entries, float* __restrict__ seconds, float* __restrict__ plastic_weights, float* __restrict__ eligibility, unsigned long long* __restrict__ weight_hash);

// Sets the weights of a plastic projection to their start values. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) start_rules_weights(unsigned int index, unsigned int projection, unsigned long long synapses, const RulesPlastic* __restrict__ plastic, const RulesProjection* __restrict__ projections, const unsigned char* __restrict__ weights, float* __restrict__ plastic_weights);

// Adds the absolute weights of a plastic projection to the sums of their postsynaptic neurons, as integers. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) sum_rules_inputs(unsigned int index, unsigned int projection, unsigned long long synapses, float scale, const RulesPlastic* __restrict__ plastic, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ words, const float* __restrict__ plastic_weights, unsigned long long* __restrict__ input_sums);

// Multiplies the weights of a plastic projection by the factors of their postsynaptic neurons. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) scale_rules_inputs(unsigned int index, unsigned int projection, unsigned long long synapses, const RulesPlastic* __restrict__ plastic, const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ words, const float* __restrict__ factors, float* __restrict__ plastic_weights);

// Brings all rows of a plastic projection up to date. Items: synapses.
extern "C" __global__ void __launch_bounds__(256, 1) update_rules_rows(unsigned int index, unsigned int projection, unsigned int n_rows, unsigned int to, float gain, const RulesProjection* __restrict__ projections, const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ words, const RulesPlastic* __restrict__ plastic, const unsigned int* __restrict__ incoming, const float* __restrict__ decays, RulesRowState* __restrict__ rows, unsigned long long* __restrict__ heads, unsigned long long* __restrict__ entries, float* __restrict__ seconds, float* __restrict__ plastic_weights, float* __restrict__ eligibility, unsigned long long* __restrict__ weight_hash);
