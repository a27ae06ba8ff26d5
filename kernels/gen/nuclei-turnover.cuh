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

// Events drawn in this generation.
struct alignas(8) EventDecision {
    double total; // Sum of the weights of the fusing nuclei
    float phi; // Phase of the fusion product
    float amp; // Its amplitude
    unsigned int fuses; // Whether the fusion occurs
    unsigned int m; // Nuclei selected for fusion
    unsigned int host; // Lowest of their slots
    unsigned int decays; // Decays
    unsigned int died; // Deaths
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(EventDecision) == 40, "EventDecision: size");

// Fill level of the log.
struct alignas(4) EventLog {
    unsigned int words; // Words written
    unsigned int entries; // Generations written
};
static_assert(sizeof(EventLog) == 8, "EventLog: size");

// Log entry of one generation. Its words are slots: fused nuclei, the host first; decayed nuclei; offspring and parent
// of each birth; dead nuclei.
struct alignas(8) LogEntry {
    DeviceStats stats; // Statistics when the events were drawn
    unsigned long long generation; // Generation
    unsigned int n; // Number of nuclei then
    unsigned int fused; // Fused nuclei
    unsigned int decayed; // Decayed nuclei
    unsigned int born; // Births, including decaying nuclei renewed in their own slot
    unsigned int missing; // Offspring without a free slot
    unsigned int died; // Dead nuclei
    unsigned int words; // Index of its first word
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(LogEntry) == 144, "LogEntry: size");

// One block: sorts the selected nuclei and draws the events.
extern "C" __global__ void __launch_bounds__(1024, 1) decide_events(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const TopK* __restrict__ top_k, const float* __restrict__ fields, const unsigned long long* __restrict__ chosen, unsigned int* __restrict__ order, double* __restrict__ shares, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out);

// Weights of the fusion product, one thread per weight.
extern "C" __global__ void __launch_bounds__(128, 1) blend_weights(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ w, float* __restrict__ fused);

// One block per fusing nucleus: writes the fusion product to the host slot and clears the others.
extern "C" __global__ void __launch_bounds__(128, 1) fuse_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const float* __restrict__ fused, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags);

// Mean phases of the fusing nuclei in phase fields 2 to F, one thread per field.
extern "C" __global__ void __launch_bounds__(32, 1) blend_phase_fields(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const double* __restrict__ shares, const float* __restrict__ fields, float* __restrict__ phases);

// Stores them in the host slot of the fusion.
extern "C" __global__ void __launch_bounds__(32, 1) store_host_phases(const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const float* __restrict__ phases, float* __restrict__ fields);

// Order parameters of phase fields 2 to F, one block per field. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) order_phase_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ orders);

// Copies the weights that offspring are mutated from, after the fusion.
extern "C" __global__ void __launch_bounds__(128, 1) copy_base_weights(const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const float* __restrict__ fused, const float* __restrict__ w, float* __restrict__ base);

// Counts occupied slots, 1024 slots per block. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) count_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, unsigned int* __restrict__ block_counts);

// Lists occupied and free slots, ascending. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) list_alive(const KernelParams* __restrict__ params, const unsigned int* __restrict__ tags, const unsigned int* __restrict__ block_counts, unsigned int* __restrict__ idx, unsigned int* __restrict__ free, PopulationCounts* __restrict__ population);

// One block per decay: writes offspring to the nucleus' own slot and the next free slots.
extern "C" __global__ void __launch_bounds__(128, 1) decay_nuclei(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventDecision* __restrict__ decision, const unsigned int* __restrict__ order, const unsigned int* __restrict__ free, const float* __restrict__ base, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out);

// Draws deaths, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) count_deaths(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ tags, unsigned int* __restrict__ dying, unsigned int* __restrict__ block_counts);

// Clears the slots of dying nuclei, ascending, down to the minimum population. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) remove_dead(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ dying, const unsigned int* __restrict__ block_counts, float* __restrict__ w, float* __restrict__ fields, unsigned int* __restrict__ tags, EventDecision* __restrict__ decision, const EventLog* __restrict__ log, unsigned int* __restrict__ words_out, float* __restrict__ errors_out);

// One thread: updates the totals and appends a log entry.
extern "C" __global__ void __launch_bounds__(1, 1) finish_ledger(const KernelParams* __restrict__ params, const DeviceStats* __restrict__ stats, const EventDecision* __restrict__ decision, PopulationCounts* __restrict__ population, EventLog* __restrict__ log, LogEntry* __restrict__ entries);
