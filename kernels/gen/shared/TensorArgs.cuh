// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A tensor in the layout of the parameters.
struct alignas(8) TensorArgs {
    unsigned long long salt; // Salt of its perturbation
    unsigned int start; // First of its elements
    unsigned int len; // Number of elements
    unsigned int columns; // Elements of a row
    unsigned int index; // Index among all tensors
    unsigned int first_word; // First word of its signs
    unsigned int words; // Words of its signs
    int factor; // Factor of its low-rank perturbation
    unsigned int layer; // Layer by which it is frozen
    unsigned int is_vector; // Whether it is a vector of f32
    unsigned int is_fixed; // Whether it is never changed
};
static_assert(sizeof(TensorArgs) == 48, "TensorArgs: size");
