// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Draws of the pairs of a launch. Kernels read them from memory, so that captured launches serve all groups of pairs.
struct alignas(8) Draws {
    unsigned long long seed; // Seed of the run
    unsigned long long generation; // Number of the generation
    unsigned int first_pair; // First pair
    unsigned int generator; // Generator of full-rank perturbations
    unsigned int is_low_rank; // Whether perturbations are of low rank
    unsigned int is_shared; // Whether all pairs read the same text
};
static_assert(sizeof(Draws) == 32, "Draws: size");
