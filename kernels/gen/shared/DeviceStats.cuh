// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Statistics of the population in this generation.
struct alignas(8) DeviceStats {
    double mean_f; // Mean fitness of the nuclei; 0 without nuclei
    double std_f; // Sample standard deviation of fitness
    double t; // Temperature, 1 + std
    double per_t; // log2(e) / T
    double mean_h; // Mean entropy of the nuclei; 0 without nuclei
    double r; // Global order, 0 to 1
    double mean_cos; // Mean of the cosines of all phases
    double mean_sin; // Mean of the sines
    double r_weighted; // Order weighted by the coupling, 0 to 1
    double p; // Probability of tunnelling at the global order
    double p_mean; // Mean of the probabilities at the local orders
    float min_f; // Lowest error of a nucleus; infinite without nuclei
    float median_f; // Median error, if sampled
    unsigned int best; // Slot of the lowest error, the lowest of ties
    float ensemble_f; // Error of the mean output of the ensemble, if sampled
};
static_assert(sizeof(DeviceStats) == 104, "DeviceStats: size");
