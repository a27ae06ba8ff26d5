// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Least-squares equations of the task. Rows are zero-padded to a multiple of 32, columns to a multiple of 16.
struct alignas(8) TaskEquations {
    double rest; // Residual sum of squares independent of the weights
    double samples; // Number of samples, before compression
    unsigned int rows; // Rows of the equations, padding included
    unsigned int columns; // Columns of the equations, padding included
    unsigned int inputs; // Weights of a nucleus
    unsigned int stride; // Numbers from one row of weights to the next
    unsigned int n_slots; // Slots of the table
    unsigned int triangular; // Whether row b starts with b zeros
    unsigned int saturating; // Whether outputs saturate
    unsigned int storage; // 0 full, 1 f16, 2 bf16
    float step; // Gradient step size over the number of samples
    float unscale; // Inverse scale of the split inputs
};
static_assert(sizeof(TaskEquations) == 56, "TaskEquations: size");
