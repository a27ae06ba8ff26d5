// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int GELU_TANH = 0u;
constexpr unsigned int GELU_ERF = 1u;
constexpr unsigned int RELU = 2u;
constexpr unsigned int RELU_SQUARED = 3u;

// An activation function of rows.
struct alignas(8) ActivationArgs {
    unsigned long long rows; // Rows of the output
    unsigned long long columns; // Columns of the output
    unsigned int function; // Number of the function, as in Activation
    unsigned int is_aligned; // Whether packs of 16 bytes are aligned
};
static_assert(sizeof(ActivationArgs) == 24, "ActivationArgs: size");

// A thread per 16 bytes of the output. Items: elements of it.
extern "C" __global__ void __launch_bounds__(1024, 1) activation_forward(ActivationArgs a, const void* x, void* y);

// A thread per 16 bytes of the gradient of the output. Items: elements of it.
extern "C" __global__ void __launch_bounds__(512, 3) activation_backward(ActivationArgs a, const void* x, const void* dy, void* dx);
