// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int FIELDS = 10u;
constexpr unsigned int PHI = 0u;
constexpr unsigned int AMP = 1u;
constexpr unsigned int OMEGA = 2u;
constexpr unsigned int SPIKE = 3u;
constexpr unsigned int F = 4u;
constexpr unsigned int H = 5u;
constexpr unsigned int S_RE = 6u;
constexpr unsigned int S_IM = 7u;
constexpr unsigned int D = 8u;
constexpr unsigned int R_LOCAL = 9u;
constexpr unsigned int ALIVE = 0u;
constexpr unsigned int FROZEN = 1u;
constexpr unsigned int BIRTH = 2u;
constexpr unsigned int PARENT = 3u;
constexpr unsigned int MARK = 4u;
constexpr unsigned int MAX_SELECTED = 4096u;
constexpr unsigned int BLOCK_J = 1024u;

// Population size and event totals. Only kernels write them while a simulation runs.
struct alignas(8) PopulationCounts {
    unsigned long long generation; // Generations done
    unsigned long long fused; // Fusions
    unsigned long long absorbed; // Nuclei absorbed by fusions
    unsigned long long decayed; // Decays
    unsigned long long children; // Offspring placed in free slots
    unsigned long long missing; // Offspring without a free slot
    unsigned long long died; // Deaths
    unsigned int n; // Number of nuclei
    unsigned int n_free; // Free slots
};
static_assert(sizeof(PopulationCounts) == 64, "PopulationCounts: size");

// Statistics of the population in this generation.
struct alignas(8) DeviceStats {
    double mean_f; // Mean fitness
    double std_f; // Sample standard deviation of fitness
    double t; // Temperature, 1 + std
    double per_t; // log2(e) / T
    double mean_h; // Mean entropy
    double r; // Global order, 0 to 1
    double mean_cos; // Mean of the cosines of all phases
    double mean_sin; // Mean of the sines
    double r_weighted; // Order weighted by the coupling, 0 to 1
    double p; // Probability of tunnelling at the global order
    double p_mean; // Mean of the probabilities at the local orders
    float min_f; // Lowest error
    float median_f; // Median error, if sampled
    unsigned int best; // Slot of the lowest error, the lowest of ties
    float ensemble_f; // Error of the mean output of the ensemble, if sampled
};
static_assert(sizeof(DeviceStats) == 104, "DeviceStats: size");

// Parameters as read by the kernels.
struct alignas(8) KernelParams {
    unsigned long long seed; // Project seed
    double worst_share; // Fraction of the population that may decay
    double sigma; // Standard deviation of mutations
    double p_death; // Probability of death
    double attempts; // Attempts per generation; 0: probabilities are used directly
    double r_threshold; // Order parameter at which the barrier vanishes
    double prefactor; // Probability without a barrier
    double hbar; // Effective Planck constant
    double width; // Width of the barrier
    double mass; // Mass of the tunnelling particle
    double noise; // Standard deviation of the noise of one substep
    unsigned int n_slots; // Slots of the table
    unsigned int dim; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int k_worst; // Minimum decay count
    unsigned int m_fuse; // Nuclei per fusion
    unsigned int c_new; // Offspring per decay
    unsigned int n_min; // Minimum population
    unsigned int fuse_key; // 0 hybrid, 1 entropy, 2 fitness
    unsigned int child_base; // 0 best, 1 fused, 2 parent
    unsigned int uses_local_order; // Whether decays use the local order
    unsigned int square_root; // Whether the barrier is rectangular
    unsigned int norm_by_row; // Whether coupling sums are divided by d, not by N
    unsigned int compat_map; // Whether the map is that of the original model
    unsigned int phase_fields; // Phase fields
    unsigned int sends_double; // Whether doubled phases are transmitted
    float coupling; // Strength of the coupling
    float dt; // Time of a substep
    float omega_scale; // Factor of the frequencies
};
static_assert(sizeof(KernelParams) == 160, "KernelParams: size");

// Builds the site of every nucleus, one thread each. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) build_sites(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// One thread per nucleus, all others from global memory: the reference. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_naive(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ sums);

// One block per 1024 nuclei and chunk of the others, four nuclei per thread; bounded by one exponential per pair.
// Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_tiled(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, float* __restrict__ partials);

// Adds the partial sums of the chunks in order. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) reduce_tiles(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const float* __restrict__ partials, float* __restrict__ sums);

// Sums of e^{iφ}, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_phasors(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, double* __restrict__ parts);

// Mean-field coupling, J = 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_mean_field(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, const double* __restrict__ parts, float* __restrict__ sums);

// Coupling by a stored matrix J, one warp per nucleus; bounded by reading the matrix. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_matrix(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ matrix, const float* __restrict__ sites, float* __restrict__ sums);

// Writes the transmitted phasors of one phase field into the sites. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) send_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// Adds the sums of one phase field, weighted by G, to the sums of all fields. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) mix_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const float* __restrict__ mixing, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ mixed);

// Gathers the sums of one phase field. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) gather_field(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const float* __restrict__ mixed, float* __restrict__ sites, float* __restrict__ sums);

// Writes S, d and R to the table; partial sums of the order parameters, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ fields, double* __restrict__ parts);

// One block: order parameters and tunnelling probabilities.
extern "C" __global__ void __launch_bounds__(256, 1) reduce_order(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const double* __restrict__ parts, DeviceStats* __restrict__ stats);
