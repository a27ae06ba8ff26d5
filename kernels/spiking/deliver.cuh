// From spikes to arrivals: chunked push. A row is cut into chunks of at most 128 synapses when its neuron fires, a warp
// takes a chunk, integer atomics add. 18-bit targets and 14-bit counts lie in one word; nothing is lost.
//
// Tried on an H200, fly stand-in; microseconds a launch with its two events (3.5 of them), quiet / busy (345,000 events):
//    6.4 / 12.4 one load and one atomic at a time, 32 warps per multiprocessor
//    5.8 / 11.6 four loads in flight per thread. Kept
//    6.9 / 14.8 with the draws of kicks in blocks beside it, which take as much from `advance`. Kept
//    8 warps per multiprocessor: 6.1 / 13.9. 64: 7.8 / 15.2
//    noting who was reached in a busy window as well: 25
//    with trains drawn by blocks of 64 steps beside it: 11.5; a lane fetches each chunk of its warp: no change
// Alone, in graphs of launches with other spikes each, 450,000 events in 3,200 spikes of the real rows, microseconds a launch
// and G events/s:
//    9.1   49  as it was: events counted here, sizes read from the model in the loop, chunks handed from lane to lane
//    7.2   62  one record per launch known beforehand, events counted here: counting takes 0.8
//    6.4   70  the same without counting; 48 warps per multiprocessor instead of 32: 6.0
//    7.0   64  without counting, but the plan of windows and the segments are two loads that wait for each other. Kept
//    6.7   67  the same launched while the kernel before it ends (programmatic dependence)
//    6.4 to 6.8 rows cut into 64 or 32, 4 or 8 pieces at once; words four at a time: 6.8; events shared out evenly by search: 7.8
// In the program (`measure.variants`): 5.8 at 350,000, 6.8 (64 G/s) at 437,000, 7.2 (67) at 484,000, 10.2 (77) at 788,000,
// 30.9 (94) at 2.9 million; 48 warps: 0.15 to 0.4 more. The floor is an empty launch, 0.6, three loads that wait for each
// other, 1.7, and 105 G atomics/s into the tables of 18 steps; 70 G/s at 450,000 would need one load less.
// Other ways, at 437,000 / 788,000 / 2.9 million events in 18 steps, microseconds (ways.cu):
//   55 / 51 / 82  push_rows: a warp per spike, 4 + 1 bytes a synapse, sums in single precision; hubs hold it up
//   45 / 49 / 55  pull: whoever fires, every target looks its sources up (27 in windows of one step)
// Push and pull meet at 4.5 million events per window of 18 steps, 2.3 million per single step: a sixth of all synapses, more
// than any network here sends at once. So there is no switch: pushing is always taken.
#pragma once
#include "spiking/drive.cuh"

namespace spiking {

// How a connection lies in its word, and a target in the table.
struct Packing {
    unsigned int mask, bits, span;
    __device__ explicit Packing(const Model& m) : mask((1u << m.target_bits) - 1), bits(m.target_bits), span(m.window * ROW) {}
    __device__ unsigned int target(unsigned int word) const { return word & mask; }
    __device__ int count(unsigned int word) const { return (int)word >> bits; }
    __device__ unsigned int column(unsigned int target) const { return (target >> 5) * span + (target & 31); }
};

// Adds the synapses of one chunk of a row, at most 128, to the arrivals: four loads in flight per thread.
__device__ inline void add_chunk(const Packing& p, unsigned int from, unsigned int len, int* __restrict__ row,
                                 const unsigned int* __restrict__ words, unsigned char* touched) {
    const unsigned int at = threadIdx.x & 31;
    unsigned int word[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) word[j] = at + 32 * j < len ? __ldcs(&words[from + at + 32 * j]) : 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (at + 32 * j < len) {
            const unsigned int target = p.target(word[j]);
            atomicAdd(&row[p.column(target)], p.count(word[j]));
            if (touched) touched[target >> 5] = 1;
        }
    }
}

