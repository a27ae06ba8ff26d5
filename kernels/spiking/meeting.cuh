// Blocks that are at work at the same time: which neurons each has, and how they meet.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// Neurons of a block at most.
constexpr unsigned int MOST = 1088;
// Blocks at most.
constexpr unsigned int MOST_POSTS = 256;
// Places for connections that are yet to be read, four each.
constexpr unsigned int WORK = 2560;
// Spikes of a block in a window that are kept near.
constexpr unsigned int OWN = 1024;
// Bits of a neuron within its block.
constexpr unsigned int MEMBER_BITS = 11, MEMBERS = (1u << MEMBER_BITS) - 1;

// What every block keeps of the windows it goes through, whatever its neurons are.
struct Turns {
    uint2 work[WORK]; // see `note`
    unsigned short own[OWN]; // spikes of this block: step of the window, member
    // Spikes of two windows: how many of this block, and where they go in the ring.
    unsigned int n_spikes[2], ring_at[2];
    // Where the spikes of all blocks in a window begin.
    unsigned int start[2], segment[2];
    // Spikes of the window before: of 32 posts up to and with each, and of them all.
    unsigned int until[MOST_POSTS], sum[MOST_POSTS / 32];
    unsigned int first[MOST_POSTS]; // the first two of each post
    unsigned int n_work, chunk_start, looks;
    unsigned int lost; // who was lost first in a window: see `lost_in`
    // What is read again and again.
    Model model;
    Window plan[2];

    // By one thread, before the first turn.
    __device__ void open(const Model& m, const Window* windows, const Segment* segments) {
        const Segment last = segments[windows[0].previous];
        model = m;
        plan[0] = windows[0];
        n_spikes[0] = n_spikes[1] = looks = lost = 0;
        start[1] = last.spike_start + last.n_spikes; // as if of the window before
        chunk_start = last.chunk_start + last.n_chunks;
    }

    // A neuron fired, in step `i` of the window: the `at`th of this block.
    __device__ void tell(unsigned int* list, unsigned int at, unsigned int i, unsigned int member, unsigned int lane) {
        list[at] = i << LANE_BITS | lane;
        if (at < OWN) own[at] = (unsigned short)(i << MEMBER_BITS | member);
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
    __device__ unsigned int lane(unsigned int member) const { return lane_of(member, blockIdx.x); }
    __device__ static unsigned int lane_of(unsigned int member, unsigned int block) {
        return ((member >> 5) * gridDim.x + block) << 5 | (member & 31);
    }
    // Neurons of a block at most.
    __device__ unsigned int span() const { return ((n_groups - 1) / gridDim.x + 1) << 5; }
    // Where the list of spikes begins behind a post.
    __device__ unsigned int list_at(const Model& m) const { return (span() * m.layout.window / 3 + 16) & ~15u; }
    // Words of a post and its list: a count and a key for each spike that may be, three to a word; behind them the spikes
    // themselves, two to a word.
    __device__ unsigned int post_size(const Model& m) const { return (span() * m.layout.window + 16) & ~15u; }
};

// The same key as others read it.
__device__ inline unsigned int short_key(unsigned int key) {
    const unsigned int lane = key & ((1u << LANE_BITS) - 1), member = (lane >> 5) / gridDim.x << 5 | (lane & 31);
    return key >> LANE_BITS << MEMBER_BITS | member;
}

}  // namespace spiking
