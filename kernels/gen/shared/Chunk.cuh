// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// At most 128 synapses of a neuron that fired.
struct alignas(4) Chunk {
    unsigned int word; // Index of the first connection of the chunk
    unsigned int meta; // Connections less one in the lower bits; step of the spike in the upper
};
static_assert(sizeof(Chunk) == 8, "Chunk: size");
