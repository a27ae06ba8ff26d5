// Entry points of the LIF kernels for the precision REAL; lif.cuh describes the algorithm.
#pragma once
#include "spiking/lif.cuh"

// Six blocks per multiprocessor where the thread limit allows it.
extern "C" __global__ void __launch_bounds__(256, 6)
    deliver_spikes(RingLayout layout, const Window* __restrict__ windows, unsigned int index,
                                   Segment* __restrict__ segments, Segment* __restrict__ live,
                                   const Chunk* __restrict__ chunks, const unsigned int* __restrict__ words,
                                   int* __restrict__ arrivals, unsigned char* __restrict__ touched) {
    const Window w = windows[index];
    const spiking::WarpSlice slice(blockIdx.x, gridDim.x);
    const spiking::PrevSegment prev(layout, w, segments, live, index);
    const spiking::Prefetch prefetch(layout, slice, prev, chunks, words);
    const spiking::Admission admission = spiking::admit_window_in_graph(layout, w, prev, live, index, blockIdx.x == 0);
    if (!admission.halted)
        spiking::deliver_chunks(layout, w, admission.dense, slice, prefetch, prev, chunks, words, arrivals, touched);
}

extern "C" __global__ void
    deliver_spikes_driven(RingLayout layout, unsigned int n, unsigned int exact_weights, const Model* __restrict__ model,
                   const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments,
                   Segment* __restrict__ live, const Chunk* __restrict__ chunks,
                   const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words,
                   const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of,
                   const WeightGain* __restrict__ gains, const KickSource* __restrict__ sources,
                   const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
                   const unsigned int* __restrict__ trains, unsigned int* __restrict__ kick_bits,
                   int* __restrict__ arrivals, unsigned char* __restrict__ touched) {
    // Delivering and drawing blocks alternate, so that both kinds are resident at all times.
    const unsigned int drawing = (n + 255) >> 8, delivering = gridDim.x - drawing;
    const unsigned int turns = 2 * min(drawing, delivering), b = blockIdx.x;
    const bool delivers = b < turns ? b % 2 == 0 : delivering > drawing;
    const unsigned int at = b < turns ? b / 2 : b - turns / 2;
    if (!delivers)
        return spiking::draw_kicks(*model, windows[index], at * blockDim.x + threadIdx.x, sources, chances, masks, trains, kick_bits);
    const Window w = windows[index];
    const spiking::WarpSlice slice(at, delivering);
    const spiking::PrevSegment prev(layout, w, segments, live, index);
    if (exact_weights) {
        const spiking::Admission admission = spiking::admit_window_in_graph(layout, w, prev, live, index, at == 0);
        if (!admission.halted)
            spiking::deliver_chunks_exact(*model, w, admission.dense, slice, prev, chunks, rows, words, overflow, gain_of, gains,
                                     arrivals, touched);
        return;
    }
    const spiking::Prefetch prefetch(layout, slice, prev, chunks, words);
    const spiking::Admission admission = spiking::admit_window_in_graph(layout, w, prev, live, index, at == 0);
    if (!admission.halted)
        spiking::deliver_chunks(layout, w, admission.dense, slice, prefetch, prev, chunks, words, arrivals, touched);
}

extern "C" __global__ void mark_kicks(const Model* __restrict__ model, const Window* __restrict__ windows,
                                      unsigned int index, const Segment* __restrict__ live,
                                      const Kick* __restrict__ kicks, unsigned int* __restrict__ kick_bits,
                                      unsigned char* __restrict__ touched) {
    spiking::mark_kicks(windows[index], live[index + 1], kicks, kick_bits, touched);
}

extern "C" __global__ void sample_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                 const Window* __restrict__ windows, unsigned int index,
                                 const Segment* __restrict__ live, const KickSource* __restrict__ sources,
        const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains,
                                 const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks,
                                 const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states,
                                 const unsigned int* __restrict__ anchors, const int* __restrict__ arrivals,
                                 const unsigned int* __restrict__ kick_bits, unsigned int n_traced,
                                 const unsigned int* __restrict__ traced, float* __restrict__ samples) {
    spiking::sample_traces<REAL>(*model, propagators, windows[index], live[index + 1], sources, chances, masks, trains, kicks, marks, currents,
                         states, anchors, arrivals, kick_bits, n_traced, traced, samples);
}

extern "C" __global__ void sample_recorded_traces(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                 const Window* __restrict__ windows, unsigned int n_windows,
                                 const Segment* __restrict__ segments, const KickSource* __restrict__ sources,
                                 const unsigned int* __restrict__ currents, unsigned int n_traced,
                                 const unsigned int* __restrict__ traced, const unsigned int* __restrict__ trace_inputs,
                                 float* __restrict__ samples) {
    spiking::sample_recorded_traces<REAL>(*model, propagators, windows, n_windows, segments, sources, currents, n_traced, traced,
                                     trace_inputs, samples);
}

// Three blocks per multiprocessor, so that all neurons of a fly brain are resident at once.
extern "C" __global__ void __launch_bounds__(256, 3)
    step_lif(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
            const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ live,
            const Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const KickSource* __restrict__ sources,
        const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains,
            const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks,
            const unsigned int* __restrict__ currents, const unsigned short* __restrict__ gain_of,
            const WeightGain* __restrict__ gains, unsigned int* __restrict__ states,
            unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes,
            unsigned char* __restrict__ touched, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits,
            unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters,
            DeviceRate* __restrict__ rates, const float* __restrict__ fade) {
    const unsigned int stepping = gridDim.x - COPIES; // the last blocks count synaptic events
    if (blockIdx.x >= stepping) {
        if (!live[index + 1].halted)
            spiking::count_synaptic_events(*model, windows[index], blockIdx.x - stepping, segments, chunks, rows, gain_of, gains, counters);
        return;
    }
    spiking::step_lif<REAL>(*model, propagators, windows[index], &live[index + 1], rows, sources, chances, masks, trains, kicks, marks,
                           currents, states, anchors, checks, wakes, touched, arrivals, kick_bits, spikes, chunks, counters,
                           rates, fade);
}

