// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/PopulationCounts.cuh"

// Sorts 1024 sites by x. Items: nuclei.
extern "C" __global__ void __launch_bounds__(1024, 1) sort_blocks(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x);

// Merges neighbouring sorted runs of 2^bits sites by x, one thread per site. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) merge_by_x(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int bits, unsigned int from, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x);

// Copies sites in order of x. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) permute_sites(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sites, float* __restrict__ sorted);

// Sorts by H within 256, 512 and 1024 sites, and stores ranks in the neighbouring half. Items: nuclei.
extern "C" __global__ void __launch_bounds__(1024, 1) sort_blocks_by_h(const PopulationCounts* __restrict__ population, unsigned int room, const float* __restrict__ sorted, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks);

// Merges one level of larger halves by H. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) merge_by_h(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int level, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks);

// Sums over all pairs within 256 neighbours in x. Items: pairs.
extern "C" __global__ void __launch_bounds__(64, 1) sum_near(const PopulationCounts* __restrict__ population, const float* __restrict__ sorted, float* __restrict__ near_sums);

// Prefix and suffix sums over 1024 sites of one level per block; bounded by writing 32 bytes per site and
// level. Items: sites and levels.
extern "C" __global__ void __launch_bounds__(512, 1) scan_far(const PopulationCounts* __restrict__ population, unsigned int room, const float* __restrict__ sorted, const unsigned int* __restrict__ orders, float* __restrict__ records, float* __restrict__ offsets);

// Sums of whole units before and after each unit, one warp per half and component.
extern "C" __global__ void __launch_bounds__(128, 1) scan_far_offsets(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int levels, float* __restrict__ offsets);

// Every site reads the sums before and after it in the neighbouring half of every level; bounded by a random read
// of 32 bytes per site and level. Items: sites and levels.
extern "C" __global__ void __launch_bounds__(256, 1) gather_far(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int levels, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sorted, const unsigned int* __restrict__ ranks, const float* __restrict__ records, const float* __restrict__ offsets, const float* __restrict__ near_sums, float* __restrict__ sums);
