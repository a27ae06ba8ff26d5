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
#pragma once
#include "spiking/drive.cuh"

namespace spiking {

// Adds the synapses of one chunk of a row, at most 128, to the arrivals: four loads in flight per thread.
__device__ inline void add_chunk(const Model& m, unsigned int from, unsigned int len, int* __restrict__ row,
                                 const unsigned int* __restrict__ words, unsigned char* touched) {
    const unsigned int mask = (1u << m.target_bits) - 1, at = threadIdx.x & 31;
    unsigned int word[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) word[j] = at + 32 * j < len ? __ldcs(&words[from + at + 32 * j]) : 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        if (at + 32 * j < len) {
            atomicAdd(&row[column(m, word[j] & mask)], (int)word[j] >> m.target_bits);
            if (touched) touched[(word[j] & mask) >> 5] = 1;
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

// Adds the chunks on their way into a window to its table; `block` of `n_blocks` that do. EXACT: with counts that do not
// fit into a word, or changed weights.
template <bool EXACT>
__device__ inline void deliver_chunks(const Model& m, const Window& w, bool dense, unsigned int block, unsigned int n_blocks,
                                      const Segment* segments, const Chunk* chunks, const unsigned int* rows,
                                      const unsigned int* words, const Overflow* overflow, const unsigned short* gain_of,
                                      const Gain* gains, int* arrivals, unsigned char* touched, unsigned int* counters) {
    const unsigned int warp = (block * blockDim.x + threadIdx.x) >> 5, n_warps = (n_blocks * blockDim.x) >> 5;
    const unsigned int sent = (unsigned int)w.step - m.delay, me = threadIdx.x & 31;
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment& from = segments[s & m.segment_mask];
        // Each lane fetches one of the next chunks of its warp: they are all there after one wait.
        const unsigned int n_mine = from.n_chunks > warp ? (from.n_chunks - 1 - warp) / n_warps + 1 : 0;
        for (unsigned int first = 0; first < n_mine; first += 32) {
            Chunk mine = {0, 0};
            if (first + me < n_mine) mine = chunks[(from.chunk_start + warp + (first + me) * n_warps) & m.chunk_mask];
            for (unsigned int k = 0; k < min(n_mine - first, 32u); ++k) {
                const Chunk chunk = {__shfl_sync(WHOLE, mine.word, k), __shfl_sync(WHOLE, mine.meta, k)};
                const unsigned int offset = ((chunk.meta >> 7) - sent) & (WHOLE >> 7);
                if (offset >= w.steps) continue; // of another window
                const unsigned int len = (chunk.meta & 127) + 1;
                int* row = arrivals + offset * ROW;
                unsigned char* touches = dense ? nullptr : touched;
                if (!EXACT || (m.n_overflow == 0 && !m.has_gains)) {
                    add_chunk(m, chunk.word, len, row, words, touches);
                } else {
                    const Gain gain = m.has_gains ? gains[gain_of[row_of(rows, m.n, chunk.word)]] : Gain{1.0, 0, 0, 0, 0};
                    if (gain.silent) continue;
                    add_chunk_exactly(m, chunk.word, len, row, words, overflow, gain, touches);
                }
                if (me == 0) atomicAdd(&counters[w.slot * COUNTERS + (warp % COPIES) * LONGEST + offset], len);
            }
        }
    }
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
