// Every neuron through a window.
//
// Tried on an H200, fly stand-in, double precision, delay of 18 steps; microseconds a launch with its two events (3.5
// of them), quiet (sugar21) and busy (broad10: 345,000 synaptic events a window):
//   14.4 / 35.4 every neuron in every step of the window in lockstep, arrivals four steps ahead
//   10.9 / 33.4 a warp owns 32 neurons, each goes from event to event; the warp waits for the one with most
//   12.2 / 42.3 rounds of a block: those with an event left are compacted after each. Work 2.8 times less, but 14
//               barriers, each behind the slowest; dropped
//   12.9 / 35.4 sorted by the number of events first, no rounds; 85 registers: two waves of blocks
//    9.9 / 24.5 the same with two neurons per thread: one wave
//    9.3 / 23.3 a chain without calls for neurons with recent anchors, bound on crossings in single precision
//    9.7 / 20.9 arrivals of the window staged in shared memory as 16 bits. Kept
// With kicks drawn and events counted in the same launch, gustatory408 / broad10:
//   18.0 / 26.5 83 registers: 264 of 279 blocks at once
//   15.2 / 20.9 three blocks per multiprocessor, 70 registers without spills. Kept
// Where the time goes (busy): a third is loading (L2 hit rate 78 %), half is the chain of the neuron with most events.
#pragma once
#include "spiking/drive.cuh"

namespace spiking {

// The spikes of a neuron in a window, and the chunks of its row: how many, and those of its warp up to and with them.
struct Haul {
    unsigned int fired, lane, from, len, n_spikes, n_chunks, spikes_to, chunks_to;

    __device__ Haul(unsigned int fired, unsigned int lane, const unsigned int* rows)
        : fired(fired), lane(lane), from(fired ? rows[lane] : 0), len(fired ? rows[lane + 1] - from : 0),
          n_spikes(__popc(fired)), n_chunks(n_spikes * ((len + 127) >> 7)), spikes_to(n_spikes), chunks_to(n_chunks) {
        for (unsigned int d = 1; d < 32; d *= 2) {
            const unsigned int a = __shfl_up_sync(WHOLE, spikes_to, d), b = __shfl_up_sync(WHOLE, chunks_to, d);
            if ((threadIdx.x & 31) >= d) {
                spikes_to += a;
                chunks_to += b;
            }
        }
    }

    // n_spikes and n_chunks of a segment lie side by side: one atomic moves both.
    __device__ static unsigned long long claim(Segment* segment, unsigned long long both) {
        return atomicAdd(reinterpret_cast<unsigned long long*>(&segment->n_spikes), both);
    }
    __device__ unsigned long long both() const { return spikes_to | (unsigned long long)chunks_to << 32; }

