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

// A selection of the largest keys.
struct alignas(4) Choice {
    unsigned int want; // How many
    unsigned int prefix; // Upper bits of the threshold, as far as they are known
    unsigned int above; // Keys above it
    unsigned int ties; // Keys on it that are wanted
    unsigned int count; // Keys listed
    unsigned int done; // Blocks that have counted
};
static_assert(sizeof(Choice) == 24, "Choice: size");

// What nuclei are held against. Rows are padded to a multiple of 32, columns to one of 16, with zeros.
struct alignas(8) Equations {
    double rest; // Sum of squares that no weights can remove
    double samples; // Samples
    unsigned int rows; // Rows
    unsigned int columns; // Columns
    unsigned int inputs; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int places; // Places in the table
    unsigned int triangular; // Whether row b begins with b zeros
    unsigned int saturating; // Whether answers saturate
    unsigned int storage; // 0 as they are, 1 f16, 2 bf16
    float step; // Step down the gradient, over the samples
    float unscale; // Takes back what the split inputs were multiplied by
};
static_assert(sizeof(Equations) == 56, "Equations: size");

// Keys of those who may fuse. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) key_fusion(const Census* __restrict__ census, const Climate* __restrict__ climate, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, Choice* __restrict__ choices);

// Keys of those who may decay: all others. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) key_decay(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const unsigned int* __restrict__ tags, unsigned int* __restrict__ keys, Choice* __restrict__ choices);

// Keys for the median fitness. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) key_fitness(const Census* __restrict__ census, unsigned int places, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys);

// Counts 11 bits of the keys that agree with the threshold so far, 2048 keys per block; the last block finds
// the next bits. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) count_digits(const Census* __restrict__ census, unsigned int which, unsigned int digit, const unsigned int* __restrict__ keys, unsigned int* __restrict__ histogram, Choice* __restrict__ choices);

// Lists what lies above the threshold, and counts ties. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) collect_above(const Census* __restrict__ census, unsigned int places, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, unsigned int* __restrict__ ties, Choice* __restrict__ choices);

// Lists the lowest of the ties. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) collect_ties(const Census* __restrict__ census, unsigned int places, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, const unsigned int* __restrict__ ties, const Choice* __restrict__ choices);

// One thread: the median is a key that was found.
extern "C" __global__ void __launch_bounds__(1, 1) take_median(const Census* __restrict__ census, const Choice* __restrict__ choices, Climate* __restrict__ climate);

// Keys of the fittest, of whom so many answer together. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) key_fittest(const Census* __restrict__ census, unsigned int places, unsigned int most, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, Choice* __restrict__ choices);

// One block: error of the mean answer of the fittest.
extern "C" __global__ void __launch_bounds__(256, 1) answer_together(const Equations* __restrict__ of, const Choice* __restrict__ choices, const unsigned long long* __restrict__ chosen, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, unsigned int* __restrict__ order, Climate* __restrict__ climate);
