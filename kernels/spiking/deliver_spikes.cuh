// Spike delivery by chunked push: the row of a spiking neuron is cut into chunks of at most 128 synapses, one warp
// per chunk, integer atomics. A word packs an 18-bit target and a 14-bit count.
//
// Measured on an H200, synthetic fly; microseconds per launch including its two events (3.5 us), quiet / busy
// (345,000 events):
//    6.4 / 12.4 one load and one atomic at a time, 32 warps per multiprocessor
//    5.8 / 11.6 four loads in flight per thread. Kept
//    6.9 / 14.8 kicks drawn in extra blocks of this launch, which saves as much in `step_lif`. Kept
//    8 warps per multiprocessor: 6.1 / 13.9. 64: 7.8 / 15.2
//    marking reached warps in busy windows too: 25
//    Poisson trains drawn in blocks of 64 steps: 11.5; one lane fetches each chunk of its warp: no change
// Alone, in graphs of 64 launches, real rows (`measure.variants`), microseconds per launch at 437,000 / 484,000 /
// 788,000 / 2.9 million events, in parentheses G events/s:
//    9.1 at 450,000 (49)  events counted here, sizes read from the model inside the loop
//    6.8 / 7.2 / 10.2 / 30.9  (64, 67, 77, 94)  counted in `step_lif`; the window plan points to the previous segment
//    6.8 / 7.2 / 10.3 / 31.0  that segment at an address known to the launch, first chunk and its words prefetched before
//                             admission: no change alone
//    6.3 / 7.0 / 10.1 / 30.9  (70, 70)  adjacent chunks go to different blocks, 40 warps per multiprocessor: before, the
//                             chunks of a second round were on few multiprocessors
//    6.1 / 6.6 /  9.7 / 30.4  (72, 73, 81, 95)  the model is not read: sizes are arguments, window constants are in the
//                             plan. Thousands of warps reading the same few lines serialise. Kept
//    6.3 / 6.7 / 9.9 with 32 warps per multiprocessor, 6.2 / 6.6 / 9.8 with 44 or 48
//    6.4 / 6.9 / 9.9 without prefetch of the first words: with the other changes it matters
//    8.4 / 8.5 / 11.5 blocks of 1,024; 6.4 / 6.9 / 10.1 two chunks in flight per warp, 24 warps
//    no change: 64 or 32 synapses per chunk, vector loads of four words, events balanced by binary search
// Profile (before the last two): an empty launch 1.0, then dependent loads, 2.5 with the words of the first chunk,
// then atomics at 105 G/s, one per two cycles of each multiprocessor. Variants at 437,000 / 788,000 / 2.9 million
// events in 18 steps, microseconds (deliver_variants.cu):
//   55 / 51 / 82  deliver_push_rows: a warp per spike, 4 + 1 bytes per synapse, single-precision sums; hub neurons delay it
//   45 / 49 / 55  deliver_pull: every target looks up all its sources (27 in windows of one step)
// Push and pull break even at 4.5 million events per window of 18 steps, 2.3 million per single step: one sixth of
// all synapses, more than any network here sends at once. So delivery always pushes.
#pragma once
#include "spiking/kicks.cuh"

namespace spiking {

// The layout of a connection word, and of targets in the arrivals table.
struct Packing {
    const RingLayout& layout;
    unsigned int mask, bits;
    __device__ explicit Packing(const RingLayout& l) : layout(l), mask((1u << l.target_bits) - 1), bits(l.target_bits) {}
    __device__ unsigned int target(unsigned int word) const { return word & mask; }
    __device__ int count(unsigned int word) const { return (int)word >> bits; }
    __device__ unsigned int column(unsigned int target) const { return spiking::column(layout, target); }
};

// The synapses of one chunk (at most 128) in the registers of a warp: four loads in flight per thread.
struct ChunkWords {
    unsigned int word[4], len;

