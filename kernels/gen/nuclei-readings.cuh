// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/KernelParams.cuh"
#include "gen/shared/EventLog.cuh"

constexpr unsigned int READ_AGE = 256u;
constexpr unsigned int READ_ALIVE = 257u;

// Fields of all slots, one after the other. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) gather_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ what, unsigned int n_fields, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ values);

// Values of chosen nuclei in this generation; `chosen` holds pairs of column and slot.
extern "C" __global__ void __launch_bounds__(128, 1) sample_chosen(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ chosen, unsigned int n_chosen, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ samples);
