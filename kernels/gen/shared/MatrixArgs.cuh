// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A matrix of weights.
struct alignas(4) MatrixArgs {
    unsigned int outputs; // Rows of the matrix
    unsigned int inputs; // Columns of the matrix
    unsigned int first_word; // First word of its low-rank signs
    float scale; // Scale of the integer sums
};
static_assert(sizeof(MatrixArgs) == 16, "MatrixArgs: size");
