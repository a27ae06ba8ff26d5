// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A matrix of weights.
struct alignas(4) MatrixArgs {
    unsigned int outputs; // Rows of the matrix
    unsigned int inputs; // Columns of the matrix
    unsigned int first_word; // First word of its signs
    float scale; // Scale of the integer sums
    int magnitude; // Magnitude of a perturbation of the sums
};
static_assert(sizeof(MatrixArgs) == 20, "MatrixArgs: size");
