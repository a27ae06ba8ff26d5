// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Layout of ring buffers, tables and connection words; only the rings change, between launches.
struct alignas(4) RingLayout {
    unsigned int target_bits; // Bits of the target in a packed connection
    unsigned int window; // Steps of a whole window: rows of the arrivals table
    unsigned int spike_mask; // Ring size of spikes less one; sizes are powers of two
    unsigned int chunk_mask; // Ring size of chunks less one
    unsigned int segment_mask; // Ring size of segments less one
    unsigned int dense_chunks; // Chunks of a window from which on all warps are evaluated
};
static_assert(sizeof(RingLayout) == 24, "RingLayout: size");
