// Kernels that run between windows and after the last window of a graph.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// Applies changed stimuli between two steps; neurons whose current changes are re-anchored. Without `has_currents` there are none,
// and no memory for them.
template <typename T>
__device__ inline void apply_stimuli(const Model& m, const void* propagators, unsigned int completed, bool has_currents,
                             const unsigned int* new_marks,
                             const void* new_currents, unsigned int* marks, void* currents, void* states,
                             unsigned int* anchors, unsigned int* checks, unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    T* all = static_cast<T*>(currents);
    const T wanted = has_currents ? static_cast<const T*>(new_currents)[lane] : T(0);
    if (has_currents && wanted != all[lane]) {
        Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
        neuron.anchor_at(completed, Constants<T>(m, propagators));
        store(lane, neuron, states, anchors);
        all[lane] = wanted;
    }
    marks[lane] = new_marks[lane] | (wanted != T(0) ? CURRENT : 0);
    checks[lane] = completed; // every neuron is checked once against the threshold
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

// Re-anchors all neurons, then adds `shift` to u when the resting potential changes.
template <typename T>
__device__ inline void reanchor_neurons(const Model& m, const void* propagators, unsigned int completed, double shift,
                              const unsigned int* marks, const void* currents, void* states, unsigned int* anchors) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.anchor_at(completed, Constants<T>(m, propagators));
    neuron.u = neuron.u + (T)shift;
    store(lane, neuron, states, anchors);
}

// Advances anchors by whole tables before steps modulo 2^32 become ambiguous.
template <typename T>
__device__ inline void advance_anchors(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                              const void* currents, void* states, unsigned int* anchors, unsigned int* checks,
                              unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.advance_anchor(completed, Constants<T>(m, propagators));
    store(lane, neuron, states, anchors);
    checks[lane] = completed;
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

template <typename T>
__device__ inline void read_potentials(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                                  const void* currents, const void* states, const unsigned int* anchors, float* v) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    T u, g;
    neuron.state_at(completed, Constants<T>(m, propagators), nullptr, u, g);
    v[lane] = (float)(m.lif.v_rest + (double)u);
}

// Hashes the spikes of a window; the hash does not depend on their order. One block.
__device__ inline void hash_spikes(const Model& m, const Window& w, const Segment& segment, const unsigned int* spikes,
                                        unsigned int* counters) {
    unsigned long long sum = 0;
    for (unsigned int i = threadIdx.x; i < segment.n_spikes; i += blockDim.x) {
        const unsigned int key = spikes[(segment.spike_start + i) & m.layout.spike_mask];
        sum += spike_hash((unsigned int)w.step + (key >> LANE_BITS), key & ((1u << LANE_BITS) - 1));
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) add_hash(counters + w.slot * COUNTERS, sum);
}

// Sorts the spikes of each window by step and neuron: one block per window, bitonic sort in shared memory. The host
// sorts windows with more spikes.
template <unsigned int CAPACITY>
__device__ inline void sort_spikes(const Model& m, const Segment& segment, unsigned int* spikes) {
    __shared__ unsigned int keys[CAPACITY];
    const unsigned int n = segment.n_spikes;
    if (n < 2 || n > CAPACITY) return;
    unsigned int size = 2;
    while (size < n) size *= 2;
    for (unsigned int i = threadIdx.x; i < size; i += blockDim.x)
        keys[i] = i < n ? spikes[(segment.spike_start + i) & m.layout.spike_mask] : FULL_MASK;
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
