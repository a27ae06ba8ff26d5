// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Parameters as read by the kernels.
struct alignas(8) KernelParams {
    unsigned long long seed; // Seed of the project: part of the address of every draw
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
    unsigned int n_min; // Minimum population: fusions and deaths never go below it
    unsigned int fuse_key; // 0 hybrid, 1 entropy, 2 fitness
    unsigned int child_base; // 0 best, 1 fused, 2 parent
    unsigned int uses_local_order; // Whether decays use the local order
    unsigned int square_root; // Whether the barrier is rectangular
    unsigned int norm_by_row; // Whether coupling sums are divided by d, not by N
    unsigned int compat_map; // Whether the map is that of the original model
    unsigned int phase_fields; // Phases of a nucleus, one per phase field
    unsigned int sends_double; // Whether doubled phases are transmitted
    float coupling; // Strength of the coupling
    float dt; // Time of a substep
    float omega_scale; // Factor of the frequencies
};
static_assert(sizeof(KernelParams) == 160, "KernelParams: size");
