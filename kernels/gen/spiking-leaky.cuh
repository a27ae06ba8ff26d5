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

// Constants of noisy leaky units.
struct alignas(4) LeakyConstants {
    float w_unit; // Weight of one synapse
    float amplitude; // Largest magnitude of the noise
    float decay; // Decay of v per step
    unsigned int noise; // Address word of the noise
};
static_assert(sizeof(LeakyConstants) == 16, "LeakyConstants: size");

// One step of every unit: decay, arrivals, kicks, current, noise, threshold. Items: spikes.
extern "C" __global__ void __launch_bounds__(256, 1) step_leaky(RingLayout layout, unsigned int n, unsigned long long seed, const Model* __restrict__ model, const LeakyConstants* __restrict__ units, const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ live, const Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, unsigned int* __restrict__ states, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, DeviceRate* __restrict__ rates, const float* __restrict__ fade);

// Many steps per launch, like `step_lif_persistent`. Items: synaptic events.
extern "C" __global__ void __launch_bounds__(544, 1) step_leaky_persistent(const Model* __restrict__ model, const LeakyConstants* __restrict__ units, const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const unsigned int* __restrict__ heads, const unsigned int* __restrict__ tails, const unsigned int* __restrict__ tail_starts, const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents, unsigned int* __restrict__ states, int* __restrict__ arrivals, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, unsigned int* __restrict__ barrier, unsigned long long* __restrict__ mailboxes, unsigned int first_tag, DeviceRate* __restrict__ rates, const float* __restrict__ fade, unsigned int n_traced, const unsigned int* __restrict__ traced, float* __restrict__ samples);

// Samples v of traced units.
extern "C" __global__ void __launch_bounds__(64, 1) sample_traces_leaky(const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ live, const unsigned int* __restrict__ states, unsigned int n_traced, const unsigned int* __restrict__ traced, float* __restrict__ samples);
