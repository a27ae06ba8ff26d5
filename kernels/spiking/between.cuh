// What happens between windows, and after the last one of a graph.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// Takes up drives and lesions between two steps: a neuron whose current changes is re-anchored.
template <typename T>
__device__ inline void enter(const Model& m, const void* propagators, unsigned int completed, const unsigned int* new_marks,
                             const void* new_currents, unsigned int* marks, void* currents, void* states,
                             unsigned int* anchors, unsigned int* checks, unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    T* all = static_cast<T*>(currents);
    const T wanted = static_cast<const T*>(new_currents)[lane];
    if (wanted != all[lane]) {
        Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
        neuron.anchor_at(completed, Constants<T>(m, propagators));
        store(lane, neuron, states, anchors);
        all[lane] = wanted;
    }
    marks[lane] = new_marks[lane] | (wanted != T(0) ? CURRENT : 0);
    checks[lane] = completed; // whoever is near the threshold is found by looking once at everybody
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

// Re-anchors all neurons, then moves u by `shift`, when rest moves.
template <typename T>
__device__ inline void rebase(const Model& m, const void* propagators, unsigned int completed, double shift,
                              const unsigned int* marks, const void* currents, void* states, unsigned int* anchors) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.anchor_at(completed, Constants<T>(m, propagators));
    neuron.u = neuron.u + (T)shift;
    store(lane, neuron, states, anchors);
}

// Re-anchors by whole tables, before steps modulo 2^32 become ambiguous.
template <typename T>
__device__ inline void settle(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                              const void* currents, void* states, unsigned int* anchors, unsigned int* checks,
                              unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.settle(completed, Constants<T>(m, propagators));
    store(lane, neuron, states, anchors);
    checks[lane] = completed;
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

template <typename T>
__device__ inline void potentials(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                                  const void* currents, const void* states, const unsigned int* anchors, float* v) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    T u, g;
    neuron.state_at(completed, Constants<T>(m, propagators), nullptr, u, g);
    v[lane] = (float)(m.v_rest + (double)u);
}

// Makes the fingerprint of the spikes of a window, in whatever order they lie. One block.
__device__ inline void take_fingerprint(const Model& m, const Window& w, const Segment& segment, const unsigned int* spikes,
                                        unsigned int* counters) {
    unsigned long long sum = 0;
    for (unsigned int i = threadIdx.x; i < segment.n_spikes; i += blockDim.x) {
        const unsigned int key = spikes[(segment.spike_start + i) & m.layout.spike_mask];
        sum += scrambled((unsigned int)w.step + (key >> LANE_BITS), key & ((1u << LANE_BITS) - 1));
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) add_fingerprint(counters + w.slot * COUNTERS, sum);
}

// Puts the spikes of each window into their canonical order, by step and neuron: one block per window, in shared memory.
// Windows with more spikes are left to the host.
template <unsigned int CAPACITY>
__device__ inline void order(const Model& m, const Segment& segment, unsigned int* spikes) {
    __shared__ unsigned int keys[CAPACITY];
    const unsigned int n = segment.n_spikes;
    if (n < 2 || n > CAPACITY) return;
    unsigned int size = 2;
    while (size < n) size *= 2;
    for (unsigned int i = threadIdx.x; i < size; i += blockDim.x)
        keys[i] = i < n ? spikes[(segment.spike_start + i) & m.layout.spike_mask] : WHOLE;
    for (unsigned int span = 2; span <= size; span *= 2) {
        for (unsigned int gap = span / 2; gap; gap /= 2) {
            __syncthreads();
            for (unsigned int t = threadIdx.x; t < size / 2; t += blockDim.x) {
                const unsigned int i = 2 * t - (t & (gap - 1)), j = i + gap;
                const bool up = (i & span) == 0;
                const unsigned int a = keys[i], b = keys[j];
                if ((a > b) == up) {
                    keys[i] = b;
                    keys[j] = a;
                }
            }
        }
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) spikes[(segment.spike_start + i) & m.layout.spike_mask] = keys[i];
}

}  // namespace spiking
