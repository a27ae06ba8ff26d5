// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Values that all dropout places of a network share in a step.
struct alignas(8) DropoutStep {
    unsigned long long seed; // Seed of the project: part of the address of every draw
    unsigned long long step; // Step of the draws
    unsigned long long offset; // Index of the first element
    unsigned long long threshold; // Elements whose random word is at least this are kept
    float factor; // Factor of kept elements
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(DropoutStep) == 40, "DropoutStep: size");
