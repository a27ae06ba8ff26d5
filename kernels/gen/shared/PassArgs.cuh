// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Sizes and scales of a forward pass.
struct alignas(4) PassArgs {
    unsigned int rows; // Rows of each member
    unsigned int steps; // Steps of a sequence
    unsigned int width; // Features of a row
    unsigned int is_perturbed; // Whether rows belong to perturbed members
    unsigned int shift; // Perturbations are scaled by 2^-shift
    unsigned int rank; // Rank of the perturbation; 0: full rank, or none
    int factor; // Factor of a low-rank perturbation
    unsigned int words; // Words of signs of each pair
    unsigned int vectors; // Elements of all vectors
    unsigned int perturbs_activations; // Whether activations are perturbed in place of weights
    unsigned int first_row; // Row of the pair with which the rows of a member begin
    unsigned int members_per_pair; // Members that read the text of a pair: 2, or 1 for the unperturbed model
    unsigned int is_live; // Whether every matrix has an effect
    float activation; // Scale after the input projection
    float mlp_activation; // Scale in the feed-forward layer
    float norm; // Scale of the norm
    float residual; // Scale of attention
    float mlp_residual; // Scale of the feed-forward layer
};
static_assert(sizeof(PassArgs) == 72, "PassArgs: size");
