// Shared memory of a persistent block of LIF neurons.
#pragma once
#include "spiking/step_lif.cuh"
#include "spiking/grid_barrier.cuh"
#include "spiking/traces.cuh"

namespace spiking {

// Neurons with at least this many events in a window are evaluated in every step.
constexpr int MANY_EVENTS = 3;
// Steps whose arrivals are loaded together.
constexpr unsigned int LOADS_IN_FLIGHT = 16;

// The state of the block's neurons for the duration of the launch.
template <typename T> struct HotState : ExchangeState {
    PropagatorCache<T> cached;
    State<T> state[MAX_NEURONS_PER_BLOCK];
    unsigned long long drawn_events[MAX_NEURONS_PER_BLOCK]; // Poisson events in the block of steps `drawn_block`
    unsigned long long chances[TRAIN_STEPS];
    DeviceRate rate[MAX_NEURONS_PER_BLOCK];
    unsigned int anchor[MAX_NEURONS_PER_BLOCK], check[MAX_NEURONS_PER_BLOCK], kicked[MAX_NEURONS_PER_BLOCK];
    unsigned int summed[MAX_NEURONS_PER_BLOCK]; // one bit per step with arrivals
    unsigned int fired[MAX_NEURONS_PER_BLOCK]; // one bit per step with spikes that are not in the running rate yet
    unsigned short order[MAX_NEURONS_PER_BLOCK];
    unsigned char marks[MAX_NEURONS_PER_BLOCK];
    unsigned int count[MAX_WINDOW_STEPS + 1];
    int wait[MAX_NEURONS_PER_BLOCK / 32];
    unsigned int wake[MAX_NEURONS_PER_BLOCK / 32];
    unsigned long long drawn_block;
    double weight; // of the only kick source
    unsigned int address;
    unsigned int row; // neurons per step in `sums`
    int sums[2]; // flexible array: arrivals of a window by step and neuron

    __device__ void add_arrival(unsigned int i, unsigned int member, int count) {
        atomicAdd(&sums[i * row + member], count);
        atomicOr(&summed[member], 1u << i);
    }
    __device__ int peek(unsigned int i, unsigned int member) const { return sums[i * row + member]; }
    __device__ static int exact_sum(int sum, unsigned int, const int*) { return sum; }
};

static_assert(sizeof(HotState<double>) == 90320 && sizeof(HotState<float>) == 79560, "what the host asks for");

}  // namespace spiking
