// State, arguments and lists of the kernel that steps only reached neurons; reached.cuh describes it.
#pragma once
#include "spiking/step_lif.cuh"
#include "spiking/grid_barrier.cuh"

namespace spiking {

// Maximum number of threads of a block.
constexpr unsigned int REACHED_BLOCK = 640;
// Driven groups of a block of which the events of 64 steps are kept.
constexpr unsigned int KEPT_TRAINS = 32;
// Groups of which a warp reads the threshold checks at a time.
constexpr int WAKES_IN_FLIGHT = 4;

// Shared memory of a block.
template <typename T> struct ReachedState {
    PropagatorCache<T> cached;
    Model model;
    Window plan[2]; // this window and the next
    unsigned int n_driven; // groups with trains
    unsigned long long train[KEPT_TRAINS][32], train_block[KEPT_TRAINS];
    short sums[STAGED_STEPS][REACHED_BLOCK]; // of the neuron that a thread steps

    // Called by all threads of a block.
    __device__ void init(const Model& m, const void* propagators, const Window* windows) {
        cached.fill(propagators);
        if (threadIdx.x < KEPT_TRAINS) train_block[threadIdx.x] = ~0ull;
        if (threadIdx.x) return;
        model = m;
        plan[0] = windows[0];
        n_driven = 0;
    }
};

// Device memory of a network, and its stimuli.
struct ReachedArgs {
    const Model& m;
    const unsigned int *rows, *words;
    const Overflow* overflow;
    const unsigned short* gain_of;
    const WeightGain* gains;
    const KickSource* sources;
    const unsigned long long* chances;
    const unsigned int *masks, *trains, *marks;
    const void* currents;
    void* states;
    unsigned int *anchors, *checks, *wakes;
    int* arrivals; // by neuron, then by step, other than in the other modes
    unsigned int* kick_bits;
    unsigned int* summed; // by neuron: one bit per step with input or a check; 0 between windows
    unsigned int* reached; // listed neurons, then driven groups
    unsigned int* n_reached; // by window of the launch
    unsigned int* spikes;
    Chunk* chunks;
    unsigned int* counters;
    DeviceRate* rates;
    const float* fade;
};

// Propagators over any number of steps of the table.
template <typename T> struct Propagators {
    const PropagatorCache<T>& recent;
    const Propagator<T>* all;

    __device__ Propagator<T> operator[](unsigned int k) const { return k < CACHED_STEPS ? recent[k] : all[k]; }
};

// What `step_sparse` reads of the neuron of a thread.
template <typename T> struct StagedNeuron {
    Propagators<T> cached;
    const short* sums;

    __device__ int peek(unsigned int i, unsigned int) const { return sums[i * REACHED_BLOCK]; }
    __device__ static int exact_sum(int sum, unsigned int i, const int* sums) { return sum == TOO_LARGE ? sums[i] : sum; }
};

// Appends a value per lane where `is_new`, with one atomic per warp. Called by all lanes.
__device__ inline void append(unsigned int* list, unsigned int* n, unsigned int value, bool is_new) {
    const unsigned int news = __ballot_sync(FULL_MASK, is_new), at = threadIdx.x & 31;
    if (!news) return;
    unsigned int base = 0;
    if (at == 0) base = atomicAdd(n, __popc(news));
    base = __shfl_sync(FULL_MASK, base, 0);
    if (is_new) list[base + __popc(news & ((1u << at) - 1))] = value;
}

// Moves the first step at which a group may cross the threshold to an earlier one.
__device__ inline void wake_by(unsigned int* wake, unsigned int start, int wait) {
    if (wait >= NEVER) return; // as every group
    if (start + 2 * NEVER > start) {
        atomicMin(wake, start + wait);
        return;
    }
    unsigned int seen = *wake; // steps are close to 2^32
    while (signed_gap(seen, start) > wait) {
        const unsigned int before = atomicCAS(wake, seen, start + wait);
        if (before == seen) return;
        seen = before;
    }
}

// Waits for all blocks of the network.
__device__ inline void network_barrier(unsigned int* barrier) {
    __syncthreads();
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) barrier_wait_idle(barrier, barrier_arrive(barrier));
    __syncthreads();
}

__device__ inline void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

}  // namespace spiking
