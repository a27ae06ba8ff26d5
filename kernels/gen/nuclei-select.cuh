// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/nuclei-TABLE.cuh"
#include "gen/shared/PopulationCounts.cuh"
#include "gen/shared/DeviceStats.cuh"
#include "gen/shared/KernelParams.cuh"
#include "gen/shared/TopK.cuh"
#include "gen/shared/TaskEquations.cuh"

// Fusion keys of all nuclei. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) make_fusion_keys(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, TopK* __restrict__ top_k);

// Decay keys of all nuclei not selected for fusion. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) make_decay_keys(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const unsigned int* __restrict__ tags, unsigned int* __restrict__ keys, TopK* __restrict__ top_k);

// Keys for the median fitness. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) make_fitness_keys(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys);

// Histogram of 11 bits of the keys that match the threshold so far, 2048 keys per block; the last block determines
// the next bits of the threshold. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) count_digits(const PopulationCounts* __restrict__ population, unsigned int which, unsigned int digit, const unsigned int* __restrict__ keys, unsigned int* __restrict__ histogram, TopK* __restrict__ top_k);

// Lists keys above the threshold, and counts ties. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) collect_above(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, unsigned int* __restrict__ ties, TopK* __restrict__ top_k);

// Lists the ties of lowest slot. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) collect_ties(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, const unsigned int* __restrict__ ties, const TopK* __restrict__ top_k);

// One thread: stores the selected key as the median.
extern "C" __global__ void __launch_bounds__(1, 1) store_median(const PopulationCounts* __restrict__ population, const TopK* __restrict__ top_k, DeviceStats* __restrict__ stats);

// Keys of the fittest nuclei, for the ensemble. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) make_fittest_keys(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int most, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, TopK* __restrict__ top_k);

// One block: error of the mean output of the ensemble.
extern "C" __global__ void __launch_bounds__(256, 1) evaluate_ensemble(const TaskEquations* __restrict__ of, const TopK* __restrict__ top_k, const unsigned long long* __restrict__ chosen, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, unsigned int* __restrict__ order, DeviceStats* __restrict__ stats);