    // To the rings, behind those of the warp that lie from `spike` and `chunk` on.
    __device__ void write(const Layout& l, const Window& w, unsigned int spike, unsigned int chunk, unsigned int* spikes,
                          Chunk* chunks) const {
        spike += spikes_to - n_spikes;
        chunk += chunks_to - n_chunks;
        for (unsigned int left = fired; left; left &= left - 1) {
            const unsigned int i = __ffs(left) - 1;
            spikes[spike++ & l.spike_mask] = i << LANE_BITS | lane;
            const unsigned int step = ((unsigned int)w.step + i) << 7;
            for (unsigned int at = 0; at < len; at += 128) {
                const unsigned int size = len - at < 128 ? len - at : 128;
                chunks[chunk++ & l.chunk_mask] = {from + at, step | (size - 1)};
            }
        }
    }
};

// Appends the spikes of a warp, and the chunks of their rows.
__device__ inline void append(const Layout& l, const Window& w, const Segment& now, Segment* segment, unsigned int fired,
                              unsigned int lane, const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
    if (!__any_sync(WHOLE, fired)) return;
    const Haul haul(fired, lane, rows);
    unsigned long long base = 0;
    if ((threadIdx.x & 31) == 31) base = Haul::claim(segment, haul.both());
    base = __shfl_sync(WHOLE, base, 31);
    haul.write(l, w, now.spike_start + (unsigned int)base, now.chunk_start + (unsigned int)(base >> 32), spikes, chunks);
}

// What a block knows of its neurons, and in which order its threads take them.
template <typename T> struct Crew {
    Near<T> near;
    State<T> state[SPAN];
    unsigned int anchor[SPAN], kicked[SPAN], summed[SPAN];
    int check[SPAN]; // from the start of the window
    unsigned short who[SPAN];
    unsigned char marks[SPAN];
    unsigned int count[LONGEST + 1];
    int wait[SPAN / 32];
    short sums[STAGED][SPAN]; // TOO_LARGE where it does not fit: it is read from the table then

    __device__ int peek(unsigned int i, unsigned int member) const { return sums[i][member]; }
    __device__ static int exact(int sum, unsigned int i, const int* table) {
        return sum == TOO_LARGE ? table[i * ROW] : sum;
    }
};

__device__ inline short staged(int sum) { return (short)(sum > TOO_LARGE && sum < -TOO_LARGE ? sum : TOO_LARGE); }

// What happens to a neuron in a window, one after the other: a chain of `happen`s for the case that matters, a recent
// anchor, no current, one source of kicks. Its time is that of the chain from one event to the next. So neighbours do not
// part ways: whether it is an input or a look, fires or not, is chosen between results, not jumped over; and the arrivals
// of the next input are read while this one is worked out.
template <typename T, typename C>
__device__ inline unsigned int hurry(Neuron<T>& neuron, Agenda& agenda, int steps, unsigned int start,
                                     const Constants<T>& c, const C& crew, unsigned int member, const int* sums,
                                     unsigned int summed, unsigned int kicked, T weight,
                                     unsigned int& looks) {
    T u = neuron.u, g = neuron.g;
    const int pause = neuron.marks & DRIVEN ? 1 : (int)c.refractory;
    int anchor = signed_gap(neuron.anchor, start), look = agenda.look, input = agenda.next_input();
    unsigned int inputs = agenda.inputs, fired = 0;
    int sum = input < steps && summed >> input & 1 ? crew.peek(input, member) : 0;
    for (int i = min(input, look); i < steps; i = min(input, look)) {
        ++looks;
        const Propagator<T> p = crew.near[i + 1 - anchor];
        const bool is_input = i == input;
        if (is_input) sum = crew.exact(sum, i, sums);
        // Arrivals may cancel each other; a look in vain changes nothing.
        const bool comes = is_input && (sum != 0 || kicked >> i & 1);
        const T kick = kicked >> i & 1 ? weight : T(0), arrived = c.w_syn * (T)sum;
        const T u_i = p.a * u + p.b * g, g_i = p.d * g;
        const bool fires = u_i > c.theta;
        anchor = fires ? i + pause : comes ? i + 1 : anchor;
        const int now = fires ? anchor - 1 : i;
        inputs = is_input ? inputs & (inputs - 1) : inputs;
        inputs = !fires ? inputs : anchor < 32 ? inputs & (WHOLE << anchor) : 0;
        input = inputs ? __ffs(inputs) - 1 : 32;
        const bool sums_come = input < steps && summed >> (input & 31) & 1;
        sum = is_input || fires ? sums_come ? crew.peek(input, member) : 0 : sum;
        const T from_u = fires ? c.u_reset : comes ? u_i + kick : u_i;
        const T from_g = fires ? T(0) : comes ? g_i + arrived : g_i;
        u = fires || comes ? from_u : u;
        g = fires || comes ? from_g : g;
        fired |= (unsigned int)fires << i;
        // The next step is looked at anyway when it brings an input.
        look = input == now + 1 ? input : now + steps_to_threshold(from_u, from_g, T(0), c);
    }
    neuron.u = u;
    neuron.g = g;
    neuron.anchor = start + anchor;
    agenda.inputs = inputs;
    agenda.look = look;
    return fired;
}

// Loads what concerns two neighbours, notes it for whoever will take them, and returns how much will happen to each.
template <typename T>
__device__ inline uint2 muster(Crew<T>& crew, unsigned int member, unsigned int lane, const Model& m, const Window& w,
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
            if (i < STAGED) *reinterpret_cast<short2*>(&crew.sums[i][member]) = make_short2(staged(pair.x), staged(pair.y));
        }
    }
    const uint2 anchor = *reinterpret_cast<const uint2*>(&anchors[lane]);
    const uint2 mark = *reinterpret_cast<const uint2*>(&marks[lane]);
    const uint2 check = *reinterpret_cast<const uint2*>(&checks[lane]);
    const uint2 kicked = kicks ? *reinterpret_cast<const uint2*>(&kick_bits[lane]) : make_uint2(0, 0);
    const State<T>* state = static_cast<const State<T>*>(states) + lane;
    crew.state[member] = state[0];
    crew.state[member + 1] = state[1];
    unsigned int due[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const unsigned int kick = h ? kicked.y : kicked.x;
        const int gap = signed_gap(h ? check.y : check.x, (unsigned int)w.step);
        crew.anchor[member + h] = h ? anchor.y : anchor.x;
        crew.marks[member + h] = (unsigned char)(h ? mark.y : mark.x);
        crew.check[member + h] = gap;
        crew.kicked[member + h] = kick;
        crew.summed[member + h] = summed[h];
        const unsigned int much = __popc(kick | summed[h]) + (gap < (int)w.steps);
        due[h] = lane + h < m.n ? min(much, LONGEST) : 0;
        if (!due[h] && lane + h < m.n) wait = min(wait, gap);
    }
    return make_uint2(due[0], due[1]);
}

