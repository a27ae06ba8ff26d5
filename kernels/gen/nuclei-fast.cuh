// Generated from the Rust declarations by `UPDATE=1 cargo test --test kernels`.
#pragma once

// How many there are, and what happened so far. Only kernels write it while a simulation runs.
struct alignas(8) Census {
    unsigned long long generation; // Generations done
    unsigned long long fused; // Fusions
    unsigned long long absorbed; // Nuclei absorbed by fusions
    unsigned long long decayed; // Decays
    unsigned long long children; // Children in places that were free
    unsigned long long missing; // Children for which there was no place
    unsigned long long died; // Deaths
    unsigned int n; // Living nuclei
    unsigned int n_free; // Free places
};
static_assert(sizeof(Census) == 64, "Census: size");

// Sorts 1024 sites by x. Items: nuclei.
extern "C" __global__ void __launch_bounds__(1024, 1) sort_blocks(const Census* __restrict__ census, const float* __restrict__ sites, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x);

// Merges neighbouring sorted stretches of 2^bits sites by x, one thread per site. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) merge_x(const Census* __restrict__ census, unsigned int room, unsigned int bits, unsigned int from, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x);

// Sites in x order. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sort_sites(const Census* __restrict__ census, unsigned int room, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sites, float* __restrict__ sorted);

// H order within 256, 512 and 1024 sites, and ranks in the neighbouring half. Items: nuclei.
extern "C" __global__ void __launch_bounds__(1024, 1) order_blocks(const Census* __restrict__ census, unsigned int room, const float* __restrict__ sorted, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks);

// The same for one level of larger halves. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) merge_h(const Census* __restrict__ census, unsigned int room, unsigned int level, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks);

// All pairs within 256 neighbours in x. Items: pairs.
extern "C" __global__ void __launch_bounds__(64, 1) near(const Census* __restrict__ census, const float* __restrict__ sorted, float* __restrict__ near_sums);

// Prefix and suffix sums over 1024 sites of one level per block; bounded by writing 32 bytes per site and
// level. Items: sites and levels.
extern "C" __global__ void __launch_bounds__(512, 1) far_scan(const Census* __restrict__ census, unsigned int room, const float* __restrict__ sorted, const unsigned int* __restrict__ orders, float* __restrict__ records, float* __restrict__ offsets);

// Sums of whole units before and behind each, one warp per half and component.
extern "C" __global__ void __launch_bounds__(128, 1) far_offsets(const Census* __restrict__ census, unsigned int room, unsigned int levels, float* __restrict__ offsets);

// Every site reads the sum before and behind it in the neighbouring half of every level; bounded by 32 bytes
// at a random place per site and level. Items: sites and levels.
extern "C" __global__ void __launch_bounds__(256, 1) far_gather(const Census* __restrict__ census, unsigned int room, unsigned int levels, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sorted, const unsigned int* __restrict__ ranks, const float* __restrict__ records, const float* __restrict__ offsets, const float* __restrict__ near_sums, float* __restrict__ sums);