    __device__ ChunkWords(const unsigned int* __restrict__ words, unsigned int from, unsigned int n) : len(n) {
        const unsigned int at = threadIdx.x & 31;
#pragma unroll
        for (int j = 0; j < 4; ++j) word[j] = at + 32 * j < len ? __ldcs(&words[from + at + 32 * j]) : 0;
    }

    // Adds to the arrivals of a step.
    __device__ void add(const Packing& p, int* __restrict__ row, unsigned char* touched) const {
        const unsigned int at = threadIdx.x & 31;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            if (at + 32 * j < len) {
                const unsigned int target = p.target(word[j]);
                atomicAdd(&row[p.column(target)], p.count(word[j]));
                if (touched) touched[target >> 5] = 1;
            }
        }
    }
};

// The count of a connection that may not fit into its word, or has a changed weight.
__device__ inline int exact_count(const Model& m, unsigned int word, unsigned int index, const Overflow* __restrict__ overflow,
                                  const WeightGain& gain) {
    int count = Packing(m.layout).count(word);
    unsigned int at = 0, end = m.n_overflow;
    while (at < end) {
        const unsigned int mid = (at + end) / 2;
        if (overflow[mid].word < index) at = mid + 1; else end = mid;
    }
    if (at < m.n_overflow && overflow[at].word == index) count = overflow[at].count;
    if (gain.changes) {
        if (gain.sign) count = gain.sign * (count < 0 ? -count : count);
        const double scaled = round((double)count * gain.factor); // half away from zero
        count = scaled >= 2147483647.0 ? 2147483647 : scaled <= -2147483648.0 ? -2147483647 - 1 : (int)scaled;
    }
    return count;
}

// Adds the synapses of one chunk whose counts do not fit into a word, or whose weights are changed.
__device__ inline void add_chunk_exact(const Model& m, unsigned int from, unsigned int len, int* __restrict__ row,
                                         const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow,
                                         const WeightGain& gain, unsigned char* touched) {
    const Packing packing(m.layout);
    for (unsigned int j = threadIdx.x & 31; j < len; j += 32) {
        const unsigned int word = words[from + j], target = packing.target(word);
        const int count = exact_count(m, word, from + j, overflow, gain);
        if (count) atomicAdd(&row[packing.column(target)], count);
        if (touched) touched[target >> 5] = 1;
    }
}

// The neuron whose row holds a word.
__device__ inline unsigned int row_of(const unsigned int* __restrict__ rows, unsigned int n, unsigned int word) {
    unsigned int at = 0, end = n;
    while (at < end) { // upper bound of the row starts
        const unsigned int mid = (at + end) / 2;
        if (rows[mid] <= word) at = mid + 1; else end = mid;
    }
    return at - 1;
}

// The segments before a window. Within a graph the previous segment is at an address that the launch knows without
// reading the plan: window `index` fills live[index + 1]. The next launch, or `sort_spikes` at the end, copies it
// into the ring buffer.
struct PrevSegment {
    Segment* segments;
    Segment last;
    unsigned int mask, previous;

    __device__ PrevSegment(const RingLayout& l, const Window& w, Segment* all, const Segment* live, unsigned int index)
        : segments(all), last(index ? live[index] : all[w.previous]), mask(l.segment_mask), previous(w.previous) {}
    __device__ Segment operator[](unsigned int s) const { return is_last(s) ? last : segments[s & mask]; }
    __device__ bool is_last(unsigned int s) const { return (s & mask) == previous; }
};

// Whether a window may run: all its possible spikes fit before the oldest entries still needed.
__device__ inline bool has_room(const Window& w, const PrevSegment& prev) {
    const unsigned int spikes = prev.last.spike_start + prev.last.n_spikes - w.unread;
    const unsigned int chunks = prev.last.chunk_start + prev.last.n_chunks - prev[w.first].chunk_start;
    return (long long)spikes <= w.most_spikes && (long long)chunks <= w.most_chunks;
}

