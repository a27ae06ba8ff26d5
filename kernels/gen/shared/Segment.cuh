// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// The spikes of one window: their range in the ring buffers.
struct alignas(4) Segment {
    unsigned int n_spikes; // Spikes fired in the window
    unsigned int n_chunks; // Chunks of their rows; beside n_spikes, so that one atomic moves both
    unsigned int spike_start; // Offset in the ring of spikes
    unsigned int chunk_start; // Offset in the ring of chunks
    unsigned int halted; // The window was not run: the rings were full
    unsigned int dense; // All warps are evaluated
};
static_assert(sizeof(Segment) == 24, "Segment: size");
