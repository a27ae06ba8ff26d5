// The kernels of a spiking network for the arithmetic REAL; step.cuh says what they do.
#pragma once
#include "spiking/step.cuh"

// Six blocks find room on a multiprocessor, where there is room for so many threads.
extern "C" __global__ void __launch_bounds__(256, 6)
    deliver(Layout layout, const Window* __restrict__ windows, unsigned int index,
                                   Segment* __restrict__ segments, Segment* __restrict__ live,
                                   const Chunk* __restrict__ chunks, const unsigned int* __restrict__ words,
                                   int* __restrict__ arrivals, unsigned char* __restrict__ touched) {
    const Window w = windows[index];
    const spiking::Carrier carrier(blockIdx.x, gridDim.x);
    const spiking::Before before(layout, w, segments, live, index);
    const spiking::Ahead ahead(layout, carrier, before, chunks, words);
    const spiking::Verdict verdict = spiking::begin_live(layout, w, before, live, index, blockIdx.x == 0);
    if (!verdict.halted)
        spiking::deliver_chunks(layout, w, verdict.dense, carrier, ahead, before, chunks, words, arrivals, touched);
}

extern "C" __global__ void
    deliver_driven(Layout layout, unsigned int n, unsigned int exactly, const Model* __restrict__ model,
                   const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ segments,
                   Segment* __restrict__ live, const Chunk* __restrict__ chunks,
                   const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words,
                   const Overflow* __restrict__ overflow, const unsigned short* __restrict__ gain_of,
                   const Gain* __restrict__ gains, const Source* __restrict__ sources,
                   const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
                   const unsigned int* __restrict__ trains, unsigned int* __restrict__ kick_bits,
                   int* __restrict__ arrivals, unsigned char* __restrict__ touched) {
    // Those that deliver and those that draw take turns, so that both kinds are at work at all times.
    const unsigned int drawing = (n + 255) >> 8, delivering = gridDim.x - drawing;
    const unsigned int turns = 2 * min(drawing, delivering), b = blockIdx.x;
    const bool delivers = b < turns ? b % 2 == 0 : delivering > drawing;
    const unsigned int at = b < turns ? b / 2 : b - turns / 2;
    if (!delivers)
        return spiking::draw_kicks(*model, windows[index], at * blockDim.x + threadIdx.x, sources, chances, masks, trains, kick_bits);
    const Window w = windows[index];
    const spiking::Carrier carrier(at, delivering);
    const spiking::Before before(layout, w, segments, live, index);
    if (exactly) {
        const spiking::Verdict verdict = spiking::begin_live(layout, w, before, live, index, at == 0);
        if (!verdict.halted)
            spiking::deliver_exactly(*model, w, verdict.dense, carrier, before, chunks, rows, words, overflow, gain_of, gains,
                                     arrivals, touched);
        return;
    }
    const spiking::Ahead ahead(layout, carrier, before, chunks, words);
    const spiking::Verdict verdict = spiking::begin_live(layout, w, before, live, index, at == 0);
    if (!verdict.halted)
        spiking::deliver_chunks(layout, w, verdict.dense, carrier, ahead, before, chunks, words, arrivals, touched);
}

extern "C" __global__ void mark_kicks(const Model* __restrict__ model, const Window* __restrict__ windows,
                                      unsigned int index, const Segment* __restrict__ live,
                                      const Kick* __restrict__ kicks, unsigned int* __restrict__ kick_bits,
                                      unsigned char* __restrict__ touched) {
    spiking::mark_kicks(windows[index], live[index + 1], kicks, kick_bits, touched);
}

extern "C" __global__ void trace(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                 const Window* __restrict__ windows, unsigned int index,
                                 const Segment* __restrict__ live, const Source* __restrict__ sources,
        const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains,
                                 const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks,
                                 const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states,
                                 const unsigned int* __restrict__ anchors, const int* __restrict__ arrivals,
                                 const unsigned int* __restrict__ kick_bits, unsigned int n_traced,
                                 const unsigned int* __restrict__ traced, float* __restrict__ samples) {
    spiking::trace<REAL>(*model, propagators, windows[index], live[index + 1], sources, chances, masks, trains, kicks, marks, currents,
                         states, anchors, arrivals, kick_bits, n_traced, traced, samples);
}

