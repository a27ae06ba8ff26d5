// What a block of resident neurons holds in shared memory.
#pragma once
#include "spiking/advance.cuh"
#include "spiking/meeting.cuh"

namespace spiking {

// Events of a window from which on a neuron is looked at in every step.
constexpr int MUCH = 3;
// Steps whose arrivals are read together.
constexpr unsigned int BATCH = 16;

// What a block knows of its neurons for as long as the launch lasts.
template <typename T> struct Ensemble : Turns {
    Near<T> near;
    State<T> state[MOST];
    unsigned long long ahead[MOST]; // events of trains in the block of steps `drawn_block`
    unsigned long long chances[TRAIN_STEPS];
    Average rate[MOST];
    unsigned int anchor[MOST], check[MOST], kicked[MOST];
    unsigned int summed[MOST]; // steps with arrivals
    unsigned int fired[MOST]; // steps with spikes that are not in the rate yet
    unsigned short who[MOST];
    unsigned char marks[MOST];
    unsigned int count[LONGEST + 1];
    int wait[MOST / 32];
    unsigned int wake[MOST / 32];
    unsigned long long drawn_block;
    double weight; // of the only source of kicks
    unsigned int address;
    unsigned int row; // neurons of a step in `sums`
    int sums[2]; // and on: arrivals of a window by step and neuron

    __device__ void arrive(unsigned int i, unsigned int member, int count) {
        atomicAdd(&sums[i * row + member], count);
        atomicOr(&summed[member], 1u << i);
    }
    __device__ int peek(unsigned int i, unsigned int member) const { return sums[i * row + member]; }
    __device__ static int exact(int sum, unsigned int, const int*) { return sum; }
};

static_assert(sizeof(Ensemble<double>) == 89808 && sizeof(Ensemble<float>) == 79040, "what the host asks for");

}  // namespace spiking