// The same with counts that do not fit into a word, or with weights that are changed.
__device__ inline void add_chunk_exactly(const Model& m, unsigned int from, unsigned int len, int* __restrict__ row,
                                         const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow,
                                         const Gain& gain, unsigned char* touched) {
    for (unsigned int j = threadIdx.x & 31; j < len; j += 32) {
        const unsigned int word = words[from + j];
        int count = (int)word >> m.target_bits;
        unsigned int at = 0, end = m.n_overflow;
        while (at < end) {
            const unsigned int mid = (at + end) / 2;
            if (overflow[mid].word < from + j) at = mid + 1; else end = mid;
        }
        if (at < m.n_overflow && overflow[at].word == from + j) count = overflow[at].count;
        if (gain.changes) {
            if (gain.sign) count = gain.sign * (count < 0 ? -count : count);
            const double scaled = round((double)count * gain.factor); // half away from zero
            count = scaled >= 2147483647.0 ? 2147483647 : scaled <= -2147483648.0 ? -2147483647 - 1 : (int)scaled;
        }
        const unsigned int target = word & ((1u << m.target_bits) - 1);
        if (count) atomicAdd(&row[column(m, target)], count);
        if (touched) touched[target >> 5] = 1;
    }
}

// The neuron whose row holds a word.
__device__ inline unsigned int row_of(const unsigned int* __restrict__ rows, unsigned int n, unsigned int word) {
    unsigned int at = 0, end = n;
    while (at < end) { // the first row that starts behind it
        const unsigned int mid = (at + end) / 2;
        if (rows[mid] <= word) at = mid + 1; else end = mid;
    }
    return at - 1;
}

// Whether a window may run: all that could fire in it finds room before anything still needed is overwritten.
__device__ inline bool has_room(const Model& m, const Window& w, const Segment* segments, const Segment& last) {
    const Segment& needed = segments[w.first & m.segment_mask];
    const Segment& unread = segments[w.unread & m.segment_mask];
    const unsigned long long spikes = last.spike_start + last.n_spikes - unread.spike_start;
    const unsigned long long chunks = last.chunk_start + last.n_chunks - needed.chunk_start;
    return (spikes & WHOLE) + (unsigned long long)m.n * w.steps <= (unsigned long long)m.spike_mask + 1 &&
           (chunks & WHOLE) + (unsigned long long)m.n_row_chunks * w.steps <= (unsigned long long)m.chunk_mask + 1;
}

// Chunks on their way into a window; an upper bound that all blocks compute alike.
__device__ inline unsigned int load_of(const Model& m, const Window& w, const Segment* segments) {
    unsigned int chunks = 0;
    for (unsigned int s = w.first; s != w.last + 1; ++s) chunks += segments[s & m.segment_mask].n_chunks;
    return chunks;
}

// Calls `add(first word, connections, step in the window)` for the chunks on their way into a window, a warp each; `block` of
// `n_blocks` that do.
template <typename Add>
__device__ inline void each_chunk(const Model& m, const Window& w, unsigned int block, unsigned int n_blocks,
                                  const Segment* segments, const Chunk* __restrict__ chunks, Add add) {
    const unsigned int warp = (block * blockDim.x + threadIdx.x) >> 5, n_warps = (n_blocks * blockDim.x) >> 5;
    const unsigned int sent = (unsigned int)w.step - m.delay, steps = w.steps, ring = m.chunk_mask;
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment& from = segments[s & m.segment_mask];
        const unsigned int start = from.chunk_start, n = from.n_chunks;
        for (unsigned int c = warp; c < n; c += n_warps) {
            const Chunk chunk = chunks[(start + c) & ring];
            const unsigned int step = ((chunk.meta >> 7) - sent) & (WHOLE >> 7);
            if (step < steps) add(chunk.word, (chunk.meta & 127) + 1, step); // else of another window
        }
    }
}

