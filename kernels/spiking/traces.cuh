// v and g of traced neurons in every step of a window, by one warp per neuron: lane i computes the state after step i
// from the state at the start of the window and the events up to step i. Nothing depends on what `step_lif` computes, so
// the samples of windows launched one by one are taken ahead of it. A persistent launch only records where its traced
// neurons start and what arrives (`TraceInput`); the samples of all its windows are computed behind it, in parallel.
// Synthetic fly, 2 series of 8 neurons, H200: -1.2 % of 2.17 M steps/s; -71 % when traces forced two launches per window.
#pragma once
#include "spiking/kicks.cuh"

namespace spiking {

// A traced neuron at the start of a window, and what arrives in it.
template <typename T> struct TraceInput {
    State<T> state;
    unsigned int anchor, marks;
    unsigned int kicked; // one bit per step
    int sums[MAX_WINDOW_STEPS]; // synapse counts that arrive
};

static_assert(sizeof(TraceInput<double>) <= 4 * TRACE_WORDS, "what the host allocates");

// `sums[i * stride]` arrives in step i, with the kick `kick(i)` if its bit in `kicked` is set. Called by whole warps.
template <typename T, typename Kick>
__device__ inline void sample_window(const Model& m, const Window& w, Neuron<T> neuron, const int* sums, unsigned int stride,
                                     unsigned int kicked, Kick kick, const Constants<T>& c, unsigned int at,
                                     unsigned int n_traced, float* samples) {
    const unsigned int start = (unsigned int)w.step, own = threadIdx.x & 31;
    const bool is_step = own < w.steps;
    PendingEvents pending = {kicked | __ballot_sync(FULL_MASK, is_step && sums[own * stride] != 0), 0}; // an early check changes nothing
    if (!is_step) return;
    pending.wait_until(signed_gap(neuron.anchor, start));
    for (int i = pending.next(); i <= (int)own; i = pending.next()) {
        State<T> adds = {T(0), c.w_syn * (T)sums[i * stride]};
        if (kicked >> i & 1) adds.u = kick(i);
        process_event(neuron, pending, i, start, c, (const PropagatorCache<T>*)nullptr, adds);
    }
    T u, g;
    neuron.state_at(start + own + 1, c, nullptr, u, g);
    float* out = samples + 2 * ((unsigned long long)(w.slot * MAX_WINDOW_STEPS + own) * n_traced + at);
    out[0] = (float)(m.lif.v_rest + (double)u);
    out[1] = (float)(double)g;
}

// Samples of a window that is about to be stepped through; arrivals are in global memory.
template <typename T>
__device__ inline void sample_traces(const Model& m, const void* propagators, const Window& w, const Segment& live,
                             const KickSource* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains,
                             const Kick* kicks, const unsigned int* marks, const void* currents, const void* states,
                             const unsigned int* anchors, const int* arrivals, const unsigned int* kick_bits,
                             unsigned int n_traced, const unsigned int* traced, float* samples) {
    const unsigned int at = thread_index() >> 5;
    if (at >= n_traced || live.halted) return;
    const unsigned int lane = traced[at];
    const KickInputs drive = {m, sources, chances, masks, kicks, w.kick_from, w.kick_to};
    const bool has_kicks = trains[lane >> 5] || w.kick_from < w.kick_to;
    const auto kick = [&](int i) { return drive.template sum<T>(w.step + i, lane); };
    sample_window(m, w, load<T>(lane, states, anchors, marks, currents), arrivals + column(m.layout, lane), ROW,
                  has_kicks ? kick_bits[lane] : 0, kick, Constants<T>(m, propagators), at, n_traced, samples);
}

// Samples of all windows of a persistent launch, from what it recorded. It has at most one source of kicks.
template <typename T>
__device__ inline void sample_recorded_traces(const Model& m, const void* propagators, const Window* windows,
                                              unsigned int n_windows, const Segment* segments, const KickSource* sources,
                                              const void* currents, unsigned int n_traced, const unsigned int* traced,
                                              const unsigned int* inputs, float* samples) {
    const unsigned int warp = thread_index() >> 5;
    if (warp >= n_windows * n_traced) return;
    const Window w = windows[warp / n_traced];
    const unsigned int at = warp % n_traced, lane = traced[at];
    if (segments[w.segment].halted) return;
    const TraceInput<T>& from = *reinterpret_cast<const TraceInput<T>*>(inputs + (w.slot * n_traced + at) * TRACE_WORDS);
    Neuron<T> neuron = {from.state.u, from.state.g, T(0), from.anchor, from.marks};
    if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
    const auto kick = [&](int) { return (T)sources[0].weight; };
    sample_window(m, w, neuron, from.sums, 1, from.kicked, kick, Constants<T>(m, propagators), at, n_traced, samples);
}

}  // namespace spiking
