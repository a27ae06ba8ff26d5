// Persistent blocks: partition of the neurons over blocks, and the grid barrier.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// A neuron's index within its block.
constexpr unsigned int MEMBERS = (1u << MEMBER_BITS) - 1;

// State that every persistent block keeps from window to window, for any neuron model.
struct ExchangeState {
    uint2 pending_quads[MAX_PENDING_QUADS]; // see `enqueue_quads`
    unsigned short local_spikes[MAX_LOCAL_SPIKES]; // spikes of this block: step of the window, member
    // Two windows: number of spikes of this block, and their offset in the ring buffer.
    unsigned int n_spikes[2], ring_at[2];
    // Ring buffer offset of the first spike of all blocks in a window.
    unsigned int start[2], segment[2];
    // Spikes of the previous window: cumulative within groups of 32 mailboxes, and per group.
    unsigned int cumulative[MAX_BLOCKS], group_sum[MAX_BLOCKS / 32];
    unsigned int first_keys[MAX_BLOCKS]; // the first two keys of each mailbox
    unsigned int n_pending, chunk_start, n_evaluated;
    unsigned int non_finite; // the first non-finite neuron of a window: see `non_finite_key`
    // Traced neurons of this block: index among all that are traced in the upper half, member in the lower.
    unsigned int n_traced, traced[MAX_TRACED];
    // Model parameters, read in every window.
    Model model;
    Window plan[2];

    // Called by one thread before the first window.
    __device__ void init(const Model& m, const Window* windows, const Segment* segments) {
        const Segment last = segments[windows[0].previous];
        model = m;
        plan[0] = windows[0];
        n_spikes[0] = n_spikes[1] = n_evaluated = non_finite = 0;
        start[1] = last.spike_start + last.n_spikes; // as if from the previous window
        chunk_start = last.chunk_start + last.n_chunks;
    }

    __device__ static unsigned int member_of(unsigned int traced) { return traced & 0xffff; }
    __device__ static unsigned int index_of(unsigned int traced) { return traced >> 16; }
    // Lists the traced neurons of this block. Called by all threads before a barrier.
    __device__ void find_traced(unsigned int n, const unsigned int* all) {
        const unsigned int me = threadIdx.x;
        if (me >= 32) return;
        unsigned int n_found = 0;
        for (unsigned int from = 0; from < n; from += 32) {
            const unsigned int at = from + me, lane = at < n ? all[at] : 0, group = lane >> 5;
            const bool is_mine = at < n && group % gridDim.x == blockIdx.x;
            const unsigned int found = __ballot_sync(FULL_MASK, is_mine);
            if (is_mine) traced[n_found + __popc(found & ((1u << me) - 1))] = at << 16 | group / gridDim.x << 5 | (lane & 31);
            n_found += __popc(found);
        }
        if (me == 0) n_traced = n_found;
    }

    // Records a spike in step `i` of the window; `at` is its index in this block.
    __device__ void record_spike(unsigned int* list, unsigned int at, unsigned int i, unsigned int member, unsigned int lane) {
        list[at] = i << LANE_BITS | lane;
        if (at < MAX_LOCAL_SPIKES) local_spikes[at] = (unsigned short)(i << MEMBER_BITS | member);
    }
};

// Grid barrier: the last block to arrive flips the top bit; the counter is never reset.
__device__ inline unsigned int barrier_arrive(unsigned int* barrier) {
    const unsigned int mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
    unsigned int before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(barrier), "r"(mine) : "memory");
    return before;
}

__device__ inline void barrier_wait(unsigned int* barrier, unsigned int before) {
    unsigned int now;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(barrier) : "memory");
    } while (((now ^ before) & 0x80000000u) == 0);
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); // once per barrier: it invalidates L1
}

// As barrier_wait, for blocks that do nothing else meanwhile, because every poll invalidates L1. A barrier of 132
// blocks takes 1.20 us instead of 1.42, of 32 blocks 1.06 instead of 1.36 (H200).
__device__ inline void barrier_wait_idle(unsigned int* barrier, unsigned int before) {
    unsigned int now;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(barrier) : "memory");
    } while (((now ^ before) & 0x80000000u) == 0);
}

// The neurons of this block: groups b, b + B, b + 2 B, … of 32.
struct BlockPartition {
    unsigned int n_groups, mine;

    __device__ explicit BlockPartition(const Model& m)
        : n_groups(m.stride >> 5), mine(n_groups > blockIdx.x ? (n_groups - 1 - blockIdx.x) / gridDim.x + 1 : 0) {}
    __device__ unsigned int group(unsigned int member) const { return (member >> 5) * gridDim.x + blockIdx.x; }
    __device__ unsigned int lane(unsigned int member) const { return lane_of(member, blockIdx.x); }
    __device__ static unsigned int lane_of(unsigned int member, unsigned int block) {
        return ((member >> 5) * gridDim.x + block) << 5 | (member & 31);
    }
    // Neurons per block, maximum.
    __device__ unsigned int span() const { return ((n_groups - 1) / gridDim.x + 1) << 5; }
    // Offset of the spike list after a mailbox.
    __device__ unsigned int list_offset(const Model& m) const { return (span() * m.layout.window / 3 + 16) & ~15u; }
    // Words of a mailbox and its list: the number of spikes and their keys, three per word; then the spikes
    // themselves, two per word.
    __device__ unsigned int mailbox_size(const Model& m) const { return (span() * m.layout.window + 16) & ~15u; }
};

// The 16-bit key of a spike, as written to mailboxes.
__device__ inline unsigned int short_key(unsigned int key) {
    const unsigned int lane = key & ((1u << LANE_BITS) - 1), member = (lane >> 5) / gridDim.x << 5 | (lane & 31);
    return key >> LANE_BITS << MEMBER_BITS | member;
}

}  // namespace spiking