// Turns counts into places: those with more to do come first. One warp. count[0] becomes the number of all.
__device__ inline void rank(unsigned int* count) {
    const unsigned int me = threadIdx.x, own = count[LONGEST - me];
    unsigned int sum = own;
    for (unsigned int d = 1; d < 32; d *= 2) {
        const unsigned int above = __shfl_up_sync(WHOLE, sum, d);
        if (me >= d) sum += above;
    }
    count[LONGEST - me] = sum - own;
    if (me == 31) count[0] = sum;
}

template <typename T>
__device__ inline void advance(const Model& m, const void* propagators, const Window& w, Segment* live,
                               const unsigned int* rows, const Source* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains, const Kick* kicks,
                               const unsigned int* marks, const void* currents, void* states, unsigned int* anchors,
                               unsigned int* checks, unsigned int* wakes, unsigned char* touched, int* arrivals,
                               unsigned int* kick_bits, unsigned int* spikes, Chunk* chunks, unsigned int* counters,
                               Average* rates, const float* fade) {
    __shared__ Crew<T> crew;
    const unsigned int me = threadIdx.x, first = blockIdx.x * SPAN, pair = 2 * me;
    // Arrays of neurons and of warps are as long as the grid, so that these loads wait for nothing.
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
    if (dense) crew.near.fill(propagators); // many will look: what they look up is brought near
    if (me <= LONGEST) crew.count[me] = 0;
    __syncthreads();

    // Whoever has as much to do as others is taken together with them, so that no thread waits for the one neighbour to
    // whom most happens.
    int wait = busy ? NEVER : signed_gap(wake, start);
    uint2 due = make_uint2(0, 0), place;
    if (busy) {
        due = muster(crew, pair, first + pair, m, w, arrived, has_trains || listed, states, anchors, marks, checks,
                     kick_bits, arrivals, wait);
        if (due.x) place.x = atomicAdd(&crew.count[due.x], 1);
        if (due.y) place.y = atomicAdd(&crew.count[due.y], 1);
    }
    for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(WHOLE, wait, d));
    if ((me & 15) == 0) crew.wait[me >> 4] = wait;
    __syncthreads();
    if (me < 32) rank(crew.count);
    __syncthreads();
    if (due.x) crew.who[crew.count[due.x] + place.x] = (unsigned short)pair;
    if (due.y) crew.who[crew.count[due.y] + place.y] = (unsigned short)(pair + 1);
    __syncthreads();

    const unsigned int n_all = crew.count[0];
    const Drive drive = {m, sources, chances, masks, kicks, w.kick_from, w.kick_to};
    const bool simple = m.n_sources == 1 && !listed && !m.is_wild;
    const T weight = simple ? (T)sources[0].weight : T(0);
    unsigned int looks = 0;
    for (unsigned int at = me; (at & ~31u) < n_all; at += BLOCK) {
        unsigned int fired = 0, lane = 0;
        if (at < n_all) {
            const unsigned int member = crew.who[at], kicked = crew.kicked[member], summed = crew.summed[member];
            lane = first + member;
            const State<T> s = crew.state[member];
            Neuron<T> neuron = {s.u, s.g, T(0), crew.anchor[member], crew.marks[member]};
            if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
            Agenda agenda = {kicked | summed, max(crew.check[member], 0)};
            agenda.wait_until(signed_gap(neuron.anchor, start));
            const unsigned int before = neuron.anchor;
            int* sums = arrivals + column(m.layout, lane);
            const bool plain = dense && simple && steps <= STAGED && !(neuron.marks & (CLOSED | CURRENT)) &&
                               signed_gap(start + steps, neuron.anchor) < (int)NEAR;
            if (plain) {
                fired = hurry(neuron, agenda, steps, start, c, crew, member, sums, summed, kicked, weight, looks);
                agenda.lost = !is_number(neuron.u, neuron.g); // as it was before: inputs are tame
            }
            for (int i = agenda.next(); i < (int)steps; i = agenda.next()) {
                ++looks;
                const int sum = summed >> i & 1 ? sums[i * ROW] : 0;
                State<T> adds = {T(0), c.w_syn * (T)sum};
                if (kicked >> i & 1) adds.u = simple ? weight : drive.template sum<T>(w.step + i, lane);
                fired |= (unsigned int)happen(neuron, agenda, i, start, c, dense ? &crew.near : nullptr, adds) << i;
            }
            if (agenda.lost) note_lost(counters, w, __ffs(agenda.lost) - 1, lane);
            if (neuron.anchor != before) store(lane, neuron, states, anchors);
            if (fired) rates[lane] = average(m, fade, rates[lane], start, fired);
            checks[lane] = start + agenda.look;
            atomicMin(&crew.wait[member >> 5], agenda.look);
            if (kicked) kick_bits[lane] = 0;
            for (unsigned int left = summed; left; left &= left - 1) sums[(__ffs(left) - 1) * ROW] = 0;
        }
        __syncwarp();
        append(m.layout, w, now, live, fired, lane, rows, spikes, chunks);
    }
    __syncthreads();
    if (me < SPAN / 32) {
        wakes[(first >> 5) + me] = start + crew.wait[me];
        if (!dense) touched[(first >> 5) + me] = 0;
    }
    if (m.counts_active) {
        looks = warp_sum(looks);
        if ((me & 31) == 0 && looks) atomicAdd(&counters[w.slot * COUNTERS + COPIES * LONGEST], looks);
    }
}

