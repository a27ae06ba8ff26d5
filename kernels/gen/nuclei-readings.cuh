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
constexpr unsigned int READ_AGE = 256u;
constexpr unsigned int READ_ALIVE = 257u;

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

// Fill level of the log.
struct alignas(4) EventLog {
    unsigned int words; // Words written
    unsigned int entries; // Generations written
};
static_assert(sizeof(EventLog) == 8, "EventLog: size");

// Fields of all slots, one after the other. Items: slots.
extern "C" __global__ void __launch_bounds__(256, 1) gather_fields(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ what, unsigned int n_fields, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ values);

// Values of chosen nuclei in this generation; `chosen` holds pairs of column and slot.
extern "C" __global__ void __launch_bounds__(128, 1) sample_chosen(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const EventLog* __restrict__ log, const unsigned int* __restrict__ chosen, unsigned int n_chosen, const float* __restrict__ fields, const unsigned int* __restrict__ tags, float* __restrict__ samples);
