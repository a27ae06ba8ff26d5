// The loop over windows of a persistent launch: exchange the spikes of the previous window, then run the current one.
// The neuron model is the template parameter Neurons:
// prepare(w)                    runs while other blocks finish: everything that does not depend on them
// load_arrivals(w, arrivals)    loads what was delivered into the first window
// step(w, list, n)              runs a window, records its n spikes in `list`; ends with a barrier if there are any
#pragma once
#include "spiking/mailboxes.cuh"

namespace spiking {

// Arguments of a persistent launch, except those of the neuron model.
struct LaunchArgs {
    const Window* windows;
    unsigned int n_windows;
    Segment* segments;
    const unsigned int *rows, *words;
    int* arrivals;
    unsigned int* spikes;
    Chunk* chunks;
    unsigned int *counters, *barrier;
    unsigned long long* mailboxes;
    unsigned int first_tag;
};

// Waits for all blocks and makes their writes visible.
__device__ inline void grid_barrier(unsigned int* barrier) {
    __syncthreads();
    if (threadIdx.x == 0) barrier_wait(barrier, barrier_arrive(barrier));
    __syncthreads();
}

// Ends a launch after `n_run` windows: publishes the last spikes, and converts spikes still in transit to chunks.
template <typename C>
__device__ inline void flush(C& smem, const LaunchArgs& t, const unsigned int* lists, unsigned long long half, unsigned int n_run) {
    const Model& m = smem.model;
    const unsigned int me = threadIdx.x;
    if (n_run) {
        const unsigned int last = ~n_run & 1, prev = n_run & 1; // sides
        const Window w = t.windows[n_run - 1];
        const unsigned int* list = lists + last * half;
        publish_spikes(m, list, smem.n_spikes[last], smem.ring_at[last], (unsigned int)w.step, t.counters + w.slot * COUNTERS, 0,
             nullptr, t.rows, t.spikes);
        unsigned int chunk_start = smem.chunk_start;
        // If the last window is shorter than the delay, spikes of the window before are still in transit; the last
        // window's chunks follow them.
        if (n_run > 1 && w.steps < m.layout.window) {
            const Window& long_one = t.windows[n_run - 2];
            unsigned int* n_chunks = &t.segments[long_one.segment].n_chunks;
            queue_chunks(m, lists + prev * half, smem.n_spikes[prev], w.steps, (unsigned int)long_one.step, chunk_start,
                         n_chunks, t.rows, t.chunks);
            grid_barrier(t.barrier);
            chunk_start += __ldcg(n_chunks);
            if (blockIdx.x == 0 && me == 0) t.segments[w.segment].chunk_start = chunk_start;
        }
        queue_chunks(m, list, smem.n_spikes[last], 0, (unsigned int)w.step, chunk_start, &t.segments[w.segment].n_chunks,
                     t.rows, t.chunks);
    }
    if (n_run < t.n_windows && blockIdx.x == 0) {
        const Segment halted = {0, 0, smem.start[n_run & 1], smem.chunk_start, 1, 0};
        for (unsigned int i = n_run + me; i < t.n_windows; i += blockDim.x) t.segments[t.windows[i].segment] = halted;
    }
}

template <typename C, typename Neurons>
__device__ inline void run_windows(C& smem, Neurons& neurons, const BlockPartition& partition, const LaunchArgs& t, const BlockCsr& csr) {
    const Model& m = smem.model;
    const unsigned int me = threadIdx.x, mailbox_size = partition.mailbox_size(m);
    const unsigned long long half = (unsigned long long)gridDim.x * mailbox_size;
    unsigned long long* const own = t.mailboxes + (unsigned long long)blockIdx.x * mailbox_size;
    unsigned int* const lists = reinterpret_cast<unsigned int*>(own + partition.list_offset(m)); // 2 half apart per side
    const PrevSegment prev(m.layout, smem.plan[0], t.segments, nullptr, 0);
    const Admission first = admit_window(m.layout, smem.plan[0], prev, &t.segments[smem.plan[0].segment], blockIdx.x == 0);
    if (!first.halted) {
        const WarpSlice slice(blockIdx.x, gridDim.x);
        const Prefetch prefetch(m.layout, slice, prev, t.chunks, t.words);
        deliver_chunks(m.layout, smem.plan[0], true, slice, prefetch, prev, t.chunks, t.words, t.arrivals, nullptr);
        for (unsigned int copy = blockIdx.x; copy < COPIES; copy += gridDim.x)
            count_synaptic_events(m, smem.plan[0], copy, t.segments, t.chunks, t.rows, nullptr, nullptr, t.counters);
    }
    grid_barrier(t.barrier);

    // After the last window only the exchange remains.
    unsigned int index = 0;
    for (;; ++index) {
        const unsigned int side = index & 1, other = side ^ 1, tag = t.first_tag + index;
        const bool is_over = index == t.n_windows;
        const Window& w = smem.plan[side];
        // While other blocks finish, the spikes of the window before the last are published.
        if (me == 0) {
            if (index) post_header(smem, &own[other * half], smem.n_spikes[other], tag - 1);
            if (index && m.counts_active)
                atomicAdd(&t.counters[smem.plan[other].slot * COUNTERS + COPIES * MAX_WINDOW_STEPS], smem.n_evaluated);
            if (smem.non_finite) atomicMax(&t.counters[smem.plan[other].slot * COUNTERS + NON_FINITE], smem.non_finite);
            smem.n_evaluated = smem.n_pending = smem.non_finite = 0;
        }
        if (!is_over) neurons.prepare(w);
        if (index >= 2) {
            const Window& then = smem.plan[other];
            unsigned int* counters = t.counters + then.slot * COUNTERS; // following those of the window before
            publish_spikes(m, lists + side * 2 * half, smem.n_spikes[side], smem.ring_at[side], (unsigned int)then.step - m.layout.window,
                 counters - COUNTERS, then.steps, counters, t.rows, t.spikes);
        }
        Window next; // loaded while waiting
        const bool has_next = me == blockDim.x - 1 && index + 1 < t.n_windows;
        if (has_next) next = t.windows[index + 1];
        if (index) wait_for_mailboxes(smem, t.mailboxes + other * half, mailbox_size, tag - 1);
        __syncthreads();
        const unsigned int total = index ? spikes_before(smem, gridDim.x + 31) : 0, start = smem.start[other] + total;
        const bool has_room = (long long)(start - w.unread) <= w.most_spikes;
        const bool is_last = is_over || first.halted || !has_room;
        if (me == 0) {
            smem.start[side] = start;
            if (index) {
                const unsigned int below = spikes_before(smem, blockIdx.x) + smem.cumulative[blockIdx.x] - smem.n_spikes[other];
                smem.ring_at[other] = smem.start[other] + below;
                if (blockIdx.x == 0) {
                    Segment& run = t.segments[smem.segment[other]];
                    run.n_spikes = total;
                    run.spike_start = smem.start[other];
                }
            }
            if (!is_last) {
                smem.n_spikes[side] = 0;
                smem.segment[side] = w.segment;
                if (blockIdx.x == 0) t.segments[w.segment] = {0, 0, start, smem.chunk_start, 0, 1};
            }
        }
        if (is_last) break;
        if (has_next) smem.plan[other] = next;
        if (total) {
            receive_all(smem, w.steps, total, t.mailboxes + other * half, mailbox_size, tag - 1, csr);
        } else {
            if (index == 0) neurons.load_arrivals(w, t.arrivals);
            __syncthreads();
        }
        neurons.step(w, lists + side * 2 * half, smem.n_spikes[side]);
        post_spikes(smem, own + side * half, lists + side * 2 * half, smem.n_spikes[side], tag);
    }
    grid_barrier(t.barrier); // for segments written by the first block
    flush(smem, t, lists, 2 * half, index);
}

}  // namespace spiking
