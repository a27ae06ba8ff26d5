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

// A selection of the largest keys.
struct alignas(4) TopK {
    unsigned int want; // Number of keys to select
    unsigned int prefix; // Known upper bits of the threshold
    unsigned int above; // Keys above it
    unsigned int ties; // Keys equal to it to select
    unsigned int count; // Keys listed
    unsigned int done; // Blocks that finished counting
};
static_assert(sizeof(TopK) == 24, "TopK: size");

// Least-squares equations of the task. Rows are zero-padded to a multiple of 32, columns to a multiple of 16.
struct alignas(8) TaskEquations {
    double rest; // Residual sum of squares independent of the weights
    double samples; // Samples
    unsigned int rows; // Rows
    unsigned int columns; // Columns
    unsigned int inputs; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int n_slots; // Slots of the table
    unsigned int triangular; // Whether row b starts with b zeros
    unsigned int saturating; // Whether outputs saturate
    unsigned int storage; // 0 full, 1 f16, 2 bf16
    float step; // Gradient step size over the number of samples
    float unscale; // Inverse scale of the split inputs
};
static_assert(sizeof(TaskEquations) == 56, "TaskEquations: size");

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
