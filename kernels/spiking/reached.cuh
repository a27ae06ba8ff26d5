// Many windows of a network in few blocks: only neurons that receive input, or that may cross the threshold, are loaded and
// stepped. For networks of which few neurons are reached in a window: many of them, the trials of an experiment, run side by
// side on parts of the device.
//
// A window has two parts, each followed by a barrier of the network's blocks. First its spikes are delivered and its kicks are
// drawn; a neuron is listed by the thread that sets the first bit of its steps with input. Then the listed neurons are stepped.
//
// Supported: any stimuli but listed kicks, changed weights, no traced neurons. The contents of memory between windows are
// those that the other modes leave, so that each mode can continue from the others.
//
// Measured on an H200, synthetic fly, double precision, total simulated seconds per second of 1 / 8 / 16 / 32 trials with
// 21 driven neurons; 16 / 32 with 408. `step_lif_persistent`, one trial after another: 242; 158.
//   - / 504 /  469 /  473; 50 / 39  one block of 512 threads, five barriers of the block per window; streams share eight
//                                   hardware queues
//   - / 509 /  928 / 1393; 57 / 83  the same with 32 queues
//   - /   - / 1363 /    -;   - /   -  an equal part of the multiprocessors for each trial, two barriers of its blocks per
//                                   window, state of reached neurons fetched ahead
//   - /   - / 1837 / 1825; 279 / 245  neurons are listed by their steps with input instead of tags, four warps share a chunk,
//                                   reached neurons are spread over all warps, events of 64 steps are drawn once, model
//                                   and plan are in shared memory, up to 256 windows per launch instead of 64. Kept
//   - /   - / 2098 / 2069; 329 / 315  sums of a neuron are staged in shared memory and stepped by `step_sparse`, a warp reads
//                                   the checks of four waking groups at a time, the next chunk is read while one is
//                                   delivered; 32 busy trials take 12 blocks each. In the same run the form before had
//                                   2116 / -; 282 / -, and one trial with 408 driven neurons 163. Kept
//   - /   - / 1950 / 1929; 276 / 268  one copy of the connections, windows of 16 steps in place of 18, which save 1.1 of
//                                   20.5 MB per trial. Kept
//   - /   - / 1981 / 1946; 290 / 248  sums by neuron in place of by step, 16 bytes per load; events of the host used again. Kept.
//                                   In the same run the sums by step had 255 / 234, and one trial with 408 driven neurons 148
// A window of the fourth form took 31,600 cycles: plan 2,250, delivery 7,600, wait 5,060, neurons 11,600, wait 3,970. With
// model and plan in shared memory and one list per chunk: 29,200. The same in clusters of eight blocks with their hardware
// barrier: 24,400, but 1,244 simulated seconds per second against 1,334 in total; dropped.
// With 408 driven neurons (10,500 reached by 35,000 events, 16 trials of eight blocks) the fourth form took 126,000 cycles:
// delivery and waking groups 66,000, neurons 48,000; the fifth 42,000 and 43,000. The arrivals of 16 trials exceed the L2
// cache, so that by a count of their sectors about 130 MB per window pass between it and memory, 2.4 TB/s. Tried at that
// load: neurons sorted by their number of events, neurons 58,000 cycles; 33 blocks and four trials at a time, 241; 66
// blocks, 85; 16 blocks, 315; four blocks, 260; no prefetch of listed neurons, and marks, kicks and checks read only of neurons
// that have them (7 of 27 scattered accesses per neuron less): 291 in place of 283, within the variation. 2, 4, 8 and 12 trials
// in 16 blocks each: 104, 183, 267, 254.
#pragma once
#include "spiking/reached_state.cuh"

namespace spiking {

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

    // Groups with trains of this block: every gridDim-th group.
    __device__ unsigned int* driven() const { return a.reached + a.m.stride + blockIdx.x * groups_per_block(); }
    __device__ unsigned int groups_per_block() const { return (a.m.n_warps + gridDim.x - 1) / gridDim.x; }

    // Lists the groups of 32 neurons with Poisson trains; they are the same in all windows of a launch.
    __device__ void list_driven() {
        if (!a.m.n_sources) return;
        for (unsigned int first = threadIdx.x & ~31u; first < groups_per_block(); first += blockDim.x) {
            const unsigned int group = (first + at) * gridDim.x + blockIdx.x;
            append(driven(), &smem.n_driven, group, group < a.m.n_warps && a.trains[group]);
        }
    }

