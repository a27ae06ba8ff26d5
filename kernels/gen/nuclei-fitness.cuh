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

// Mean squared errors, 32 nuclei per block: for few of them. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_32(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors, 64 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_64(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors, 128 nuclei per block; bounded by one fused multiply-add per weight and row, or by
// reading the weights. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_128(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// One step down the gradient, one warp per nucleus. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) learn(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ w);

// Without a task all are alike. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) equal(const Census* __restrict__ census, unsigned int places, const unsigned int* __restrict__ idx, float* __restrict__ fields);

// Entropies of the softmax of the weights, eight lanes per nucleus; bounded by reading the weights. Items:
// nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) entropy(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ w, float* __restrict__ fields);

// Mean and spread of fitness, 1024 nuclei per block. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) sum_climate(const Census* __restrict__ census, unsigned int places, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts, unsigned long long* __restrict__ least);

// One block: temperature and the fittest.
extern "C" __global__ void __launch_bounds__(256, 1) find_climate(const Census* __restrict__ census, unsigned int places, const float* __restrict__ fields, const double* __restrict__ parts, const unsigned long long* __restrict__ least, Climate* __restrict__ climate);
