// The spikes of a block of resident neurons in a window: noted, appended to the rings, pushed.
#pragma once
#include "spiking/deliver.cuh"
#include "spiking/ensemble.cuh"

namespace spiking {

// Notes the spikes of a neuron in the volley; returns those that find no room.
template <typename T>
__device__ inline unsigned int enlist(Ensemble<T>& crew, unsigned int lane, unsigned int fired) {
    unsigned int at = atomicAdd(&crew.n_spikes, __popc(fired));
    for (; fired && at < VOLLEY; fired &= fired - 1) crew.key[at++] = (__ffs(fired) - 1) << LANE_BITS | lane;
    if (fired) crew.n_left = 1;
    return fired;
}

// Appends a volley to the rings. Unless all blocks will share it out, it is pushed as well: into `table`, the arrivals of
// the next window.
template <typename T>
__device__ inline void fire(const Model& m, Ensemble<T>& crew, const Window& w, const Segment& now, Segment* segment,
                            const unsigned int* rows, const unsigned int* words, bool pushes, const Window& next, int* table, unsigned char* reach,
                            unsigned int* spikes, Chunk* chunks, unsigned int* counters) {
    const unsigned int n = min(crew.n_spikes, VOLLEY), me = threadIdx.x, at = me & 31, lane_mask = (1u << LANE_BITS) - 1;
    for (unsigned int j = me; j < n; j += blockDim.x) {
        const unsigned int lane = crew.key[j] & lane_mask, i = crew.key[j] >> LANE_BITS;
        const unsigned int from = rows[lane], len = rows[lane + 1] - from;
        crew.from[j] = from;
        crew.len[j] = len;
        if (pushes && i < next.steps && len)
            atomicAdd(&counters[next.slot * COUNTERS + (blockIdx.x % COPIES) * LONGEST + i], len);
    }
    __syncthreads();
    if (me < 32) {
        unsigned int total = 0;
        for (unsigned int j = me; (j & ~31u) < n; j += 32) {
            unsigned int until = j < n ? (crew.len[j] + 127) >> 7 : 0;
            for (unsigned int d = 1; d < 32; d *= 2) {
                const unsigned int below = __shfl_up_sync(WHOLE, until, d);
                if (me >= d) until += below;
            }
            until += total;
            if (j < n) crew.until[j] = until;
            total = __shfl_sync(WHOLE, until, 31);
        }
        if (me == 0) crew.next_chunk = 0;
    }
    __syncthreads();
    const unsigned int n_chunks = crew.until[n - 1];
    // n_spikes and n_chunks lie side by side: one atomic moves both.
    if (me == 0)
        crew.place = atomicAdd(reinterpret_cast<unsigned long long*>(&segment->n_spikes), n | (unsigned long long)n_chunks << 32);
    while (pushes) {
        unsigned int c = 0;
        if (at == 0) c = atomicAdd(&crew.next_chunk, 1);
        c = __shfl_sync(WHOLE, c, 0);
        if (c >= n_chunks) break;
        unsigned int j = 0;
        for (;; j += 32) { // the first spike whose chunks reach beyond c
            const unsigned int beyond = __ballot_sync(WHOLE, j + at < n && crew.until[j + at] > c);
            if (beyond) {
                j += __ffs(beyond) - 1;
                break;
            }
        }
        const unsigned int i = crew.key[j] >> LANE_BITS, skip = 128 * (c - (j ? crew.until[j - 1] : 0));
        if (i >= next.steps) continue; // of a later window
        const unsigned int from = crew.from[j] + skip, len = min(crew.len[j] - skip, 128u);
        int* row = table + i * ROW;
        add_chunk(m, from, len, row, words, reach);
    }
    __syncthreads();
    const unsigned int spike = now.spike_start + (unsigned int)crew.place, chunk = now.chunk_start + (unsigned int)(crew.place >> 32);
    for (unsigned int j = me; j < n; j += blockDim.x) spikes[(spike + j) & m.spike_mask] = crew.key[j];
    for (unsigned int c = me; c < n_chunks; c += blockDim.x) {
        unsigned int j = 0, end = n - 1;
        while (j < end) { // the first spike whose chunks reach beyond c
            const unsigned int mid = (j + end) / 2;
            if (crew.until[mid] > c) end = mid; else j = mid + 1;
        }
        const unsigned int skip = 128 * (c - (j ? crew.until[j - 1] : 0)), step = (unsigned int)w.step + (crew.key[j] >> LANE_BITS);
        chunks[(chunk + c) & m.chunk_mask] = {crew.from[j] + skip, step << 7 | (min(crew.len[j] - skip, 128u) - 1)};
    }
    __syncthreads();
}

}  // namespace spiking
