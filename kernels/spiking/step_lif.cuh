// Steps all LIF neurons through a window.
//
// Measured on an H200, synthetic fly, double precision, delay of 18 steps; microseconds per launch including its two
// events (3.5 us), quiet (sugar21) / busy (broad10: 345,000 synaptic events per window):
//   14.4 / 35.4 every neuron in every step of the window in lockstep, arrivals four steps ahead
//   10.9 / 33.4 one warp per 32 neurons, each neuron steps from event to event; the warp waits for the longest list
//   12.2 / 42.3 rounds per block, neurons with events left are compacted after each: 2.8 times less work, but 14
//               barriers, each behind the slowest neuron; dropped
//   12.9 / 35.4 neurons sorted by number of events, no rounds; 85 registers: two waves of blocks
//    9.9 / 24.5 the same with two neurons per thread: one wave
//    9.3 / 23.3 no calls for neurons with recent anchors, threshold bound in single precision
//    9.7 / 20.9 arrivals of the window staged in shared memory as 16 bits. Kept
// With Poisson kicks drawn and events counted in the same launch, gustatory408 / broad10:
//   18.0 / 26.5 83 registers: 264 of 279 blocks resident
//   15.2 / 20.9 three blocks per multiprocessor, 70 registers without spills. Kept
// Profile (busy): one third is loads (L2 hit rate 78 %), one half is the dependent chain of the neuron with most
// events.
#pragma once
#include "spiking/kicks.cuh"

namespace spiking {

// The spikes of a neuron in a window and the chunks of its row, with inclusive prefix sums over the warp.
struct SpikeBatch {
    unsigned int fired, lane, from, len, n_spikes, n_chunks, spikes_to, chunks_to;

    __device__ SpikeBatch(unsigned int fired, unsigned int lane, const unsigned int* rows)
        : fired(fired), lane(lane), from(fired ? rows[lane] : 0), len(fired ? rows[lane + 1] - from : 0),
          n_spikes(__popc(fired)), n_chunks(n_spikes * ((len + 127) >> 7)), spikes_to(n_spikes), chunks_to(n_chunks) {
        for (unsigned int d = 1; d < 32; d *= 2) {
            const unsigned int a = __shfl_up_sync(FULL_MASK, spikes_to, d), b = __shfl_up_sync(FULL_MASK, chunks_to, d);
            if ((threadIdx.x & 31) >= d) {
                spikes_to += a;
                chunks_to += b;
            }
        }
    }

    // n_spikes and n_chunks of a segment are adjacent: one atomic advances both.
    __device__ static unsigned long long claim(Segment* segment, unsigned long long both) {
        return atomicAdd(reinterpret_cast<unsigned long long*>(&segment->n_spikes), both);
    }
    __device__ unsigned long long both() const { return spikes_to | (unsigned long long)chunks_to << 32; }

