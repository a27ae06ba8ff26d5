// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/spiking-SHARED.cuh"
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

// Adds the spikes that arrive in the window to their targets, as integers: one warp per chunk of at most 128
// synapses. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_spikes(RingLayout layout, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments, Segment* __restrict__ live, const Chunk* __restrict__ chunks, const unsigned int* __restrict__ words, int* __restrict__ arrivals, unsigned char* __restrict__ touched);

// Delivers spikes as `deliver_spikes` does, with Poisson stimuli or changed weights: extra blocks draw the
// kicks. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_spikes_driven(RingLayout layout, unsigned int n, unsigned int is_exact, const Model* __restrict__ model, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments, Segment* __restrict__ live, const Chunk* __restrict__ chunks, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, unsigned int* __restrict__ kick_bits, int* __restrict__ arrivals, unsigned char* __restrict__ touched);

// Marks the listed kicks of the window per neuron and step.
extern "C" __global__ void __launch_bounds__(256, 1) mark_kicks(const Model* __restrict__ model, const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ live, const Kick* __restrict__ kicks, unsigned int* __restrict__ kick_bits, unsigned char* __restrict__ touched);

// Samples v and g of traced neurons over the window, one warp per neuron, ahead of `step_lif`.
extern "C" __global__ void __launch_bounds__(64, 1) sample_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ live, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states, const unsigned int* __restrict__ anchors, const int* __restrict__ arrivals, const unsigned int* __restrict__ kick_bits, unsigned int n_traced, const unsigned int* __restrict__ traced, float* __restrict__ samples);

// Samples v and g of traced neurons over all windows of a persistent launch, from the inputs that it recorded;
// one warp per window and neuron.
extern "C" __global__ void __launch_bounds__(64, 1) sample_recorded_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int n_windows, const Segment* __restrict__ segments, const KickSource* __restrict__ sources, const unsigned int* __restrict__ currents, unsigned int n_traced, const unsigned int* __restrict__ traced, const unsigned int* __restrict__ trace_inputs, float* __restrict__ samples);

// Steps all neurons through the window: input, spikes, resets. Blocks of 512 neurons without input and
// without possible crossings return at once; eight more blocks count synaptic events. Items: spikes.
extern "C" __global__ void __launch_bounds__(256, 1) step_lif(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ live, const Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes, unsigned char* __restrict__ touched, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, DeviceRate* __restrict__ rates, const float* __restrict__ fade);

// Many windows per launch: neurons in shared memory, blocks exchange their spikes once per window and add
// arrivals in shared memory. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(544, 1) step_lif_persistent(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const unsigned int* __restrict__ heads, const unsigned int* __restrict__ tails, const unsigned int* __restrict__ tail_starts, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes, int* __restrict__ arrivals, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, unsigned int* __restrict__ barrier, unsigned long long* __restrict__ mailboxes, unsigned int first_tag, DeviceRate* __restrict__ rates, const float* __restrict__ fade, unsigned int n_traced, const unsigned int* __restrict__ traced, unsigned int* __restrict__ trace_inputs);

// Many windows of a network of which few neurons are reached, in few blocks: loads and steps only neurons with
// input, or that may cross the threshold. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(640, 1) step_lif_reached(const Model* __restrict__ model, unsigned int is_exact, const unsigned int* __restrict__ propagators, const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ summed, unsigned int* __restrict__ reached, unsigned int* __restrict__ n_reached, unsigned int* __restrict__ barrier, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, DeviceRate* __restrict__ rates, const float* __restrict__ fade);

// Sorts the spikes of each window by step and neuron. Once per graph; for windows launched one by one, it
// also hashes the spikes and copies their segments into the ring buffer.
extern "C" __global__ void __launch_bounds__(1024, 1) sort_spikes(const Model* __restrict__ model, const Window* __restrict__ windows, const Segment* __restrict__ live, unsigned int is_live, Segment* __restrict__ segments, unsigned int* __restrict__ spikes, unsigned int* __restrict__ counters);

// Applies stimuli between two steps.
extern "C" __global__ void __launch_bounds__(256, 1) apply_stimuli(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, unsigned int has_currents, const unsigned int* __restrict__ new_marks, const unsigned int* __restrict__ new_currents, unsigned int* __restrict__ marks, unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes);

// Re-anchors all neurons at the current step, when the neuron model changes.
extern "C" __global__ void __launch_bounds__(256, 1) reanchor_neurons(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, double shift, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors);

// Advances old anchors, once in 2^28 steps.
extern "C" __global__ void __launch_bounds__(256, 1) advance_anchors(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes);

// Computes v of every neuron, for views.
extern "C" __global__ void __launch_bounds__(256, 1) read_potentials(const Model* __restrict__ model, const unsigned int* __restrict__ propagators, unsigned int completed, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states, const unsigned int* __restrict__ anchors, float* __restrict__ v);