// The window of one traced neuron, the `at`th of `n_traced`, computed beforehand and thrown away but for the samples.
template <typename T>
__device__ inline void foretell(const Model& m, const Window& w, const Drive& drive, Neuron<T> neuron, unsigned int lane,
                                unsigned int kicked, const int* table, const Constants<T>& c, unsigned int at,
                                unsigned int n_traced, float* samples) {
    const unsigned int start = (unsigned int)w.step;
    const int* sums = table + column(m.layout, lane);
    unsigned int summed = 0;
    for (unsigned int i = 0; i < w.steps; ++i) summed |= (unsigned int)(sums[i * ROW] != 0) << i;
    Agenda agenda = {kicked | summed, 0}; // an early look changes nothing
    agenda.wait_until(signed_gap(neuron.anchor, start));
    for (int done = 0;;) {
        const int i = min(agenda.next(), (int)w.steps);
        for (; done < i; ++done) { // so it is after each step before that
            Neuron<T> copy = neuron;
            T u, g;
            copy.state_at(start + done + 1, c, nullptr, u, g);
            float* out = samples + 2 * ((unsigned long long)(w.slot * LONGEST + done) * n_traced + at);
            out[0] = (float)(m.v_rest + (double)u);
            out[1] = (float)(double)g;
        }
        if (i >= (int)w.steps) break;
        State<T> adds = {T(0), c.w_syn * (T)sums[i * ROW]};
        if (kicked >> i & 1) adds.u = drive.template sum<T>(w.step + i, lane);
        happen(neuron, agenda, i, start, c, (const Near<T>*)nullptr, adds);
    }
}

template <typename T>
__device__ inline void trace(const Model& m, const void* propagators, const Window& w, const Segment& live,
                             const Source* sources, const unsigned long long* chances,
    const unsigned int* masks, const unsigned int* trains,
                             const Kick* kicks, const unsigned int* marks, const void* currents, const void* states,
                             const unsigned int* anchors, const int* arrivals, const unsigned int* kick_bits,
                             unsigned int n_traced, const unsigned int* traced, float* samples) {
    const unsigned int at = thread_index();
    if (at >= n_traced || live.halted) return;
    const unsigned int lane = traced[at];
    const Drive drive = {m, sources, chances, masks, kicks, w.kick_from, w.kick_to};
    const bool has_kicks = trains[lane >> 5] || w.kick_from < w.kick_to;
    foretell(m, w, drive, load<T>(lane, states, anchors, marks, currents), lane, has_kicks ? kick_bits[lane] : 0, arrivals,
             Constants<T>(m, propagators), at, n_traced, samples);
}

}  // namespace spiking
