// Windows, one after the other, in one launch: what the window before brought is exchanged, then the window at hand is
// run. Who the neurons are is up to the crowd; it gives
//     prepare(w)            done while others finish: whatever does not depend on them
//     fetch(w, arrivals)    takes up what was delivered into the first window
//     step(w, list, n)      runs a window, tells its spikes and their number n; ends with a barrier where there are any
#pragma once
#include "spiking/posts.cuh"

namespace spiking {

// What a launch is given beside the neurons.
struct Trip {
    const Window* windows;
    unsigned int n_windows;
    Segment* segments;
    const unsigned int *rows, *words;
    int* arrivals;
    unsigned int* spikes;
    Chunk* chunks;
    unsigned int *counters, *gate;
    unsigned long long* posts;
    unsigned int first_tag;
};

// Waits until all blocks are here, and sees what they have done.
__device__ inline void meet(unsigned int* gate) {
    __syncthreads();
    if (threadIdx.x == 0) wait_at(gate, arrive(gate));
    __syncthreads();
}

// The end of a launch after `n_run` windows: the last spikes go to the ring, and what is still on its way becomes chunks.
template <typename C>
__device__ inline void leave(C& crew, const Trip& t, const unsigned int* lists, unsigned long long half, unsigned int n_run) {
    const Model& m = crew.model;
    const unsigned int me = threadIdx.x;
    if (n_run) {
        const unsigned int last = ~n_run & 1, before = n_run & 1; // sides
        const Window w = t.windows[n_run - 1];
        const unsigned int* list = lists + last * half;
        file(m, list, crew.n_spikes[last], crew.ring_at[last], (unsigned int)w.step, t.counters + w.slot * COUNTERS, 0,
             nullptr, t.rows, t.spikes);
        unsigned int chunk_start = crew.chunk_start;
        // A last window that is shorter than the delay leaves the rest of the one before; its own chunks come behind.
        if (n_run > 1 && w.steps < m.layout.window) {
            const Window& long_one = t.windows[n_run - 2];
            unsigned int* n_chunks = &t.segments[long_one.segment].n_chunks;
            leave_chunks(m, lists + before * half, crew.n_spikes[before], w.steps, (unsigned int)long_one.step, chunk_start,
                         n_chunks, t.rows, t.chunks);
            meet(t.gate);
            chunk_start += __ldcg(n_chunks);
            if (blockIdx.x == 0 && me == 0) t.segments[w.segment].chunk_start = chunk_start;
        }
        leave_chunks(m, list, crew.n_spikes[last], 0, (unsigned int)w.step, chunk_start, &t.segments[w.segment].n_chunks,
                     t.rows, t.chunks);
    }
    if (n_run < t.n_windows && blockIdx.x == 0) {
        const Segment halted = {0, 0, crew.start[n_run & 1], crew.chunk_start, 1, 0};
        for (unsigned int i = n_run + me; i < t.n_windows; i += blockDim.x) t.segments[t.windows[i].segment] = halted;
    }
}

template <typename C, typename Crowd>
__device__ inline void travel(C& crew, Crowd& crowd, const Deal& deal, const Trip& t, const Dealt& dealt) {
    const Model& m = crew.model;
    const unsigned int me = threadIdx.x, post_size = deal.post_size(m);
    const unsigned long long half = (unsigned long long)gridDim.x * post_size;
    unsigned long long* const own = t.posts + (unsigned long long)blockIdx.x * post_size;
    unsigned int* const lists = reinterpret_cast<unsigned int*>(own + deal.list_at(m)); // 2 half from side to side
    const Before before(m.layout, crew.plan[0], t.segments, nullptr, 0);
    const Verdict first = begin(m.layout, crew.plan[0], before, &t.segments[crew.plan[0].segment], blockIdx.x == 0);
    if (!first.halted) {
        const Carrier carrier(blockIdx.x, gridDim.x);
        const Ahead ahead(m.layout, carrier, before, t.chunks, t.words);
        deliver_chunks(m.layout, crew.plan[0], true, carrier, ahead, before, t.chunks, t.words, t.arrivals, nullptr);
        for (unsigned int copy = blockIdx.x; copy < COPIES; copy += gridDim.x)
            tally(m, crew.plan[0], copy, t.segments, t.chunks, t.rows, nullptr, nullptr, t.counters);
    }
    meet(t.gate);

    // After the last window there is only the exchange.
    unsigned int index = 0;
    for (;; ++index) {
        const unsigned int side = index & 1, other = side ^ 1, tag = t.first_tag + index;
        const bool is_over = index == t.n_windows;
        const Window& w = crew.plan[side];
        // While others finish, the spikes of the window before the last are filed.
        if (me == 0) {
            if (index) put_first(crew, &own[other * half], crew.n_spikes[other], tag - 1);
            if (index && m.counts_active)
                atomicAdd(&t.counters[crew.plan[other].slot * COUNTERS + COPIES * LONGEST], crew.looks);
            if (crew.lost) atomicMax(&t.counters[crew.plan[other].slot * COUNTERS + LOST], crew.lost);
            crew.looks = crew.n_work = crew.lost = 0;
        }
        if (!is_over) crowd.prepare(w);
        if (index >= 2) {
            const Window& then = crew.plan[other];
            unsigned int* counters = t.counters + then.slot * COUNTERS; // behind those of the window before
            file(m, lists + side * 2 * half, crew.n_spikes[side], crew.ring_at[side], (unsigned int)then.step - m.layout.window,
                 counters - COUNTERS, then.steps, counters, t.rows, t.spikes);
        }
        Window next; // on its way while others are waited for
        const bool has_next = me == blockDim.x - 1 && index + 1 < t.n_windows;
        if (has_next) next = t.windows[index + 1];
        if (index) await_posts(crew, t.posts + other * half, post_size, tag - 1);
        __syncthreads();
        const unsigned int total = index ? spikes_before(crew, gridDim.x + 31) : 0, start = crew.start[other] + total;
        const bool has_room = (long long)(start - w.unread) <= w.most_spikes;
        const bool is_last = is_over || first.halted || !has_room;
        if (me == 0) {
            crew.start[side] = start;
            if (index) {
                const unsigned int below = spikes_before(crew, blockIdx.x) + crew.until[blockIdx.x] - crew.n_spikes[other];
                crew.ring_at[other] = crew.start[other] + below;
                if (blockIdx.x == 0) {
                    Segment& run = t.segments[crew.segment[other]];
                    run.n_spikes = total;
                    run.spike_start = crew.start[other];
                }
            }
            if (!is_last) {
                crew.n_spikes[side] = 0;
                crew.segment[side] = w.segment;
                if (blockIdx.x == 0) t.segments[w.segment] = {0, 0, start, crew.chunk_start, 0, 1};
            }
        }
        if (is_last) break;
        if (has_next) crew.plan[other] = next;
        if (total) {
            receive_all(crew, w.steps, total, t.posts + other * half, post_size, tag - 1, dealt);
        } else {
            if (index == 0) crowd.fetch(w, t.arrivals);
            __syncthreads();
        }
        crowd.step(w, lists + side * 2 * half, crew.n_spikes[side]);
        put_rest(crew, own + side * half, lists + side * 2 * half, crew.n_spikes[side], tag);
    }
    meet(t.gate); // for what the first block has written about segments
    leave(crew, t, lists, 2 * half, index);
}

}  // namespace spiking
