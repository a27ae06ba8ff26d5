// What a block of resident neurons holds in shared memory, and how blocks meet.
#pragma once
#include "spiking/advance.cuh"

namespace spiking {

// Neurons of a block at most.
constexpr unsigned int MOST = 1088;
// Blocks at most.
constexpr unsigned int MOST_POSTS = 256;
// Places for connections that are yet to be read, four each.
constexpr unsigned int WORK = 2048;
// Events of a window from which on a neuron is looked at in every step.
constexpr int MUCH = 3;
// Steps whose arrivals are read together.
constexpr unsigned int BATCH = 16;

// What a block knows of its neurons for as long as the launch lasts.
template <typename T> struct Ensemble {
    Near<T> near;
    State<T> state[MOST];
    unsigned long long ahead[MOST]; // events of trains in the block of steps `drawn_block`
    unsigned long long chances[TRAIN_STEPS];
    uint2 work[WORK]; // see `note`
    Average rate[MOST];
    unsigned int anchor[MOST], check[MOST], kicked[MOST];
    unsigned int summed[MOST]; // steps with arrivals
    unsigned short who[MOST];
    unsigned char marks[MOST];
    unsigned int count[LONGEST + 1];
    int wait[MOST / 32];
    unsigned int wake[MOST / 32];
    // Spikes of two windows: how many of this block, and where they go in the ring.
    unsigned int n_spikes[2], ring_at[2];
    // Where the spikes of all blocks in a window begin.
    unsigned int start[2], segment[2];
    // Spikes of the window before: of 32 posts up to and with each, and of them all.
    unsigned int until[MOST_POSTS], sum[MOST_POSTS / 32];
    unsigned int n_work, looks, unread, chunk_start;
    // What is read again and again: the first level of the cache is emptied whenever the blocks meet.
    Model model;
    Window plan[2];
    unsigned long long drawn_block;
    double weight; // of the only source of kicks
    unsigned int address;
    unsigned int row; // neurons of a step in `sums`
    int sums[2]; // and on: arrivals of a window by step and neuron

    __device__ int peek(unsigned int i, unsigned int member) const { return sums[i * row + member]; }
    __device__ static int exact(int sum, unsigned int, const int*) { return sum; }
};

static_assert(sizeof(Ensemble<double>) == 78272 && sizeof(Ensemble<float>) == 67512, "what the host asks for");

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