// Adds the chunks on their way into a window to its table, weights as they are.
__device__ inline void deliver_chunks(const Model& m, const Window& w, bool dense, unsigned int block, unsigned int n_blocks,
                                      const Segment* segments, const Chunk* chunks, const unsigned int* words, int* arrivals,
                                      unsigned char* touched) {
    const Packing packing(m);
    unsigned char* touches = dense ? nullptr : touched;
    each_chunk(m, w, block, n_blocks, segments, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
        add_chunk(packing, word, len, arrivals + step * ROW, words, touches);
    });
}

// The same where counts may not fit into a word, or weights are changed.
__device__ inline void deliver_exactly(const Model& m, const Window& w, bool dense, unsigned int block, unsigned int n_blocks,
                                       const Segment* segments, const Chunk* chunks, const unsigned int* rows,
                                       const unsigned int* words, const Overflow* overflow,
                                       const unsigned short* gain_of, const Gain* gains, int* arrivals,
                                       unsigned char* touched) {
    unsigned char* touches = dense ? nullptr : touched;
    each_chunk(m, w, block, n_blocks, segments, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
        const Gain gain = m.has_gains ? gains[gain_of[row_of(rows, m.n, word)]] : Gain{1.0, 0, 0, 0, 0};
        if (!gain.silent) add_chunk_exactly(m, word, len, arrivals + step * ROW, words, overflow, gain, touches);
    });
}

// Counts the synaptic events of each step of a window: one of COPIES blocks, beside those that step. In `deliver` itself,
// additions to so few places took 0.8 us of a busy launch.
__device__ inline void tally(const Model& m, const Window& w, unsigned int copy, const Segment* segments, const Chunk* chunks,
                             const unsigned int* rows, const unsigned short* gain_of, const Gain* gains,
                             unsigned int* counters) {
    __shared__ unsigned int sums[LONGEST];
    const unsigned int me = threadIdx.x, sent = (unsigned int)w.step - m.delay;
    if (me < LONGEST) sums[me] = 0;
    __syncthreads();
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment& from = segments[s & m.segment_mask];
        for (unsigned int c = copy * blockDim.x + me; c < from.n_chunks; c += COPIES * blockDim.x) {
            const Chunk chunk = chunks[(from.chunk_start + c) & m.chunk_mask];
            const unsigned int step = ((chunk.meta >> 7) - sent) & (WHOLE >> 7);
            if (step >= w.steps || (m.has_gains && gains[gain_of[row_of(rows, m.n, chunk.word)]].silent)) continue;
            atomicAdd(&sums[step], (chunk.meta & 127) + 1);
        }
    }
    __syncthreads();
    if (me < LONGEST && sums[me]) atomicAdd(&counters[w.slot * COUNTERS + copy * LONGEST + me], sums[me]);
}

// Whether a window runs, and how.
struct Verdict {
    bool halted, dense;
};

// All blocks come to the same verdict; the first makes room for the spikes of the window.
__device__ inline Verdict begin(const Model& m, const Window& w, Segment* segments, Segment* now, bool is_first) {
    const Segment last = segments[w.previous];
    const Verdict verdict = {last.halted || w.steps == 0 || !has_room(m, w, segments, last),
                             load_of(m, w, segments) >= m.dense_chunks};
    if (is_first && threadIdx.x == 0) {
        Segment fresh = {};
        fresh.spike_start = last.spike_start + last.n_spikes;
        fresh.chunk_start = last.chunk_start + last.n_chunks;
        fresh.halted = verdict.halted;
        fresh.dense = verdict.dense;
        segments[w.segment] = fresh;
        if (now) *now = fresh;
    }
    return verdict;
}

// The kicks that trains give in a window. Drawn by blocks beside those that deliver: these wait for memory, those compute.
__device__ inline void draw_kicks(const Model& m, const Window& w, unsigned int lane, const Source* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains, unsigned int* kick_bits) {
    if (lane >= m.n || !trains[lane >> 5]) return;
    const Drive drive = {m, sources, chances, masks, nullptr, 0, 0};
    kick_bits[lane] = drive.draw_window(w.step, w.steps, lane);
}

}  // namespace spiking