// Three blocks find room on a multiprocessor, so that all neurons of a brain are at work at once.
extern "C" __global__ void __launch_bounds__(256, 3)
    advance(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
            const Window* __restrict__ windows, unsigned int index, Segment* __restrict__ live,
            const Segment* __restrict__ segments, const unsigned int* __restrict__ rows, const Source* __restrict__ sources,
        const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains,
            const Kick* __restrict__ kicks, const unsigned int* __restrict__ marks,
            const unsigned int* __restrict__ currents, const unsigned short* __restrict__ gain_of,
            const Gain* __restrict__ gains, unsigned int* __restrict__ states,
            unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes,
            unsigned char* __restrict__ touched, int* __restrict__ arrivals, unsigned int* __restrict__ kick_bits,
            unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks, unsigned int* __restrict__ counters,
            Average* __restrict__ rates, const float* __restrict__ fade) {
    const unsigned int stepping = gridDim.x - spiking::COPIES; // the last blocks count
    if (blockIdx.x >= stepping) {
        if (!live[index + 1].halted)
            spiking::tally(*model, windows[index], blockIdx.x - stepping, segments, chunks, rows, gain_of, gains, counters);
        return;
    }
    spiking::advance<REAL>(*model, propagators, windows[index], &live[index + 1], rows, sources, chances, masks, trains, kicks, marks,
                           currents, states, anchors, checks, wakes, touched, arrivals, kick_bits, spikes, chunks, counters,
                           rates, fade);
}

extern "C" __global__ void
    reside(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
           const Window* __restrict__ windows, unsigned int n_windows, Segment* __restrict__ segments,
           const unsigned int* __restrict__ rows, const unsigned int* __restrict__ words,
           const unsigned int* __restrict__ heads, const unsigned int* __restrict__ tails,
           const unsigned int* __restrict__ tail_starts, const Source* __restrict__ sources,
           const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
           const unsigned int* __restrict__ trains, const unsigned int* __restrict__ marks,
           const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
           unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks, unsigned int* __restrict__ wakes,
           int* __restrict__ arrivals, unsigned int* __restrict__ spikes, Chunk* __restrict__ chunks,
           unsigned int* __restrict__ counters, unsigned int* __restrict__ gate,
           unsigned long long* __restrict__ posts, unsigned int first_tag, Average* __restrict__ rates,
           const float* __restrict__ fade) {
    extern __shared__ __align__(16) unsigned char shared[];
    spiking::Ensemble<REAL>& crew = *reinterpret_cast<spiking::Ensemble<REAL>*>(shared);
    const spiking::Deal deal(*model);
    const spiking::Dealt dealt(heads, tails, tail_starts);
    if (threadIdx.x == 0) crew.open(*model, windows, segments);
    spiking::Residents<REAL> residents(crew, deal, dealt, propagators, currents, fade);
    residents.enter(*model, sources, chances, masks, trains, marks, states, anchors, checks, wakes, rates);
    __syncthreads();
    spiking::travel(crew, residents, deal,
                    {windows, n_windows, segments, rows, words, arrivals, spikes, chunks, counters, gate, posts, first_tag},
                    dealt);
    residents.store(states, anchors, checks, wakes, rates);
}

extern "C" __global__ void order(const Model* __restrict__ model, const Window* __restrict__ windows,
                                 const Segment* __restrict__ live, unsigned int is_live, Segment* __restrict__ segments,
                                 unsigned int* __restrict__ spikes, unsigned int* __restrict__ counters) {
    const Window& w = windows[blockIdx.x];
    Segment& place = segments[w.segment];
    const Segment segment = is_live ? live[blockIdx.x + 1] : place;
    if (is_live && threadIdx.x == 0) place = segment;
    if (segment.halted) return;
    if (is_live) spiking::take_fingerprint(*model, w, segment, spikes, counters); // resident blocks make it themselves
    spiking::order<8192>(*model, segment, spikes);
}

extern "C" __global__ void enter(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                 unsigned int completed, const unsigned int* __restrict__ new_marks,
                                 const unsigned int* __restrict__ new_currents, unsigned int* __restrict__ marks,
                                 unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                 unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks,
                                 unsigned int* __restrict__ wakes) {
    spiking::enter<REAL>(*model, propagators, completed, new_marks, new_currents, marks, currents, states, anchors, checks,
                         wakes);
}

extern "C" __global__ void rebase(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                  unsigned int completed, double shift, const unsigned int* __restrict__ marks,
                                  const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                  unsigned int* __restrict__ anchors) {
    spiking::rebase<REAL>(*model, propagators, completed, shift, marks, currents, states, anchors);
}

extern "C" __global__ void settle(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                  unsigned int completed, const unsigned int* __restrict__ marks,
                                  const unsigned int* __restrict__ currents, unsigned int* __restrict__ states,
                                  unsigned int* __restrict__ anchors, unsigned int* __restrict__ checks,
                                  unsigned int* __restrict__ wakes) {
    spiking::settle<REAL>(*model, propagators, completed, marks, currents, states, anchors, checks, wakes);
}

extern "C" __global__ void potentials(const Model* __restrict__ model, const unsigned int* __restrict__ propagators,
                                      unsigned int completed, const unsigned int* __restrict__ marks,
                                      const unsigned int* __restrict__ currents, const unsigned int* __restrict__ states,
                                      const unsigned int* __restrict__ anchors, float* __restrict__ v) {
    spiking::potentials<REAL>(*model, propagators, completed, marks, currents, states, anchors, v);
}
