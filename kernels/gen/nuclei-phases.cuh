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

// The parameters as kernels read them.
struct alignas(8) Rules {
    unsigned long long seed; // Project seed
    double worst_share; // Share of all that may decay
    double sigma; // Spread of what is added to the weights of children
    double p_death; // Probability of radioactive death
    double attempts; // Attempts per generation; 0 takes probabilities as they are
    double r_threshold; // Order at which the barrier is open
    double prefactor; // Probability with an open barrier
    double hbar; // How readily barriers are crossed
    double width; // Width of the barrier
    double mass; // Mass of what tunnels
    double noise; // Spread of the noise of one substep
    unsigned int places; // Places in the table
    unsigned int dim; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int k_worst; // Least number of nuclei that may decay
    unsigned int m_fuse; // Nuclei that become one
    unsigned int c_new; // Children of a decay
    unsigned int n_min; // Fewer are not left by fusion or death
    unsigned int fuse_key; // 0 hybrid, 1 entropy, 2 fitness
    unsigned int child_base; // 0 best, 1 fused, 2 parent
    unsigned int seen_local; // Whether decays look at the local order
    unsigned int square_root; // Whether the barrier is rectangular
    unsigned int norm_by_row; // Whether coupling sums are divided by d, not by N
    unsigned int as_found; // Whether the map is the one that was found
    unsigned int waves; // Fields of phases
    unsigned int sends_double; // Whether fields send the double of their phases
    float coupling; // Strength of the coupling
    float dt; // Time of a substep
    float omega_scale; // Multiplies frequencies
};
static_assert(sizeof(Rules) == 160, "Rules: size");

// One stage of an integrator, one thread per nucleus. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) step_phases(const Census* __restrict__ census, const Rules* __restrict__ rules, unsigned int stage, unsigned int substep, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ sums, const unsigned int* __restrict__ tags, float* __restrict__ fields, float* __restrict__ starts, float* __restrict__ totals, float* __restrict__ sites);

// Spike counts of the quantum-Kuramoto maps. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) spike(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, float* __restrict__ fields);

// Their maximum and the sum of amplitudes, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_waves(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts);

// One application of a map. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) apply_map(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, const unsigned int* __restrict__ tags, const double* __restrict__ parts, float* __restrict__ fields, double* __restrict__ norms);

// Amplitudes back to a total of 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) scale_waves(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const double* __restrict__ norms, float* __restrict__ fields, float* __restrict__ sites);
