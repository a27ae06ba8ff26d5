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

// One warp per spike takes a whole row; 8-bit weights with a scale per neuron, single-precision sums. Items:
// synaptic events.
extern "C" __global__ void __launch_bounds__(256, 1) deliver_push_rows(const Model* __restrict__ model, const Segment* __restrict__ segments, const unsigned int* __restrict__ spikes, const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words, const unsigned char* __restrict__ levels, const float* __restrict__ scales, float* __restrict__ sums);

// Marks the neurons that fired in the window, and the steps. Items: spikes.
extern "C" __global__ void __launch_bounds__(256, 1) mark_spiked(const Model* __restrict__ model, const Segment* __restrict__ segments, const unsigned int* __restrict__ spikes, unsigned int* __restrict__ fired, unsigned int* __restrict__ when);

// Every target looks up which of its sources fired: one warp per piece of at most 128 connections. Items:
// synaptic events.
extern "C" __global__ void __launch_bounds__(1024, 1) deliver_pull(const Model* __restrict__ model, unsigned int n_pieces, const Chunk* __restrict__ pieces, const unsigned int* __restrict__ sources, const unsigned int* __restrict__ fired, const unsigned int* __restrict__ when, int* __restrict__ arrivals);
