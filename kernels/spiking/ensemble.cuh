// What a block of resident neurons holds in shared memory, and how blocks meet.
#pragma once
#include "spiking/advance.cuh"

namespace spiking {

// Neurons of a block at most, and spikes it pushes together.
constexpr unsigned int MOST = 1088, VOLLEY = 384;
// Events of a window from which on a neuron is looked at in every step.
constexpr int MUCH = 3;
// Steps whose arrivals are read together.
constexpr unsigned int BATCH = 18;

// What a block knows of its neurons for as long as the launch lasts.
template <typename T> struct Ensemble {
    Near<T> near;
    State<T> state[MOST];
    unsigned int anchor[MOST], check[MOST], kicked[MOST];
    unsigned int summed[MOST]; // steps with arrivals; later the spikes that found no room in the volley; else 0
    short sums[STAGED][MOST]; // TOO_LARGE where it does not fit: it is read from the table then
    unsigned short who[MOST];
    unsigned char marks[MOST];
    unsigned int count[LONGEST + 1];
    int wait[MOST / 32];
    unsigned int wake[MOST / 32];
    // The volley: keys of spikes, their rows, and how many chunks there are up to and with each.
    unsigned int key[VOLLEY], from[VOLLEY], len[VOLLEY], until[VOLLEY];
    unsigned int n_spikes, n_left, next_chunk, looks, before;
    // What is read again and again: the first level of the cache is emptied whenever the blocks meet.
    Model model;
    Window plan[2];
    Segment now;
    unsigned long long place;       // of the volley in the rings
    unsigned long long drawn_block; // whose events lie in `ahead`
    double weight; // of the only source of kicks
};

// A multiprocessor of compute capability 8.6 has 101,376.
static_assert(sizeof(Ensemble<double>) == 101248 && sizeof(Ensemble<float>) == 90496, "what the host asks for");

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
};

}  // namespace spiking
