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

// Mean squared errors of nuclei of up to 32 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_mma_32(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 64 weights, 16 nuclei per warp. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_mma_64(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);

// Mean squared errors of nuclei of up to 128 weights, 16 nuclei per warp; bounded by reading the split inputs
// from shared memory, or by reading the weights. Items: nuclei.
extern "C" __global__ void __launch_bounds__(256, 1) fitness_mma_128(const Census* __restrict__ census, const Equations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields);