    // Marks steps of up to N neurons per lane, and lists those that had none. Called by all lanes.
    template <int N> __device__ void list(const unsigned int (&lanes)[N], const unsigned int (&steps)[N]) {
        unsigned int news[N], n = 0, base = 0;
        bool is_new[N];
#pragma unroll
        for (int j = 0; j < N; ++j) is_new[j] = steps[j] && !atomicOr(&a.summed[lanes[j]], steps[j]);
#pragma unroll
        for (int j = 0; j < N; ++j) n += __popc(news[j] = __ballot_sync(FULL_MASK, is_new[j]));
        if (!n) return;
        if (at == 0) base = atomicAdd(n_reached, n);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (!is_new[j]) continue;
            prefetch(&static_cast<const State<T>*>(a.states)[lanes[j]]);
            prefetch(&a.anchors[lanes[j]]);
            prefetch(&a.checks[lanes[j]]);
            prefetch(&a.marks[lanes[j]]);
        }
        base = __shfl_sync(FULL_MASK, base, 0);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            if (is_new[j]) a.reached[base + __popc(news[j] & ((1u << at) - 1))] = lanes[j];
            base += __popc(news[j]);
        }
    }

    // The Poisson events of a window from a single source, as `draw_window`. Those of 64 steps are drawn once.
    __device__ unsigned int draw_kept(const Window& w, unsigned int i, unsigned int lane) {
        const unsigned int skip = (unsigned int)w.step & 63, address = a.sources[0].address;
        const bool is_driven = lane < a.m.n && a.masks[lane >> 5] >> at & 1;
        unsigned long long block = w.step >> 6, bits = 0, *kept = &smem.train[i][at];
        if (is_driven) {
            if (smem.train_block[i] != block) *kept = events_of_block(a.m.seed, address, a.chances, block, lane);
            bits = *kept >> skip;
        }
        if (skip + w.steps > TRAIN_STEPS) {
            ++block;
            if (is_driven) {
                *kept = events_of_block(a.m.seed, address, a.chances, block, lane);
                bits |= *kept << (TRAIN_STEPS - skip);
            }
        }
        __syncwarp();
        if (at == 0) smem.train_block[i] = block;
        __syncwarp();
        return w.steps < 32 ? (unsigned int)bits & ((1u << w.steps) - 1) : (unsigned int)bits;
    }

    // Draws the kicks of the window. The last warps begin, because the first deliver spikes.
    __device__ void draw(const Window& w) {
        const unsigned int n = blockDim.x >> 5;
        for (unsigned int i = n - 1 - (threadIdx.x >> 5); i < smem.n_driven; i += n) {
            const unsigned int lane = driven()[i] * 32 + at;
            unsigned int bits = 0;
            if (a.m.n_sources == 1 && i < KEPT_TRAINS) bits = draw_kept(w, i, lane);
            else if (lane < a.m.n) bits = drive.draw_window(w.step, w.steps, lane);
            if (lane < a.m.n) a.kick_bits[lane] = bits;
            list<1>({lane}, {bits});
        }
    }

    // The neuron with the row that holds a word, as `row_of`: 32 places are compared at a time. Called by all lanes.
    __device__ unsigned int find_row(unsigned int word) const {
        unsigned int from = 0, n = a.m.n; // rows[from] <= word, and the row is one of n
        while (n > 1) {
            const unsigned int pitch = (n + 31) / 32, mine = at * pitch;
            const unsigned int starts = __ballot_sync(FULL_MASK, mine < n && a.rows[from + mine] <= word);
            const unsigned int last = (31 - __clz(starts)) * pitch;
            from += last;
            n = min(pitch, n - last);
        }
        return from;
    }

    // Reads up to 32 N connections of a chunk.
    template <int N> __device__ void read(unsigned int (&words)[N], unsigned int word, unsigned int len) const {
#pragma unroll
        for (int j = 0; j < N; ++j) words[j] = at + 32 * j < len ? __ldcs(&a.words[word + at + 32 * j]) : 0;
    }

    // Delivers up to 32 N synapses of a chunk, which begin at `word`, in one step of the window.
    template <int N>
    __device__ void deliver(const Window& w, const unsigned int (&words)[N], unsigned int word, unsigned int len, unsigned int step, bool is_exact) {
        const Packing p(a.m.layout);
        WeightGain gain = {1.0, 0, 0, 0, 0};
        if (a.m.has_gains) gain = a.gains[a.gain_of[find_row(word)]];
        if (gain.silent) return;
        if (at == 0) atomicAdd(&a.counters[w.slot * COUNTERS + blockIdx.x % COPIES * MAX_WINDOW_STEPS + step], len);
        unsigned int targets[N], steps[N];
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const unsigned int k = at + 32 * j;
            int count = p.count(words[j]);
            if (is_exact && k < len) count = exact_count(a.m, words[j], word + k, a.overflow, gain);
            targets[j] = p.target(words[j]);
            steps[j] = k < len && count ? 1u << step : 0;
            if (steps[j]) atomicAdd(&a.arrivals[targets[j] * a.m.layout.window + step], count);
        }
        list(targets, steps);
    }

    // Delivers the spikes that arrive in the window, a warp per chunk. The connections of the next chunk are read meanwhile.
    __device__ void deliver_by_warps(const Window& w, const PrevSegment& prev, bool is_exact) {
        const WarpSlice slice(blockIdx.x, gridDim.x);
        for (unsigned int s = w.first; s != w.last + 1; ++s) {
            const Segment from = prev[s];
            const auto chunk_at = [&](unsigned int c) {
                return c < from.n_chunks ? a.chunks[(from.chunk_start + c) & a.m.layout.chunk_mask] : Chunk{0, 0};
            };
            // Connections of a chunk in this window.
            const auto length = [&](unsigned int c, const Chunk& chunk) {
                return c < from.n_chunks && step_of(w, chunk) < w.steps ? length_of(chunk) : 0;
            };
            Chunk chunk = chunk_at(slice.warp), next = chunk_at(slice.warp + slice.n_warps);
            unsigned int words[4];
            read(words, chunk.word, length(slice.warp, chunk));
            for (unsigned int c = slice.warp; c < from.n_chunks; c += slice.n_warps) {
                const Chunk after = chunk_at(c + 2 * slice.n_warps);
                unsigned int next_words[4];
                read(next_words, next.word, length(c + slice.n_warps, next));
                const unsigned int len = length(c, chunk);
                if (len) deliver(w, words, chunk.word, len, step_of(w, chunk), is_exact);
#pragma unroll
                for (int j = 0; j < 4; ++j) words[j] = next_words[j];
                chunk = next;
                next = after;
            }
        }
    }

    // Delivers the spikes that arrive in the window: a warp per chunk, or four if there are enough warps.
    __device__ void deliver_all(const Window& w, const PrevSegment& prev, bool is_exact) {
        WarpSlice slice(blockIdx.x, gridDim.x);
        if (4 * prev.last.n_chunks > slice.n_warps) return deliver_by_warps(w, prev, is_exact);
        const unsigned int from = slice.warp % 4 * 32;
        slice.warp /= 4;
        slice.n_warps /= 4;
        if (slice.warp >= slice.n_warps) return;
        for_each_chunk(a.m.layout, w, slice, false, prev, a.chunks, [&](unsigned int word, unsigned int len, unsigned int step) {
            if (from >= len) return;
            unsigned int words[1];
            read(words, word + from, min(len - from, 32u));
            deliver(w, words, word + from, min(len - from, 32u), step, is_exact);
        });
    }

    // Lists the neurons that may cross the threshold in the window.
    __device__ void wake(const Window& w) {
        const unsigned int start = (unsigned int)w.step;
        const int steps = (int)w.steps;
        const unsigned int span = min((a.m.n_warps + n_warps - 1) / n_warps, 32u); // groups per warp
        for (unsigned int first = warp * span; first < a.m.n_warps; first += n_warps * span) {
            const unsigned int mine = first + at;
            const bool wakes = at < span && mine < a.m.n_warps && signed_gap(a.wakes[mine], start) < steps;
            for (unsigned int left = __ballot_sync(FULL_MASK, wakes); left;) {
                unsigned int groups[WAKES_IN_FLIGHT], lanes[WAKES_IN_FLIGHT], due[WAKES_IN_FLIGHT];
                int gaps[WAKES_IN_FLIGHT];
#pragma unroll
                for (int j = 0; j < WAKES_IN_FLIGHT; ++j, left &= left - 1) {
                    groups[j] = left ? first + __ffs(left) - 1 : a.m.n_warps;
                    lanes[j] = groups[j] * 32 + at;
                    gaps[j] = lanes[j] < a.m.n ? signed_gap(a.checks[lanes[j]], start) : NEVER;
                }
#pragma unroll
                for (int j = 0; j < WAKES_IN_FLIGHT; ++j) due[j] = gaps[j] < steps ? 1u << max(gaps[j], 0) : 0;
                list(lanes, due);
#pragma unroll
                for (int j = 0; j < WAKES_IN_FLIGHT; ++j) {
                    const int rest = warp_min(due[j] ? NEVER : gaps[j]);
                    if (at == 0 && groups[j] < a.m.n_warps) a.wakes[groups[j]] = start + min(rest, NEVER);
                }
            }
        }
    }

    // Copies the sums of some steps of a neuron to shared memory, as 16 bits.
    __device__ void stage_sums(const int* sums, unsigned int steps) {
        short* mine = &smem.sums[0][threadIdx.x];
        const auto stage = [&](unsigned int i, int sum) { mine[i * REACHED_BLOCK] = staged(sum); };
        if (a.m.layout.window % 4) {
            for (; steps; steps &= steps - 1) stage(__ffs(steps) - 1, sums[__ffs(steps) - 1]);
            return;
        }
        constexpr int FOURS = 4; // loads at a time
        for (; steps; mine += 4 * FOURS * REACHED_BLOCK, sums += 4 * FOURS, steps = steps >> 4 * FOURS) {
            int4 found[FOURS];
#pragma unroll
            for (int q = 0; q < FOURS; ++q)
                if (steps >> 4 * q & 15) found[q] = reinterpret_cast<const int4*>(sums)[q];
#pragma unroll
            for (int q = 0; q < FOURS; ++q) {
                if (!(steps >> 4 * q & 15)) continue;
                stage(4 * q, found[q].x);
                stage(4 * q + 1, found[q].y);
                stage(4 * q + 2, found[q].z);
                stage(4 * q + 3, found[q].w);
            }
        }
    }

    // Clears the sums of some steps of a neuron.
    __device__ void clear_sums(int* sums, unsigned int steps) const {
        if (a.m.layout.window % 4) {
            for (; steps; steps &= steps - 1) sums[__ffs(steps) - 1] = 0;
            return;
        }
#pragma unroll
        for (unsigned int i = 0; i < MAX_WINDOW_STEPS; i += 4)
            if (steps >> i & 15) *reinterpret_cast<int4*>(&sums[i]) = make_int4(0, 0, 0, 0);
    }

    // Steps a neuron that has no constant current and takes input, of a network with at most one source of kicks. Its sums are
    // those of the steps in `summed`.
    __device__ unsigned int step_plain(Neuron<T>& neuron, PendingEvents& pending, const Window& w, const Constants<T>& c, const int* sums,
                                       unsigned int summed, unsigned int kicked, unsigned int& n_evaluated) {
        stage_sums(sums, summed & pending.inputs);
        const StagedNeuron<T> read = {{smem.cached, c.propagators}, &smem.sums[0][threadIdx.x]};
        const T weight = kicked ? (T)a.sources[0].weight : T(0);
        const unsigned int fired = step_sparse(neuron, pending, (int)w.steps, (unsigned int)w.step, c, read, 0, sums, summed, kicked, weight, n_evaluated);
        pending.non_finite = !is_finite_state(neuron.u, neuron.g); // also not finite before: inputs are bounded here
        return fired;
    }

    // Steps one neuron through the window, as `step_lif` does. Returns one bit per step with a spike.
    __device__ unsigned int step(const Window& w, unsigned int lane, const Constants<T>& c, unsigned int& n_evaluated) {
        const Model& m = a.m;
        const unsigned int start = (unsigned int)w.step, summed = a.summed[lane];
        const unsigned int kicked = m.n_sources && a.trains[lane >> 5] ? a.kick_bits[lane] : 0;
        Neuron<T> neuron = load<T>(lane, a.states, a.anchors, a.marks, a.currents);
        PendingEvents pending = {kicked | summed, max(signed_gap(a.checks[lane], start), 0)};
        int* sums = a.arrivals + lane * m.layout.window;
        pending.wait_until(signed_gap(neuron.anchor, start));
        const unsigned int before = neuron.anchor;
        const bool plain = m.n_sources < 2 && !m.may_overflow && w.steps <= STAGED_STEPS && !(neuron.marks & (CLOSED | CURRENT)) &&
                           signed_gap(start + w.steps, neuron.anchor) <= (int)TABLE;
        unsigned int fired = plain ? step_plain(neuron, pending, w, c, sums, summed, kicked, n_evaluated) : 0;
        for (int i = pending.next(); i < (int)w.steps; i = pending.next()) {
            ++n_evaluated;
            const int sum = summed >> i & 1 ? sums[i] : 0;
            // Checks and arrivals that cancel are no input.
            if (!sum && !(kicked >> i & 1)) pending.inputs &= ~(1u << i);
            State<T> adds = {T(0), c.w_syn * (T)sum};
            if (kicked >> i & 1) adds.u = m.n_sources == 1 ? (T)a.sources[0].weight : drive.template sum<T>(w.step + i, lane);
            fired |= (unsigned int)process_event(neuron, pending, i, start, c, &smem.cached, adds) << i;
        }
        if (pending.non_finite) record_non_finite(a.counters, w, __ffs(pending.non_finite) - 1, lane);
        if (neuron.anchor != before) store(lane, neuron, a.states, a.anchors);
        if (fired) a.rates[lane] = average(m, a.fade, a.rates[lane], start, fired);
        a.checks[lane] = start + pending.next_check;
        wake_by(&a.wakes[lane >> 5], start, pending.next_check);
        if (kicked) a.kick_bits[lane] = 0;
        clear_sums(sums, summed);
        if (summed) a.summed[lane] = 0;
        return fired;
    }

    // Begins to fetch the row of a neuron that fired.
    __device__ void fetch_row(unsigned int lane) const {
        const unsigned int end = a.rows[lane + 1];
        for (unsigned int word = a.rows[lane]; word < end; word += 32) prefetch(&a.words[word]);
    }

    // Steps all listed neurons and appends their spikes to the segment of the window, which begins at `now`. They are spread
    // over all warps, which otherwise wait for the neuron with most events among 32.
    __device__ void step_all(const Window& w, const Constants<T>& c, const Segment& now, Segment* segment) {
        const unsigned int n = *n_reached, per_warp = min((n + n_warps - 1) / n_warps, 32u);
        unsigned int n_evaluated = 0;
        unsigned long long hash = 0;
        for (unsigned int first = warp * per_warp; first < n; first += n_warps * per_warp) {
            const unsigned int i = first + at;
            unsigned int fired = 0, lane = 0;
            if (at < per_warp && i < n) {
                lane = a.reached[i];
                fired = step(w, lane, c, n_evaluated);
                for (unsigned int left = fired; left; left &= left - 1)
                    hash += spike_hash((unsigned int)w.step + __ffs(left) - 1, lane);
            }
            __syncwarp();
            append_spikes(a.m.layout, w, now, segment, fired, lane, a.rows, a.spikes, a.chunks);
            if (fired) fetch_row(lane);
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
__device__ inline void step_reached(ReachedState<T>& smem, const ReachedArgs& a, bool is_exact, const void* propagators,
                                    const Window* windows, unsigned int n_windows, Segment* segments, unsigned int* barrier) {
    ReachedNeurons<T> neurons(smem, a);
    const Constants<T> c(a.m, propagators);
    const unsigned int me = threadIdx.x;
    if (blockIdx.x == 0 && me < n_windows) a.n_reached[me] = 0;
    neurons.list_driven();
    network_barrier(barrier);
    for (unsigned int index = 0; index < n_windows; ++index) {
        const Window w = smem.plan[index & 1];
        if (me == blockDim.x - 1 && index + 1 < n_windows) smem.plan[index + 1 & 1] = windows[index + 1];
        const PrevSegment prev(a.m.layout, w, segments, nullptr, 0);
        Segment now = {0, 0, prev.last.spike_start + prev.last.n_spikes, prev.last.chunk_start + prev.last.n_chunks, 0, 0};
        const Admission admission = admit_window(a.m.layout, w, prev, &segments[w.segment], blockIdx.x == 0);
        if (!admission.halted) { // otherwise all later windows are halted, too
            neurons.n_reached = &a.n_reached[index];
            neurons.draw(w);
            neurons.deliver_all(w, prev, is_exact);
            neurons.wake(w);
        }
        network_barrier(barrier);
        if (admission.halted) continue;
        neurons.step_all(w, c, now, &segments[w.segment]);
        network_barrier(barrier);
    }
}

}  // namespace spiking
