// Many windows of a network in few blocks: only neurons that receive input, or that may cross the threshold, are loaded and
// stepped. For networks of which few neurons are reached in a window: many of them, the trials of an experiment, run side by
// side on parts of the device.
//
// A window has two parts, each followed by a barrier of the network's blocks. First its spikes are delivered and its kicks are
// drawn; every reached neuron is listed once, by the first that exchanges its tag. Then the listed neurons are stepped.
//
// Supported: any stimuli but listed kicks, changed weights, no traced neurons. The contents of memory between windows are
// those that the other modes leave, so that each mode can continue from the others.
//
// Measured on an H200, synthetic fly, double precision, total simulated seconds per second of 1 / 8 / 16 / 32 trials with
// 21 driven neurons; 16 / 32 with 408. `step_lif_persistent`, one trial after another: 242; 158.
//   - / 504 /  469 /  473; 50 / 39  one block of 512 threads, five barriers of the block per window; streams share eight
//                                   hardware queues
//   - / 509 /  928 / 1393; 57 / 83  the same with 32 queues
//   - /   - / 1124 /  979; 217 / 212  an equal part of the multiprocessors for each trial, two barriers of its blocks per
//                                   window, state of reached neurons fetched ahead. Kept
#pragma once
#include "spiking/step_lif.cuh"
#include "spiking/grid_barrier.cuh"

namespace spiking {

// Shared memory of a block.
template <typename T> struct ReachedState {
    PropagatorCache<T> cached;
    unsigned int n_driven; // groups with trains
};

// Device memory of a network, and its stimuli.
struct ReachedArgs {
    const Model& m;
    const unsigned int *rows, *words;
    const Overflow* overflow;
    const unsigned short* gain_of;
    const WeightGain* gains;
    const KickSource* sources;
    const unsigned long long* chances;
    const unsigned int *masks, *trains, *marks;
    const void* currents;
    void* states;
    unsigned int *anchors, *checks, *wakes;
    int* arrivals;
    unsigned int* kick_bits;
    unsigned int* summed; // by neuron: one bit per step with arrivals
    unsigned int* tags; // by neuron: the window in which it was listed last
    unsigned int* reached; // listed neurons, then driven groups
    unsigned int* n_reached; // by window of the launch
    unsigned int* spikes;
    Chunk* chunks;
    unsigned int* counters;
    DeviceRate* rates;
    const float* fade;
};

// Appends a value per lane where `is_new`, with one atomic per warp. Called by all lanes.
__device__ inline void append(unsigned int* list, unsigned int* n, unsigned int value, bool is_new) {
    const unsigned int news = __ballot_sync(FULL_MASK, is_new), at = threadIdx.x & 31;
    if (!news) return;
    unsigned int base = 0;
    if (at == 0) base = atomicAdd(n, __popc(news));
    base = __shfl_sync(FULL_MASK, base, 0);
    if (is_new) list[base + __popc(news & ((1u << at) - 1))] = value;
}

// Moves the first step at which a group may cross the threshold to an earlier one.
__device__ inline void wake_by(unsigned int* wake, unsigned int start, int wait) {
    if (wait >= NEVER) return; // as every group
    if (start + 2 * NEVER > start) {
        atomicMin(wake, start + wait);
        return;
    }
    unsigned int seen = *wake; // steps are close to 2^32
    while (signed_gap(seen, start) > wait) {
        const unsigned int before = atomicCAS(wake, seen, start + wait);
        if (before == seen) return;
        seen = before;
    }
}

// Waits for all blocks of the network.
__device__ inline void network_barrier(unsigned int* barrier) {
    __syncthreads();
    if (gridDim.x == 1) return;
    if (threadIdx.x == 0) barrier_wait_idle(barrier, barrier_arrive(barrier));
    __syncthreads();
}

__device__ inline void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

template <typename T> struct ReachedNeurons {
    ReachedState<T>& smem;
    const ReachedArgs& a;
    const KickInputs drive;
    unsigned int warp, n_warps, at; // warps of all blocks
    unsigned int* n_reached;

    __device__ ReachedNeurons(ReachedState<T>& smem, const ReachedArgs& a)
        : smem(smem), a(a), drive{a.m, a.sources, a.chances, a.masks, nullptr, 0, 0},
          warp(blockIdx.x + gridDim.x * (threadIdx.x >> 5)), n_warps(gridDim.x * (blockDim.x >> 5)), at(threadIdx.x & 31),
          n_reached(a.n_reached) {}

    // Groups with trains of this block.
    __device__ unsigned int* driven() const { return a.reached + a.m.stride + blockIdx.x * groups_per_block(); }
    __device__ unsigned int groups_per_block() const { return (a.m.n_warps + gridDim.x - 1) / gridDim.x; }

    // Lists the groups of 32 neurons with Poisson trains; they are the same in all windows of a launch.
    __device__ void list_driven() {
        if (!a.m.n_sources) return;
        const unsigned int from = blockIdx.x * groups_per_block(), end = min(from + groups_per_block(), a.m.n_warps);
        for (unsigned int first = from + (threadIdx.x & ~31u); first < end; first += blockDim.x) {
            const unsigned int group = first + at;
            append(driven(), &smem.n_driven, group, group < end && a.trains[group]);
        }
    }

    // Lists a neuron per lane, unless it is listed already. Called by all lanes.
    __device__ void list(const Window& w, unsigned int lane, bool is_reached) {
        const unsigned int tag = (unsigned int)w.step + 1;
        bool is_new = false;
        if (is_reached) is_new = atomicExch(&a.tags[lane], tag) != tag;
        if (is_new) {
            prefetch(&static_cast<const State<T>*>(a.states)[lane]);
            prefetch(&a.anchors[lane]);
            prefetch(&a.checks[lane]);
            prefetch(&a.marks[lane]);
        }
        append(a.reached, n_reached, lane, is_new);
    }

    // Draws the kicks of the window. The last warps begin, because the first deliver spikes.
    __device__ void draw(const Window& w) {
        const unsigned int n = blockDim.x >> 5;
        for (unsigned int i = n - 1 - (threadIdx.x >> 5); i < smem.n_driven; i += n) {
            const unsigned int lane = driven()[i] * 32 + at;
            const unsigned int bits = lane < a.m.n ? drive.draw_window(w.step, w.steps, lane) : 0;
            if (lane < a.m.n) a.kick_bits[lane] = bits;
            list(w, lane, bits);
        }
    }

    // Delivers the spikes that arrive in the window: a warp per chunk.
    __device__ void deliver(const Window& w, const PrevSegment& prev, bool is_exact) {
        const Packing p(a.m.layout);
        unsigned int* events = a.counters + w.slot * COUNTERS + blockIdx.x % COPIES * MAX_WINDOW_STEPS;
        for_each_chunk(a.m.layout, w, WarpSlice(blockIdx.x, gridDim.x), false, prev, a.chunks,
                       [&](unsigned int word, unsigned int len, unsigned int step) {
            WeightGain gain = {1.0, 0, 0, 0, 0};
            if (a.m.has_gains) gain = a.gains[a.gain_of[row_of(a.rows, a.m.n, word)]];
            if (gain.silent) return;
            if (at == 0) atomicAdd(&events[step], len);
            const ChunkWords loaded(a.words, word, len);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const unsigned int k = at + 32 * j, target = p.target(loaded.word[j]);
                int count = p.count(loaded.word[j]);
                if (is_exact && k < len) count = exact_count(a.m, loaded.word[j], word + k, a.overflow, gain);
                const bool arrives = k < len && count;
                if (arrives) {
                    atomicOr(&a.summed[target], 1u << step);
                    atomicAdd(&a.arrivals[p.column(target) + step * ROW], count);
                }
                list(w, target, arrives);
            }
        });
    }

