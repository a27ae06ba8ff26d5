// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// One window of steps. Planned by the host, which controls the clock, not the activity.
struct alignas(8) Window {
    unsigned long long step; // First step of the window
    unsigned int steps; // Number of steps, at most 32; 0 is an unused entry of a graph
    unsigned int sent; // Step, modulo 2^32, whose spikes arrive in the first step
    unsigned int previous; // Index of the segment of the previous window
    unsigned int first; // First segment with spikes that arrive in it
    unsigned int last; // Last such segment; first - 1 for none
    unsigned int unread; // Ring offset of the first spike the host has not read
    int most_spikes; // Spikes in the ring with which the window still fits; negative: never
    int most_chunks; // Chunks in the ring with which the window still fits; negative: never
    unsigned int segment; // Segment of its spikes
    unsigned int kick_from; // First listed kick
    unsigned int kick_to; // End of its listed kicks (exclusive)
    unsigned int slot; // Index of its counters
};
static_assert(sizeof(Window) == 56, "Window: size");
