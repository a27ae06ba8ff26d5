// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"

// Ranks the fitness of pairs, or converts it, a thread per pair. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) rank_pairs(unsigned int pairs, unsigned int shaping, const unsigned long long* __restrict__ losses, double* __restrict__ shaped);

// Computes mean and standard deviation in the order of the pairs, in one block. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) measure_fitness(unsigned int pairs, const double* __restrict__ shaped, double* __restrict__ mean_deviation);

// Computes the weights of pairs, a thread per pair. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) weigh_pairs(unsigned int pairs, unsigned int shaping, double clip, const double* __restrict__ shaped, const double* __restrict__ mean_deviation, long long* __restrict__ pair_weights);