// Pending chunks of a window: an upper bound, the same in all blocks.
__device__ inline unsigned int count_pending_chunks(const Window& w, const PrevSegment& prev) {
    unsigned int chunks = 0;
    for (unsigned int s = w.first; s != w.last + 1; ++s) chunks += prev[s].n_chunks;
    return chunks;
}

// One warp of the delivering blocks. Adjacent warps are in different blocks, so that few chunks occupy all
// multiprocessors.
struct WarpSlice {
    unsigned int warp, n_warps;
    __device__ WarpSlice(unsigned int block, unsigned int n_blocks)
        : warp(block + n_blocks * (threadIdx.x >> 5)), n_warps((n_blocks * blockDim.x) >> 5) {}
};

__device__ inline unsigned int step_of(const Window& w, const Chunk& chunk) { return ((chunk.meta >> 7) - w.sent) & (FULL_MASK >> 7); }
__device__ inline unsigned int length_of(const Chunk& chunk) { return (chunk.meta & 127) + 1; }

// Calls `add(first word, connections, step in the window)` for the pending chunks of a window, one warp each; if
// `is_done`, skips the first chunk per warp of the last segment.
template <typename Add>
__device__ inline void for_each_chunk(const RingLayout& l, const Window& w, const WarpSlice& slice, bool is_done, const PrevSegment& prev,
                                  const Chunk* __restrict__ chunks, Add add) {
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment from = prev[s];
        const unsigned int done = is_done && prev.is_last(s) ? slice.n_warps : 0;
        for (unsigned int c = slice.warp + done; c < from.n_chunks; c += slice.n_warps) {
            const Chunk chunk = chunks[(from.chunk_start + c) & l.chunk_mask];
            const unsigned int step = step_of(w, chunk);
            if (step < w.steps) add(chunk.word, length_of(chunk), step); // otherwise of another window
        }
    }
}

// The chunk a warp probably starts with: its first chunk of the last segment, loaded before admission is known.
struct Prefetch {
    Chunk chunk = {0, 0};
    bool is_loaded;
    ChunkWords chunk_words;

    __device__ Prefetch(const RingLayout& l, const WarpSlice& slice, const PrevSegment& prev, const Chunk* __restrict__ chunks,
                     const unsigned int* __restrict__ words)
        : is_loaded(slice.warp < prev.last.n_chunks), chunk_words(take(l, slice, prev, chunks, words)) {}
    __device__ ChunkWords take(const RingLayout& l, const WarpSlice& slice, const PrevSegment& prev, const Chunk* __restrict__ chunks,
                          const unsigned int* __restrict__ words) {
        if (is_loaded) chunk = chunks[(prev.last.chunk_start + slice.warp) & l.chunk_mask];
        return ChunkWords(words, chunk.word, is_loaded ? length_of(chunk) : 0);
    }
};

// Adds the pending chunks of a window to its arrivals table, with packed weights.
__device__ inline void deliver_chunks(const RingLayout& l, const Window& w, bool dense, const WarpSlice& slice, const Prefetch& prefetch,
                                      const PrevSegment& prev, const Chunk* chunks, const unsigned int* words, int* arrivals,
                                      unsigned char* touched) {
    const Packing packing(l);
    unsigned char* touches = dense ? nullptr : touched;
    const bool is_due = w.last + 1 != w.first && prev.is_last(w.last) && step_of(w, prefetch.chunk) < w.steps;
    if (prefetch.is_loaded && is_due) prefetch.chunk_words.add(packing, arrivals + step_of(w, prefetch.chunk) * ROW, touches);
    for_each_chunk(l, w, slice, true, prev, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
        ChunkWords(words, word, len).add(packing, arrivals + step * ROW, touches);
    });
}