extern "C" __global__ void
    step_lif_persistent(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
           const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments,
           const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words,
           const unsigned int* __restrict__ heads, const unsigned int* __restrict__ tails,
           const unsigned int* __restrict__ tail_starts, const KickSource* __restrict__ sources,
           const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
           const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks,
           const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
           unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes,
           int* __restrict__ arrivals, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks,
           unsigned int* __restrict__ counters, unsigned int* __restrict__ barrier,
           unsigned long long* __restrict__ mailboxes, unsigned int first_tag, DeviceRate* __restrict__ rates,
           const float* __restrict__ fade, unsigned int n_traced, const unsigned int* __restrict__ traced,
           unsigned int* __restrict__ trace_inputs) {
    extern __shared__ __align__(16) unsigned char shared[];
    spiking::HotState<REAL>& smem = *reinterpret_cast<spiking::HotState<REAL>*>(shared);
    const spiking::BlockPartition partition(*model);
    const spiking::BlockCsr csr(heads, tails, tail_starts);
    if (threadIdx.x == 0) smem.init(*model, windows, segments);
    spiking::PersistentNeurons<REAL> neurons(smem, partition, csr, propagators, currents, fade, trace_inputs, n_traced);
    smem.find_traced(n_traced, traced);
    neurons.enter(*model, sources, chances, masks, trains, marks, states, anchors, checks, wakes, rates);
    __syncthreads();
    spiking::run_windows(smem, neurons, partition,
                    {windows, n_windows, segments, rows, words, arrivals, spikes, chunks, counters, barrier, mailboxes, first_tag},
                    csr);
    neurons.store(states, anchors, checks, wakes, rates);
}

// As many threads as fit with the registers that a neuron in double precision needs.
extern "C" __global__ void __launch_bounds__(spiking::REACHED_BLOCK, 1)
    step_lif_reached(const Model* __restrict__ model, unsigned int is_exact, const unsigned int* __restrict__ propagators,
           const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments,
           const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words,
           const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of,
           const WeightGain* __restrict__ gains, const KickSource* __restrict__ sources,
           const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
           const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks,
           const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
           unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes,
           int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ summed,
           unsigned int* __restrict__ reached, unsigned int* __restrict__ n_reached,
           unsigned int* __restrict__ barrier, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks,
           unsigned int* __restrict__ counters, DeviceRate* __restrict__ rates, const float* __restrict__ fade) {
    __shared__ spiking::ReachedState<REAL> smem;
    smem.init(*model, propagators, windows);
    __syncthreads();
    const spiking::ReachedArgs args = {smem.model, rows, words, overflow, gain_of, gains, sources, chances, masks, trains, marks,
                                       currents, states, anchors, checks, wakes, arrivals, kick_bits, summed, reached,
                                       n_reached, spikes, chunks, counters, rates, fade};
    spiking::step_reached<REAL>(smem, args, is_exact, propagators, windows, n_windows, segments, barrier);
}

extern "C" __global__ void sort_spikes(const Model* __restrict__ model, const Window* __restrict__ windows,
                                 const Segment* __restrict__ live, unsigned int is_live, Segment* __restrict__ segments,
                                 unsigned int* __restrict__ spikes, unsigned int* __restrict__ counters) {
    const Window& w = windows[blockIdx.x];
    Segment& place = segments[w.segment];
    const Segment segment = is_live ? live[blockIdx.x + 1] : place;
    if (is_live && threadIdx.x == 0) place = segment;
    if (segment.halted) return;
    if (is_live) spiking::hash_spikes(*model, w, segment, spikes, counters); // persistent blocks hash their own spikes
    spiking::sort_spikes<SORTED_BY_DEVICE>(*model, segment, spikes);
}

extern "C" __global__ void apply_stimuli(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                 unsigned int completed, unsigned int has_currents, const unsigned int* __restrict__ new_marks,
                                 const unsigned int* __restrict__ new_currents, unsigned int* __restrict__ marks,
                                 unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                 unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks,
                                 unsigned int* __restrict__ wakes) {
    spiking::apply_stimuli<REAL>(*model, propagators, completed, has_currents, new_marks, new_currents, marks, currents, states,
                         anchors, checks, wakes);
}

extern "C" __global__ void reanchor_neurons(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                  unsigned int completed, double shift, const unsigned int* __restrict__ marks,
                                  const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                  unsigned int* __restrict__ anchors) {
    spiking::reanchor_neurons<REAL>(*model, propagators, completed, shift, marks, currents, states, anchors);
}

extern "C" __global__ void advance_anchors(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                  unsigned int completed, const unsigned int* __restrict__ marks,
                                  const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                  unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks,
                                  unsigned int* __restrict__ wakes) {
    spiking::advance_anchors<REAL>(*model, propagators, completed, marks, currents, states, anchors, checks, wakes);
}

extern "C" __global__ void read_potentials(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                      unsigned int completed, const unsigned int* __restrict__ marks,
                                      const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states,
                                      const unsigned int* __restrict__ anchors, float* __restrict__ v) {
    spiking::read_potentials<REAL>(*model, propagators, completed, marks, currents, states, anchors, v);
}