    // Lists the neurons that may cross the threshold in the window.
    __device__ void wake(const Window& w) {
        const unsigned int start = (unsigned int)w.step;
        const int steps = (int)w.steps;
        for (unsigned int first = warp * 32; first < a.m.n_warps; first += n_warps * 32) {
            const unsigned int mine = first + at;
            const bool wakes = mine < a.m.n_warps && signed_gap(a.wakes[mine], start) < steps;
            for (unsigned int left = __ballot_sync(FULL_MASK, wakes); left; left &= left - 1) {
                const unsigned int group = first + __ffs(left) - 1, lane = group * 32 + at;
                const int gap = lane < a.m.n ? signed_gap(a.checks[lane], start) : NEVER;
                list(w, lane, gap < steps);
                const int rest = warp_min(gap < steps ? NEVER : gap);
                if (at == 0) a.wakes[group] = start + min(rest, NEVER);
            }
        }
    }

    // Steps one neuron through the window, as `step_lif` does. Returns one bit per step with a spike.
    __device__ unsigned int step(const Window& w, unsigned int lane, const Constants<T>& c, unsigned int& n_evaluated) {
        const Model& m = a.m;
        const unsigned int start = (unsigned int)w.step, summed = a.summed[lane];
        const unsigned int kicked = m.n_sources ? a.kick_bits[lane] : 0;
        Neuron<T> neuron = load<T>(lane, a.states, a.anchors, a.marks, a.currents);
        PendingEvents pending = {kicked | summed, max(signed_gap(a.checks[lane], start), 0)};
        int* sums = a.arrivals + column(m.layout, lane);
        // Arrivals that cancel are no input.
        for (unsigned int left = summed & ~kicked; left; left &= left - 1) {
            const unsigned int i = __ffs(left) - 1;
            if (sums[i * ROW] == 0) pending.inputs &= ~(1u << i);
        }
        pending.wait_until(signed_gap(neuron.anchor, start));
        const unsigned int before = neuron.anchor;
        const bool simple = m.n_sources == 1;
        unsigned int fired = 0;
        for (int i = pending.next(); i < (int)w.steps; i = pending.next()) {
            ++n_evaluated;
            const int sum = summed >> i & 1 ? sums[i * ROW] : 0;
            State<T> adds = {T(0), c.w_syn * (T)sum};
            if (kicked >> i & 1) adds.u = simple ? (T)a.sources[0].weight : drive.template sum<T>(w.step + i, lane);
            fired |= (unsigned int)process_event(neuron, pending, i, start, c, &smem.cached, adds) << i;
        }
        if (pending.non_finite) record_non_finite(a.counters, w, __ffs(pending.non_finite) - 1, lane);
        if (neuron.anchor != before) store(lane, neuron, a.states, a.anchors);
        if (fired) a.rates[lane] = average(m, a.fade, a.rates[lane], start, fired);
        a.checks[lane] = start + pending.next_check;
        wake_by(&a.wakes[lane >> 5], start, pending.next_check);
        if (kicked) a.kick_bits[lane] = 0;
        for (unsigned int left = summed; left; left &= left - 1) sums[(__ffs(left) - 1) * ROW] = 0;
        if (summed) a.summed[lane] = 0;
        return fired;
    }