// Adds the pending chunks of a window whose counts may not fit into a word, or whose weights are changed.
__device__ inline void deliver_chunks_exact(const Model& m, const Window& w, bool dense, const WarpSlice& slice,
                                       const PrevSegment& prev, const Chunk* chunks, const unsigned int* rows,
                                       const unsigned int* words, const Overflow* overflow,
                                       const unsigned short* gain_of, const WeightGain* gains, int* arrivals,
                                       unsigned char* touched) {
    unsigned char* touches = dense ? nullptr : touched;
    for_each_chunk(m.layout, w, slice, false, prev, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
        const WeightGain gain = m.has_gains ? gains[gain_of[row_of(rows, m.n, word)]] : WeightGain{1.0, 0, 0, 0, 0};
        if (!gain.silent) add_chunk_exact(m, word, len, arrivals + step * ROW, words, overflow, gain, touches);
    });
}

// Counts the synaptic events of each step of a window: one of COPIES blocks, in the step kernels. In
// `deliver_spikes`, atomics to so few addresses took 0.8 us of a busy launch.
__device__ inline void count_synaptic_events(const Model& m, const Window& w, unsigned int copy, const Segment* segments, const Chunk* chunks,
                             const unsigned int* rows, const unsigned short* gain_of, const WeightGain* gains,
                             unsigned int* counters) {
    __shared__ unsigned int sums[MAX_WINDOW_STEPS];
    const unsigned int me = threadIdx.x;
    if (me < MAX_WINDOW_STEPS) sums[me] = 0;
    __syncthreads();
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment& from = segments[s & m.layout.segment_mask];
        for (unsigned int c = copy * blockDim.x + me; c < from.n_chunks; c += COPIES * blockDim.x) {
            const Chunk chunk = chunks[(from.chunk_start + c) & m.layout.chunk_mask];
            const unsigned int step = step_of(w, chunk);
            if (step >= w.steps || (m.has_gains && gains[gain_of[row_of(rows, m.n, chunk.word)]].silent)) continue;
            atomicAdd(&sums[step], length_of(chunk));
        }
    }
    __syncthreads();
    if (me < MAX_WINDOW_STEPS && sums[me]) atomicAdd(&counters[w.slot * COUNTERS + copy * MAX_WINDOW_STEPS + me], sums[me]);
}

// Whether a window runs, and whether it is dense.
struct Admission {
    bool halted, dense;
};

// All blocks reach the same result; the first block initialises the segment of the window.
__device__ inline Admission admit_window(const RingLayout& l, const Window& w, const PrevSegment& prev, Segment* place, bool is_first) {
    const Segment& last = prev.last;
    const Admission admission = {last.halted || w.steps == 0 || !has_room(w, prev), count_pending_chunks(w, prev) >= l.dense_chunks};
    if (is_first && threadIdx.x == 0) {
        Segment fresh = {};
        fresh.spike_start = last.spike_start + last.n_spikes;
        fresh.chunk_start = last.chunk_start + last.n_chunks;
        fresh.halted = admission.halted;
        fresh.dense = admission.dense;
        *place = fresh;
    }
    return admission;
}

// Admits a window within a graph, and copies the previous segment into the ring buffer.
__device__ inline Admission admit_window_in_graph(const RingLayout& l, const Window& w, const PrevSegment& prev, Segment* live, unsigned int index,
                                     bool is_first) {
    const Admission admission = admit_window(l, w, prev, live + index + 1, is_first);
    if (index && is_first && threadIdx.x == 0) prev.segments[w.previous] = prev.last;
    return admission;
}

// Draws the Poisson kicks of a window in extra blocks, concurrently with delivery: delivery is memory-bound, drawing
// compute-bound.
__device__ inline void draw_kicks(const Model& m, const Window& w, unsigned int lane, const KickSource* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains, unsigned int* kick_bits) {
    if (lane >= m.n || !trains[lane >> 5]) return;
    const KickInputs drive = {m, sources, chances, masks, nullptr, 0, 0};
    kick_bits[lane] = drive.draw_window(w.step, w.steps, lane);
}

}  // namespace spiking
