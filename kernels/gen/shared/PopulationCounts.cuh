// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Population size and event totals. Only kernels write them while a simulation runs.
struct alignas(8) PopulationCounts {
    unsigned long long generation; // Generations completed so far
    unsigned long long fused; // Fusions so far
    unsigned long long absorbed; // Nuclei absorbed by fusions
    unsigned long long decayed; // Decays so far
    unsigned long long children; // Offspring placed in free slots
    unsigned long long missing; // Offspring without a free slot
    unsigned long long died; // Deaths so far
    unsigned int n; // Number of nuclei
    unsigned int n_free; // Slots without a nucleus
};
static_assert(sizeof(PopulationCounts) == 64, "PopulationCounts: size");