    // Steps all listed neurons and appends their spikes to the segment of the window, which begins at `now`.
    __device__ void step_all(const Window& w, const Constants<T>& c, const Segment& now, Segment* segment) {
        const unsigned int n = *n_reached;
        unsigned int n_evaluated = 0;
        unsigned long long hash = 0;
        for (unsigned int first = warp * 32; first < n; first += n_warps * 32) {
            const unsigned int i = first + at;
            unsigned int fired = 0, lane = 0;
            if (i < n) {
                lane = a.reached[i];
                fired = step(w, lane, c, n_evaluated);
                for (unsigned int left = fired; left; left &= left - 1)
                    hash += spike_hash((unsigned int)w.step + __ffs(left) - 1, lane);
            }
            __syncwarp();
            append_spikes(a.m.layout, w, now, segment, fired, lane, a.rows, a.spikes, a.chunks);
        }
        unsigned int* counters = a.counters + w.slot * COUNTERS;
        hash = warp_sum(hash);
        if (a.m.counts_active) n_evaluated = warp_sum(n_evaluated);
        if (at) return;
        add_hash(counters, hash);
        if (a.m.counts_active && n_evaluated) atomicAdd(&counters[COPIES * MAX_WINDOW_STEPS], n_evaluated);
    }
};

template <typename T>
__device__ inline void step_reached(const ReachedArgs& a, bool is_exact, const void* propagators, const Window* windows,
                                    unsigned int n_windows, Segment* segments, unsigned int* barrier) {
    __shared__ ReachedState<T> smem;
    ReachedNeurons<T> neurons(smem, a);
    const Constants<T> c(a.m, propagators);
    const unsigned int me = threadIdx.x;
    smem.cached.fill(propagators);
    if (me == 0) smem.n_driven = 0;
    if (blockIdx.x == 0 && me < n_windows) a.n_reached[me] = 0;
    __syncthreads();
    neurons.list_driven();
    network_barrier(barrier);
    for (unsigned int index = 0; index < n_windows; ++index) {
        const Window w = windows[index];
        const PrevSegment prev(a.m.layout, w, segments, nullptr, 0);
        Segment now = {0, 0, prev.last.spike_start + prev.last.n_spikes, prev.last.chunk_start + prev.last.n_chunks, 0, 0};
        const Admission admission = admit_window(a.m.layout, w, prev, &segments[w.segment], blockIdx.x == 0);
        if (!admission.halted) { // otherwise all later windows are halted, too
            neurons.n_reached = &a.n_reached[index];
            neurons.draw(w);
            neurons.deliver(w, prev, is_exact);
            neurons.wake(w);
        }
        network_barrier(barrier);
        if (admission.halted) continue;
        neurons.step_all(w, c, now, &segments[w.segment]);
        network_barrier(barrier);
    }
}

}  // namespace spiking
