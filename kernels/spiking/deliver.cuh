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
// Alone, in graphs of 64 launches, real rows (`measure.variants`), microseconds a launch at 437,000 / 484,000 / 788,000 / 2.9
// million events, G events/s behind:
//    9.1 at 450,000 (49)  events counted here, sizes read from the model in the loop
//    6.8 / 7.2 / 10.2 / 30.9  (64, 67, 77, 94)  counted in `advance`; the plan of windows leads to the segment before
//    6.8 / 7.2 / 10.3 / 31.0  that segment at a place its launch knows, first chunk and its words fetched before it is known
//                             whether the window may run: no change alone
//    6.3 / 7.0 / 10.1 / 30.9  (70, 70)  neighbouring chunks go to different blocks, 40 warps per multiprocessor: chunks that a
//                             second round takes were on few multiprocessors before
//    6.1 / 6.6 /  9.7 / 30.4  (72, 73, 81, 95)  no model read: its sizes are arguments, what a window needs of it is in the
//                             plan. Thousands of warps that read the same few lines wait for each other. Kept
//    6.3 / 6.7 / 9.9 with 32 warps per multiprocessor, 6.2 / 6.6 / 9.8 with 44 or 48
//    6.4 / 6.9 / 9.9 without the first words on their way before the verdict: with the rest mended it does matter
//    8.4 / 8.5 / 11.5 blocks of 1,024; 6.4 / 6.9 / 10.1 two chunks in flight per warp, 24 warps
//    no change: 64 or 32 synapses a chunk, words four at a time, events shared out evenly by search
// Where it goes (before the last two): an empty launch 1.0, then loads that wait for each other, 2.5 with the words of the
// first chunk, then atomics at 105 G/s, which is one for every two cycles of each multiprocessor.
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
    const Layout& layout;
    unsigned int mask, bits;
    __device__ explicit Packing(const Layout& l) : layout(l), mask((1u << l.target_bits) - 1), bits(l.target_bits) {}
    __device__ unsigned int target(unsigned int word) const { return word & mask; }
    __device__ int count(unsigned int word) const { return (int)word >> bits; }
    __device__ unsigned int column(unsigned int target) const { return spiking::column(layout, target); }
};

// The synapses of one chunk of a row, at most 128, in the registers of a warp: four loads in flight per thread.
struct Piece {
    unsigned int word[4], len;

    __device__ Piece(const unsigned int* __restrict__ words, unsigned int from, unsigned int n) : len(n) {
        const unsigned int at = threadIdx.x & 31;
#pragma unroll
        for (int j = 0; j < 4; ++j) word[j] = at + 32 * j < len ? __ldcs(&words[from + at + 32 * j]) : 0;
    }

