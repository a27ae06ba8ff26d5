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

// What holds for the whole population in this generation.
struct alignas(8) Climate {
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
    float min_f; // Least fitness
    float median_f; // Median fitness, when somebody looks
    unsigned int best; // Slot of the least fitness, the lowest one
    float together_f; // Error of the mean answer of the fittest, when somebody looks
};
static_assert(sizeof(Climate) == 104, "Climate: size");

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

// One thread per living nucleus: what its pairs see of it. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) place(const Census* __restrict__ census, const Climate* __restrict__ climate, unsigned int places, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// One thread per nucleus, all others from global memory. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_naive(const Census* __restrict__ census, const float* __restrict__ sites, float* __restrict__ sums);

// One block per 1024 nuclei and stretch of the others, four nuclei per thread; bounded by one exponential per
// pair. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_tiled(const Census* __restrict__ census, const float* __restrict__ sites, float* __restrict__ partials);

// Adds up the stretches in order. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_reduce(const Census* __restrict__ census, const float* __restrict__ sites, const float* __restrict__ partials, float* __restrict__ sums);

// Sums of the phase factors, 1024 per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_rotors(const Census* __restrict__ census, const float* __restrict__ sites, double* __restrict__ parts);

// The coupling when all weights are 1. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) couple_meanfield(const Census* __restrict__ census, const float* __restrict__ sites, const double* __restrict__ parts, float* __restrict__ sums);

// The coupling when a table gives it, one warp per nucleus; bounded by reading the table. Items: pairs.
extern "C" __global__ void __launch_bounds__(256, 1) couple_given(const Census* __restrict__ census, unsigned int places, const unsigned int* __restrict__ idx, const float* __restrict__ matrix, const float* __restrict__ sites, float* __restrict__ sums);

// What one of several fields of phases sends, in place of the phases. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) send_field(const Census* __restrict__ census, const Rules* __restrict__ rules, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, float* __restrict__ sites);

// Adds what was coupled of one field to what all receive. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) mix_field(const Census* __restrict__ census, const Rules* __restrict__ rules, unsigned int field, const float* __restrict__ mixing, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ mixed);

// The sums one field receives. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) hand_field(const Census* __restrict__ census, const Rules* __restrict__ rules, unsigned int field, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const float* __restrict__ mixed, float* __restrict__ sites, float* __restrict__ sums);

// Hands S, d and R to the table; sums for the order of the whole, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_order(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ sites, const float* __restrict__ sums, float* __restrict__ fields, double* __restrict__ parts);

// One block: the order of the whole, and what is likely with it.
extern "C" __global__ void __launch_bounds__(256, 1) find_order(const Census* __restrict__ census, const Rules* __restrict__ rules, const double* __restrict__ parts, Climate* __restrict__ climate);
