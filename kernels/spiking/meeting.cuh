// Blocks that are at work at the same time: which neurons each has, and how they meet.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// Neurons of a block at most.
constexpr unsigned int MOST = 1088;
// Blocks at most.
constexpr unsigned int MOST_POSTS = 256;
// Places for connections that are yet to be read, four each.
constexpr unsigned int WORK = 2048;

// What every block keeps of the windows it goes through, whatever its neurons are.
struct Turns {
    uint2 work[WORK]; // see `note`
    // Spikes of two windows: how many of this block, and where they go in the ring.
    unsigned int n_spikes[2], ring_at[2];
    // Where the spikes of all blocks in a window begin.
    unsigned int start[2], segment[2];
    // Spikes of the window before: of 32 posts up to and with each, and of them all.
    unsigned int until[MOST_POSTS], sum[MOST_POSTS / 32];
    unsigned int n_work, unread, chunk_start, looks;
    // What is read again and again.
    Model model;
    Window plan[2];

    // By one thread, before the first turn.
    __device__ void open(const Model& m, const Window* windows, const Segment* segments) {
        const Segment last = segments[windows[0].previous];
        model = m;
        plan[0] = windows[0];
        n_spikes[0] = n_spikes[1] = looks = 0;
        unread = segments[windows[0].unread & m.segment_mask].spike_start;
        start[1] = last.spike_start + last.n_spikes; // as if of the window before
        chunk_start = last.chunk_start + last.n_chunks;
    }
};

// All blocks meet. The top bit of the gate turns over when the last one has arrived; nothing is ever reset.
__device__ inline unsigned int arrive(unsigned int* gate) {
    const unsigned int mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
    unsigned int before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(gate), "r"(mine) : "memory");
    return before;
}

__device__ inline void wait_at(unsigned int* gate, unsigned int before) {
    unsigned int now;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(gate) : "memory");
    } while (((now ^ before) & 0x80000000u) == 0);
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); // once: it empties the first level of the cache
}

// The neurons of this block: groups b, b + B, b + 2 B, … of 32.
struct Deal {
    unsigned int n_groups, mine;

    __device__ explicit Deal(const Model& m)
        : n_groups(m.stride >> 5), mine(n_groups > blockIdx.x ? (n_groups - 1 - blockIdx.x) / gridDim.x + 1 : 0) {}
    __device__ unsigned int group(unsigned int member) const { return (member >> 5) * gridDim.x + blockIdx.x; }
    __device__ unsigned int lane(unsigned int member) const { return group(member) << 5 | (member & 31); }
    // Neurons of a block at most.
    __device__ unsigned int span() const { return ((n_groups - 1) / gridDim.x + 1) << 5; }
    // Words of a post: a count, and a key for each spike that may be.
    __device__ unsigned int post_size(const Model& m) const { return (span() * m.window + 16) & ~15u; }
};

}  // namespace spiking