    // To the arrivals of a step.
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

// The same with counts that do not fit into a word, or with weights that are changed.
__device__ inline void add_chunk_exactly(const Model& m, unsigned int from, unsigned int len, int* __restrict__ row,
                                         const unsigned int* __restrict__ words, const Overflow* __restrict__ overflow,
                                         const Gain& gain, unsigned char* touched) {
    const Packing packing(m.layout);
    for (unsigned int j = threadIdx.x & 31; j < len; j += 32) {
        const unsigned int word = words[from + j];
        int count = packing.count(word);
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
        const unsigned int target = packing.target(word);
        if (count) atomicAdd(&row[packing.column(target)], count);
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

// The segments before a window. Within a graph the last one lies at a place that its launch knows without reading the plan:
// window `index` fills live[index + 1]. It is taken over into the ring by the next launch, or by `order` at the end.
struct Before {
    Segment* segments;
    Segment last;
    unsigned int mask, previous;

    __device__ Before(const Layout& l, const Window& w, Segment* all, const Segment* live, unsigned int index)
        : segments(all), last(index ? live[index] : all[w.previous]), mask(l.segment_mask), previous(w.previous) {}
    __device__ Segment operator[](unsigned int s) const { return is_last(s) ? last : segments[s & mask]; }
    __device__ bool is_last(unsigned int s) const { return (s & mask) == previous; }
};

// Whether a window may run: all that could fire in it finds room before anything still needed is overwritten.
__device__ inline bool has_room(const Window& w, const Before& before) {
    const unsigned int spikes = before.last.spike_start + before.last.n_spikes - w.unread;
    const unsigned int chunks = before.last.chunk_start + before.last.n_chunks - before[w.first].chunk_start;
    return (long long)spikes <= w.most_spikes && (long long)chunks <= w.most_chunks;
}

// Chunks on their way into a window; an upper bound that all blocks compute alike.
__device__ inline unsigned int load_of(const Window& w, const Before& before) {
    unsigned int chunks = 0;
    for (unsigned int s = w.first; s != w.last + 1; ++s) chunks += before[s].n_chunks;
    return chunks;
}

// One warp of those that deliver. Neighbours belong to different blocks, so that few chunks keep all multiprocessors busy.
struct Carrier {
    unsigned int warp, n_warps;
    __device__ Carrier(unsigned int block, unsigned int n_blocks)
        : warp(block + n_blocks * (threadIdx.x >> 5)), n_warps((n_blocks * blockDim.x) >> 5) {}
};

__device__ inline unsigned int step_of(const Window& w, const Chunk& chunk) { return ((chunk.meta >> 7) - w.sent) & (WHOLE >> 7); }
__device__ inline unsigned int length_of(const Chunk& chunk) { return (chunk.meta & 127) + 1; }

// Calls `add(first word, connections, step in the window)` for the chunks on their way into a window, a warp each; the first
// one of the last segment is left out where it `is_done`.
template <typename Add>
__device__ inline void each_chunk(const Layout& l, const Window& w, const Carrier& carrier, bool is_done, const Before& before,
                                  const Chunk* __restrict__ chunks, Add add) {
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment from = before[s];
        const unsigned int done = is_done && before.is_last(s) ? carrier.n_warps : 0;
        for (unsigned int c = carrier.warp + done; c < from.n_chunks; c += carrier.n_warps) {
            const Chunk chunk = chunks[(from.chunk_start + c) & l.chunk_mask];
            const unsigned int step = step_of(w, chunk);
            if (step < w.steps) add(chunk.word, length_of(chunk), step); // else of another window
        }
    }
}

// What a warp will most probably begin with: its first chunk of the last segment, on its way before it is known whether the
// window may run.
struct Ahead {
    Chunk chunk = {0, 0};
    bool is_there;
    Piece piece;

    __device__ Ahead(const Layout& l, const Carrier& carrier, const Before& before, const Chunk* __restrict__ chunks,
                     const unsigned int* __restrict__ words)
        : is_there(carrier.warp < before.last.n_chunks), piece(take(l, carrier, before, chunks, words)) {}
    __device__ Piece take(const Layout& l, const Carrier& carrier, const Before& before, const Chunk* __restrict__ chunks,
                          const unsigned int* __restrict__ words) {
        if (is_there) chunk = chunks[(before.last.chunk_start + carrier.warp) & l.chunk_mask];
        return Piece(words, chunk.word, is_there ? length_of(chunk) : 0);
    }
};

// Adds the chunks on their way into a window to its table, weights as they are.
__device__ inline void deliver_chunks(const Layout& l, const Window& w, bool dense, const Carrier& carrier, const Ahead& ahead,
                                      const Before& before, const Chunk* chunks, const unsigned int* words, int* arrivals,
                                      unsigned char* touched) {
    const Packing packing(l);
    unsigned char* touches = dense ? nullptr : touched;
    const bool is_due = w.last + 1 != w.first && before.is_last(w.last) && step_of(w, ahead.chunk) < w.steps;
    if (ahead.is_there && is_due) ahead.piece.add(packing, arrivals + step_of(w, ahead.chunk) * ROW, touches);
    each_chunk(l, w, carrier, true, before, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
        Piece(words, word, len).add(packing, arrivals + step * ROW, touches);
    });
}

// The same where counts may not fit into a word, or weights are changed.
__device__ inline void deliver_exactly(const Model& m, const Window& w, bool dense, const Carrier& carrier,
                                       const Before& before, const Chunk* chunks, const unsigned int* rows,
                                       const unsigned int* words, const Overflow* overflow,
                                       const unsigned short* gain_of, const Gain* gains, int* arrivals,
                                       unsigned char* touched) {
    unsigned char* touches = dense ? nullptr : touched;
    each_chunk(m.layout, w, carrier, false, before, chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
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
    const unsigned int me = threadIdx.x;
    if (me < LONGEST) sums[me] = 0;
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
    if (me < LONGEST && sums[me]) atomicAdd(&counters[w.slot * COUNTERS + copy * LONGEST + me], sums[me]);
}

// Whether a window runs, and how.
struct Verdict {
    bool halted, dense;
};

// All blocks come to the same verdict; the first makes room for the spikes of the window in `place`.
__device__ inline Verdict begin(const Layout& l, const Window& w, const Before& before, Segment* place, bool is_first) {
    const Segment& last = before.last;
    const Verdict verdict = {last.halted || w.steps == 0 || !has_room(w, before), load_of(w, before) >= l.dense_chunks};
    if (is_first && threadIdx.x == 0) {
        Segment fresh = {};
        fresh.spike_start = last.spike_start + last.n_spikes;
        fresh.chunk_start = last.chunk_start + last.n_chunks;
        fresh.halted = verdict.halted;
        fresh.dense = verdict.dense;
        *place = fresh;
    }
    return verdict;
}

// The same within a graph, where the segment before is taken over into the ring.
__device__ inline Verdict begin_live(const Layout& l, const Window& w, const Before& before, Segment* live, unsigned int index,
                                     bool is_first) {
    const Verdict verdict = begin(l, w, before, live + index + 1, is_first);
    if (index && is_first && threadIdx.x == 0) before.segments[w.previous] = before.last;
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