    // Writes to the ring buffers; the warp's range starts at `spike` and `chunk`.
    __device__ void write(const RingLayout& l, const Window& w, unsigned int spike, unsigned int chunk, unsigned int* spikes,
                          Chunk* chunks) const {
        spike += spikes_to - n_spikes;
        chunk += chunks_to - n_chunks;
        for (unsigned int left = fired; left; left &= left - 1) {
            const unsigned int i = __ffs(left) - 1;
            spikes[spike++ & l.spike_mask] = i << LANE_BITS | lane;
            const unsigned int step = ((unsigned int)w.step + i) << 7;
            for (unsigned int at = 0; at < len; at += CHUNK) {
                const unsigned int size = len - at < CHUNK ? len - at : CHUNK;
                chunks[chunk++ & l.chunk_mask] = {from + at, step | (size - 1)};
            }
        }
    }
};

// Appends the spikes of a warp and the chunks of their rows.
__device__ inline void append_spikes(const RingLayout& l, const Window& w, const Segment& now, Segment* segment, unsigned int fired,
                              unsigned int lane, const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
    if (!__any_sync(FULL_MASK, fired)) return;
    const SpikeBatch batch(fired, lane, rows);
    unsigned long long base = 0;
    if ((threadIdx.x & 31) == 31) base = SpikeBatch::claim(segment, batch.both());
    base = __shfl_sync(FULL_MASK, base, 31);
    batch.write(l, w, now.spike_start + (unsigned int)base, now.chunk_start + (unsigned int)(base >> 32), spikes, chunks);
}

// Shared memory of a block: its neurons, and the order in which threads process them.
template <typename T> struct BlockState {
    PropagatorCache<T> cached;
    State<T> state[NEURONS_PER_BLOCK];
    unsigned int anchor[NEURONS_PER_BLOCK], kicked[NEURONS_PER_BLOCK], summed[NEURONS_PER_BLOCK];
    int check[NEURONS_PER_BLOCK]; // relative to the start of the window
    unsigned short order[NEURONS_PER_BLOCK];
    unsigned char marks[NEURONS_PER_BLOCK];
    unsigned int count[MAX_WINDOW_STEPS + 1];
    int wait[NEURONS_PER_BLOCK / 32];
    short sums[STAGED_STEPS][NEURONS_PER_BLOCK]; // TOO_LARGE if the sum does not fit: then it is read from global memory

    __device__ int peek(unsigned int i, unsigned int member) const { return sums[i][member]; }
    __device__ static int exact_sum(int sum, unsigned int i, const int* table) {
        return sum == TOO_LARGE ? table[i * ROW] : sum;
    }
};

__device__ inline short staged(int sum) { return (short)(sum > TOO_LARGE && sum < -TOO_LARGE ? sum : TOO_LARGE); }

// The events of a neuron in a window, in order: `process_event` specialised for recent anchors, no current and one
// kick source. Its time is the dependent chain from one event to the next. To avoid warp divergence, input or check,
// spike or no spike are selected between results instead of branched, and the arrivals of the next input are loaded
// during this one.
template <typename T, typename C>
__device__ inline unsigned int step_sparse(Neuron<T>& neuron, PendingEvents& pending, int steps, unsigned int start,
                                     const Constants<T>& c, const C& smem, unsigned int member, const int* sums,
                                     unsigned int summed, unsigned int kicked, T weight,
                                     unsigned int& n_evaluated) {
    T u = neuron.u, g = neuron.g;
    const int refractory_steps = neuron.marks & DRIVEN ? 1 : (int)c.refractory;
    int anchor = signed_gap(neuron.anchor, start), next_check = pending.next_check, input = pending.next_input();
    unsigned int inputs = pending.inputs, fired = 0;
    int sum = input < steps && summed >> input & 1 ? smem.peek(input, member) : 0;
    for (int i = min(input, next_check); i < steps; i = min(input, next_check)) {
        ++n_evaluated;
        const Propagator<T> p = smem.cached[i + 1 - anchor];
        const bool is_input = i == input;
        if (is_input) sum = smem.exact_sum(sum, i, sums);
        // Arrivals may cancel; an unnecessary check changes nothing.
        const bool has_input = is_input && (sum != 0 || kicked >> i & 1);
        const T kick = kicked >> i & 1 ? weight : T(0), arrived = c.w_syn * (T)sum;
        const T u_i = p.a * u + p.b * g, g_i = p.d * g;
        const bool fires = u_i > c.theta;
        anchor = fires ? i + refractory_steps : has_input ? i + 1 : anchor;
        const int now = fires ? anchor - 1 : i;
        inputs = is_input ? inputs & (inputs - 1) : inputs;
        inputs = !fires ? inputs : anchor < 32 ? inputs & (FULL_MASK << anchor) : 0;
        input = inputs ? __ffs(inputs) - 1 : 32;
        const bool sums_come = input < steps && summed >> (input & 31) & 1;
        sum = is_input || fires ? sums_come ? smem.peek(input, member) : 0 : sum;
        const T from_u = fires ? c.u_reset : has_input ? u_i + kick : u_i;
        const T from_g = fires ? T(0) : has_input ? g_i + arrived : g_i;
        u = fires || has_input ? from_u : u;
        g = fires || has_input ? from_g : g;
        fired |= (unsigned int)fires << i;
        // An input in the next step causes a check anyway.
        next_check = input == now + 1 ? input : now + steps_to_threshold(from_u, from_g, T(0), c);
    }
    neuron.u = u;
    neuron.g = g;
    neuron.anchor = start + anchor;
    pending.inputs = inputs;
    pending.next_check = next_check;
    return fired;
}

// Loads the state of two adjacent neurons into shared memory and returns their numbers of events.
template <typename T>
__device__ inline uint2 count_events(BlockState<T>& smem, unsigned int member, unsigned int lane, const Model& m, const Window& w,
                               bool arrived, bool kicks, const void* states, const unsigned int* anchors,
                               const unsigned int* marks, const unsigned int* checks, const unsigned int* kick_bits,
                               const int* arrivals, int& wait) {
    unsigned int summed[2] = {0, 0};
    if (arrived) {
        const int* sums = arrivals + column(m.layout, lane);
#pragma unroll 9
        for (unsigned int i = 0; i < w.steps; ++i) {
            const int2 pair = *reinterpret_cast<const int2*>(&sums[i * ROW]);
            summed[0] |= (unsigned int)(pair.x != 0) << i;
            summed[1] |= (unsigned int)(pair.y != 0) << i;
            if (i < STAGED_STEPS) *reinterpret_cast<short2*>(&smem.sums[i][member]) = make_short2(staged(pair.x), staged(pair.y));
        }
    }
    const uint2 anchor = *reinterpret_cast<const uint2*>(&anchors[lane]);
    const uint2 mark = *reinterpret_cast<const uint2*>(&marks[lane]);
    const uint2 check = *reinterpret_cast<const uint2*>(&checks[lane]);
    const uint2 kicked = kicks ? *reinterpret_cast<const uint2*>(&kick_bits[lane]) : make_uint2(0, 0);
    const State<T>* state = static_cast<const State<T>*>(states) + lane;
    smem.state[member] = state[0];
    smem.state[member + 1] = state[1];
    unsigned int due[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const unsigned int kick = h ? kicked.y : kicked.x;
        const int gap = signed_gap(h ? check.y : check.x, (unsigned int)w.step);
        smem.anchor[member + h] = h ? anchor.y : anchor.x;
        smem.marks[member + h] = (unsigned char)(h ? mark.y : mark.x);
        smem.check[member + h] = gap;
        smem.kicked[member + h] = kick;
        smem.summed[member + h] = summed[h];
        const unsigned int is_dense = __popc(kick | summed[h]) + (gap < (int)w.steps);
        due[h] = lane + h < m.n ? min(is_dense, MAX_WINDOW_STEPS) : 0;
        if (!due[h] && lane + h < m.n) wait = min(wait, gap);
    }
    return make_uint2(due[0], due[1]);
}

// Exclusive prefix sum over counts, largest first. One warp. count[0] becomes the total.
__device__ inline void rank_by_count(unsigned int* count) {
    const unsigned int me = threadIdx.x, own = count[MAX_WINDOW_STEPS - me];
    unsigned int sum = own;
    for (unsigned int d = 1; d < 32; d *= 2) {
        const unsigned int above = __shfl_up_sync(FULL_MASK, sum, d);
        if (me >= d) sum += above;
    }
    count[MAX_WINDOW_STEPS - me] = sum - own;
    if (me == 31) count[0] = sum;
}

template <typename T>
__device__ inline void step_lif(const Model& m, const void* propagators, const Window& w, Segment* live,
                               const unsigned int* rows, const KickSource* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains, const Kick* kicks,
                               const unsigned int* marks, const void* currents, void* states, unsigned int* anchors,
                               unsigned int* checks, unsigned int* wakes, unsigned char* touched, int* arrivals,
                               unsigned int* kick_bits, unsigned int* spikes, Chunk* chunks, unsigned int* counters,
                               DeviceRate* rates, const float* fade) {
    __shared__ BlockState<T> smem;
    const unsigned int me = threadIdx.x, first = blockIdx.x * NEURONS_PER_BLOCK, pair = 2 * me;
    // Per-neuron and per-warp arrays are as long as the grid, so these loads need no bounds check.
    const unsigned int warp = (first + pair) >> 5;
    const bool reached = touched[warp], has_trains = trains[warp];
    const unsigned int wake = wakes[warp];
    const Segment now = *live;
    if (now.halted) return;
    const bool dense = now.dense, listed = w.kick_from < w.kick_to;
    const unsigned int start = (unsigned int)w.step, steps = w.steps;
    const bool arrived = dense || reached;
    const bool busy = arrived || has_trains || signed_gap(wake, start + steps) < 0;
    if (!__syncthreads_or(busy)) return;
    const Constants<T> c(m, propagators);
    if (dense) smem.cached.fill(propagators); // many neurons are evaluated: propagators from shared memory
    if (me <= MAX_WINDOW_STEPS) smem.count[me] = 0;
    __syncthreads();

    // Neurons are sorted by number of events, so that the lanes of a warp have equal work.
    int wait = busy ? NEVER : signed_gap(wake, start);
    uint2 due = make_uint2(0, 0), place;
    if (busy) {
        due = count_events(smem, pair, first + pair, m, w, arrived, has_trains || listed, states, anchors, marks, checks,
                     kick_bits, arrivals, wait);
        if (due.x) place.x = atomicAdd(&smem.count[due.x], 1);
        if (due.y) place.y = atomicAdd(&smem.count[due.y], 1);
    }
    for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(FULL_MASK, wait, d));
    if ((me & 15) == 0) smem.wait[me >> 4] = wait;
    __syncthreads();
    if (me < 32) rank_by_count(smem.count);
    __syncthreads();
    if (due.x) smem.order[smem.count[due.x] + place.x] = (unsigned short)pair;
    if (due.y) smem.order[smem.count[due.y] + place.y] = (unsigned short)(pair + 1);
    __syncthreads();

