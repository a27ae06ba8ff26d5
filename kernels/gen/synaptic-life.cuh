// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/StepParams.cuh"
#include "gen/shared/StepTokens.cuh"

constexpr unsigned int MAX_RECORDS = 1024u;
constexpr unsigned int STATISTICS = 32u;
constexpr unsigned int CONTRIBUTION = 25u;
constexpr unsigned int COUNT = 26u;
constexpr double SHORTEST = 1e-8;

// Record of an expert in a training step, for its scores.
struct alignas(8) ExpertRecord {
    double share; // Share of the tokens that selected it
    double contribution; // Rise of the mean loss if it is removed, to first order
    double specialization; // Specialization; NaN where it was not measured
};
static_assert(sizeof(ExpertRecord) == 24, "ExpertRecord: size");

// Sizes of a measurement of the specialization.
struct alignas(4) SpecializationArgs {
    unsigned int tokens; // Tokens of the measured sequence
    unsigned int width; // Components of a token
    unsigned int top_k; // Experts per token
    unsigned int experts; // Slots of experts of all layers
    unsigned int first; // First slot of the layer
};
static_assert(sizeof(SpecializationArgs) == 20, "SpecializationArgs: size");

// Parameters that get noise, and the place of its draws.
struct alignas(8) NoiseArgs {
    unsigned long long seed; // Seed of the project
    unsigned long long step; // Step of the draws
    unsigned long long start; // First parameter that gets noise
    unsigned long long n; // Parameters that get noise
    unsigned int purpose; // Purpose of the draws
    unsigned int first_lane; // Lane of the first draw
};
static_assert(sizeof(NoiseArgs) == 40, "NoiseArgs: size");

// One thread per expert of all layers: its record of the step. Items: experts.
extern "C" __global__ void __launch_bounds__(256, 1) record_experts(unsigned int experts, const StepParams* __restrict__ params, const StepTokens* __restrict__ step, const double* __restrict__ statistics, ExpertRecord* __restrict__ records);

// One block per expert of a layer: its specialization, in the record of the last step.
extern "C" __global__ void __launch_bounds__(256, 1) measure_specialization(SpecializationArgs a, const StepParams* __restrict__ params, const float* __restrict__ x, const unsigned int* __restrict__ indices, ExpertRecord* __restrict__ records);

// An element per thread: weighted means of two ranges of parameters with their state.
extern "C" __global__ void __launch_bounds__(256, 1) mix_range(double alpha, unsigned long long from, unsigned long long to, unsigned long long n, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares);

// One thread per number: adds numbers to parameters.
extern "C" __global__ void __launch_bounds__(256, 1) add_numbers(unsigned long long start, unsigned int n, const float* __restrict__ numbers, float* __restrict__ params);

// One block: the standard deviation of a range of parameters, times a factor.
extern "C" __global__ void __launch_bounds__(1024, 1) measure_spread(double factor, unsigned long long start, unsigned long long n, const float* __restrict__ params, double* __restrict__ spread);

// One block per expert of a layer: adds the sum of its part of an array to its sum.
extern "C" __global__ void __launch_bounds__(256, 1) sum_parts(unsigned long long start, unsigned long long len, const float* __restrict__ values, double* __restrict__ sums);

// Four elements per thread: adds noise to a range of parameters.
extern "C" __global__ void __launch_bounds__(256, 1) add_noise(NoiseArgs a, const double* __restrict__ spread, float* __restrict__ params);