    const unsigned int n_all = smem.count[0];
    const KickInputs drive = {m, sources, chances, masks, kicks, w.kick_from, w.kick_to};
    const bool simple = m.n_sources == 1 && !listed && !m.may_overflow;
    const T weight = simple ? (T)sources[0].weight : T(0);
    unsigned int n_evaluated = 0;
    for (unsigned int at = me; (at & ~31u) < n_all; at += BLOCK) {
        unsigned int fired = 0, lane = 0;
        if (at < n_all) {
            const unsigned int member = smem.order[at], kicked = smem.kicked[member], summed = smem.summed[member];
            lane = first + member;
            const State<T> s = smem.state[member];
            Neuron<T> neuron = {s.u, s.g, T(0), smem.anchor[member], smem.marks[member]};
            if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
            PendingEvents pending = {kicked | summed, max(smem.check[member], 0)};
            pending.wait_until(signed_gap(neuron.anchor, start));
            const unsigned int before = neuron.anchor;
            int* sums = arrivals + column(m.layout, lane);
            const bool plain = dense && simple && steps <= STAGED_STEPS && !(neuron.marks & (CLOSED | CURRENT)) &&
                               signed_gap(start + steps, neuron.anchor) < (int)CACHED_STEPS;
            if (plain) {
                fired = step_sparse(neuron, pending, steps, start, c, smem, member, sums, summed, kicked, weight, n_evaluated);
                pending.non_finite = !is_finite_state(neuron.u, neuron.g); // also not finite before: inputs are bounded here
            }
            for (int i = pending.next(); i < (int)steps; i = pending.next()) {
                ++n_evaluated;
                const int sum = summed >> i & 1 ? sums[i * ROW] : 0;
                State<T> adds = {T(0), c.w_syn * (T)sum};
                if (kicked >> i & 1) adds.u = simple ? weight : drive.template sum<T>(w.step + i, lane);
                fired |= (unsigned int)process_event(neuron, pending, i, start, c, dense ? &smem.cached : nullptr, adds) << i;
            }
            if (pending.non_finite) record_non_finite(counters, w, __ffs(pending.non_finite) - 1, lane);
            if (neuron.anchor != before) store(lane, neuron, states, anchors);
            if (fired) rates[lane] = average(m, fade, rates[lane], start, fired);
            checks[lane] = start + pending.next_check;
            atomicMin(&smem.wait[member >> 5], pending.next_check);
            if (kicked) kick_bits[lane] = 0;
            for (unsigned int left = summed; left; left &= left - 1) sums[(__ffs(left) - 1) * ROW] = 0;
        }
        __syncwarp();
        append_spikes(m.layout, w, now, live, fired, lane, rows, spikes, chunks);
    }
    __syncthreads();
    if (me < NEURONS_PER_BLOCK / 32) {
        wakes[(first >> 5) + me] = start + smem.wait[me];
        if (!dense) touched[(first >> 5) + me] = 0;
    }
    if (m.counts_active) {
        n_evaluated = warp_sum(n_evaluated);
        if ((me & 31) == 0 && n_evaluated) atomicAdd(&counters[w.slot * COUNTERS + COPIES * MAX_WINDOW_STEPS], n_evaluated);
    }
}

}  // namespace spiking
