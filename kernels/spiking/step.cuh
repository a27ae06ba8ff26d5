// A spiking network, one delay window at a time; the CUDA twin of src/kinds/spiking/cpu/mod.rs, which is the
// definition. Written once for float and double.
//
// A window of w steps, w at most one delay, takes two launches: `deliver` adds the spikes that arrive in it to
// arrivals[step][neuron], as integers and therefore in any order; `advance` takes every neuron through the window, from
// one thing that happens to the next. A block whose neurons nothing reaches and of whom none can cross leaves at once.
#pragma once
#include "common/philox.cuh"

namespace spiking {

// Marks of a neuron, as in cpu/neuron.rs.
constexpr unsigned int CLOSED = 1, DRIVEN = 2, CURRENT = 4;
constexpr unsigned int WHOLE = 0xffffffffu;
// Propagators of this many steps lie in shared memory; older anchors look further away.
constexpr unsigned int NEAR = 128;
// Threads of a block of `advance`, and the neurons it takes care of: two per thread, so that all blocks of a brain of
// 140,000 neurons are at work at once. A second wave would double the time, most of which is latency.
constexpr unsigned int BLOCK = 256, SPAN = 2 * BLOCK;
// Most steps of a window.
constexpr unsigned int LONGEST = 32;
// Steps of a window whose arrivals find room in shared memory, as 16 bits; a sum that needs more stays where it is.
constexpr unsigned int STAGED = 24;
constexpr int TOO_LARGE = -32768;
// Counters of a window: synaptic events of each step, neurons looked at.
constexpr unsigned int COUNTERS = LONGEST + 1;
// A key of a spike: its step in the window above, its neuron below.
constexpr unsigned int LANE_BITS = 26;

// u(k) = a u + b g + c I, g(k) = d g.
template <typename T> struct alignas(4 * sizeof(T)) Propagator { T a, b, d, c; };

// At the anchor.
template <typename T> struct alignas(2 * sizeof(T)) State { T u, g; };

__device__ inline unsigned int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline int signed_gap(unsigned int later, unsigned int earlier) { return (int)(later - earlier); }
__device__ inline int warp_min(int x) {
    for (unsigned int d = 16; d; d /= 2) x = min(x, __shfl_xor_sync(WHOLE, x, d));
    return x;
}
__device__ inline unsigned int warp_sum(unsigned int x) {
    for (unsigned int d = 16; d; d /= 2) x += __shfl_xor_sync(WHOLE, x, d);
    return x;
}

// The model in the arithmetic of the state. Narrowing is exact: the values were rounded before.
template <typename T> struct Constants {
    T theta, u_reset, w_syn;
    // Of the bound on crossings, which is taken in single precision whatever the state is.
    float theta_f, dt_per_tau_m, b_peak, slack;
    unsigned int refractory, table;
    const Propagator<T>* far;

    __device__ Constants(const Model& m, const void* propagators)
        : theta((T)m.theta), u_reset((T)m.u_reset), w_syn((T)m.w_syn), theta_f((float)m.theta),
          dt_per_tau_m((float)m.dt_per_tau_m), b_peak((float)m.b_peak), slack((float)m.slack + 4e-6f),
          refractory(m.refractory), table(m.table), far(static_cast<const Propagator<T>*>(propagators)) {}
};

// No crossing for longer than any window.
constexpr int NEVER = 1 << 27;

// How many steps from a state until the threshold may be crossed: a lower bound, at least 1, as steps_to_threshold() of
// cpu/neuron.rs. Single precision and a quick division suffice: slack, pull and quotient are off on the safe side by ten
// times what rounding may do. A look that comes early changes nothing.
template <typename T> __device__ inline int steps_to_threshold(T u_t, T g_t, T current_t, const Constants<T>& c) {
    const float u = (float)u_t, g = (float)g_t, current = (float)current_t;
    const float slack = c.slack * (fabsf(u) + fabsf(g) + fabsf(current) + fabsf(c.theta_f));
    const float g_up = fmaxf(g, 0.0f), i_up = fmaxf(current, 0.0f), gap = c.theta_f - slack - u;
    if (fmaxf(0.0f, i_up - u) + c.b_peak * g_up <= gap) return NEVER;
    const float pull = i_up + g_up - u + slack;
    if (pull <= 0.0f && gap >= 0.0f) return NEVER;
    if (!(gap > 0.0f)) return 1;
    const float steps = __fdividef(gap, pull * c.dt_per_tau_m) * 0.999f;
    return steps < 1.0f ? 1 : steps > (float)NEVER ? NEVER : (int)steps;
}

// One neuron in registers.
template <typename T> struct Neuron {
    T u, g, current;
    unsigned int anchor, marks;

    __device__ void propagate(unsigned int k, const Constants<T>& c, const Propagator<T>* near, T& u_k, T& g_k) const {
        const Propagator<T> p = near && k < NEAR ? near[k] : c.far[k];
        u_k = p.a * u + p.b * g;
        if (marks & CURRENT) u_k = u_k + p.c * current;
        g_k = p.d * g;
    }

    // Re-anchors by whole tables until at most one is left.
    __device__ void settle(unsigned int completed, const Constants<T>& c) {
        while (true) {
            const unsigned int k = completed - anchor;
            if ((int)k <= 0 || k <= c.table) return;
            T u_k, g_k;
            propagate(c.table, c, nullptr, u_k, g_k);
            if (u_k == u && g_k == g) { // at rest: however many tables remain
                anchor += (k - 1) / c.table * c.table;
                return;
            }
            u = u_k;
            g = g_k;
            anchor += c.table;
        }
    }

    // The state after `completed` steps.
    __device__ void state_at(unsigned int completed, const Constants<T>& c, const Propagator<T>* near, T& u_k, T& g_k) {
        unsigned int k = completed - anchor;
        if (k > c.table) {
            if ((int)k <= 0) { // frozen
                u_k = u;
                g_k = g;
                return;
            }
            settle(completed, c);
            k = completed - anchor;
        }
        propagate(k, c, near, u_k, g_k);
    }

    __device__ void anchor_at(unsigned int completed, const Constants<T>& c) {
        if (signed_gap(completed, anchor) > 0) {
            T u_k, g_k;
            state_at(completed, c, nullptr, u_k, g_k);
            u = u_k;
            g = g_k;
            anchor = completed;
        }
    }
};

// What a warp reads of the drives.
struct Drive {
    const Model& model;
    const Source* sources;
    const unsigned int* masks;
    const Kick* kicks;
    unsigned int kick_from, kick_to;

    __device__ bool is_of(unsigned int source, unsigned int lane) const {
        return masks[source * model.n_warps + (lane >> 5)] >> (lane & 31) & 1;
    }

    // Events of a window, one bit per step.
    __device__ unsigned int draw_window(unsigned long long step, unsigned int steps, unsigned int lane) const {
        unsigned int bits = 0;
        const int before = (int)step & 3;
        for (unsigned int s = 0; s < model.n_sources; ++s) {
            const unsigned int mask = masks[s * model.n_warps + (lane >> 5)];
            if (!mask) continue; // the same for the whole warp; also where events never happen
            const Source source = sources[s];
            const unsigned int last = (unsigned int)(source.bound - 1);
            unsigned int hits = 0;
            for (int at = -before; at < (int)steps; at += 4) {
                const Words w = draw(model.seed, source.address, (step + at) >> 2, lane);
                const unsigned int four = (w.x <= last) | (w.y <= last) << 1 | (w.z <= last) << 2 | (w.w <= last) << 3;
                hits |= at < 0 ? four >> -at : four << at;
            }
            if (mask >> (lane & 31) & 1) bits |= hits;
        }
        return steps < 32 ? bits & ((1u << steps) - 1) : bits;
    }

    // All kicks of one neuron in one step, summed in the order of the sources, those by hand last.
    template <typename T> __device__ T sum(unsigned long long step, unsigned int lane) const {
        unsigned int at = kick_from, end = kick_to;
        while (at < end) { // the first one not before (step, lane)
            const unsigned int mid = (at + end) / 2;
            const Kick k = kicks[mid];
            if (k.step < step || (k.step == step && k.lane < lane)) at = mid + 1; else end = mid;
        }
        bool any = false;
        T kick = T(0);
        for (unsigned int s = 0; s <= model.n_sources; ++s) {
            if (s < model.n_sources && sources[s].bound && is_of(s, lane) &&
                draw_of_step(model.seed, sources[s].address, step, lane) < sources[s].bound) {
                kick = any ? kick + (T)sources[s].weight : (T)sources[s].weight;
                any = true;
            }
            for (; at < kick_to && kicks[at].step == step && kicks[at].lane == lane && kicks[at].source == s; ++at) {
                kick = any ? kick + (T)kicks[at].weight : (T)kicks[at].weight;
                any = true;
            }
        }
        return kick;
    }
};

// What is still to happen to a neuron in a window.
struct Agenda {
    // One bit for each step with arrivals or kicks; the step, counted from the start, in which it may cross without.
    unsigned int inputs;
    int look;

    // What arrives at a frozen neuron is lost: nothing happens before step `free`.
    __device__ void wait_until(int free) {
        inputs = free >= 32 ? 0 : free > 0 ? inputs & (WHOLE << free) : inputs;
        look = max(look, free);
    }
    // The next step with an input, or 32.
    __device__ int next_input() const { return inputs ? __ffs(inputs) - 1 : 32; }
    // The next step in which something happens.
    __device__ int next() const { return min(next_input(), look); }
};

// One thing that happens to a neuron: it is looked at in step i of a window, with what `adds` to u and g. `true`: it fired.
template <typename T>
__device__ inline bool happen(Neuron<T>& neuron, Agenda& agenda, int i, unsigned int start, const Constants<T>& c,
                              const Propagator<T>* near, State<T> adds) {
    const unsigned int n = start + i;
    const bool comes = agenda.inputs >> i & 1;
    agenda.inputs &= ~(1u << i);
    T u, g;
    neuron.state_at(n + 1, c, near, u, g);
    const bool fires = u > c.theta;
    if (fires) {
        neuron.u = u = c.u_reset;
        neuron.g = g = T(0);
        const unsigned int pause = neuron.marks & DRIVEN ? 1 : c.refractory;
        neuron.anchor = n + pause;
        i += pause - 1; // integration begins again then
        agenda.wait_until(i + 1);
    } else if (comes && !(neuron.marks & CLOSED)) {
        neuron.u = u = u + adds.u;
        neuron.g = g = g + adds.g;
        neuron.anchor = n + 1;
    }
    // The next step is looked at anyway when it brings an input.
    agenda.look = i + 1;
    if (agenda.next_input() != i + 1) agenda.look = i + steps_to_threshold(u, g, neuron.current, c);
    return fires;
}

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
            atomicAdd(&row[word[j] & mask], (int)word[j] >> m.target_bits);
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
        if (count) atomicAdd(&row[target], count);
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

// Synaptic events on their way into a window; an upper bound that all blocks compute alike.
__device__ inline unsigned long long load_of(const Model& m, const Window& w, const Segment* segments) {
    unsigned long long events = 0;
    for (unsigned int s = w.first; s != w.last + 1; ++s) events += segments[s & m.segment_mask].events;
    return events;
}

// The first `n_blocks` blocks deliver.
__device__ inline void deliver(const Model& m, const Window& w, unsigned int n_blocks, Segment* segments, Segment* now, const Chunk* chunks,
                               const unsigned int* rows, const unsigned int* words, const Overflow* overflow,
                               const unsigned short* gain_of, const Gain* gains, int* arrivals, unsigned char* touched,
                               unsigned int* counters) {
    const Segment last = segments[w.previous];
    const bool halted = last.halted || w.steps == 0 || !has_room(m, w, segments, last);
    const bool dense = load_of(m, w, segments) >= m.dense_events;
    if (thread_index() == 0) {
        Segment fresh = {};
        fresh.spike_start = last.spike_start + last.n_spikes;
        fresh.chunk_start = last.chunk_start + last.n_chunks;
        fresh.halted = halted;
        fresh.dense = dense;
        segments[w.segment] = fresh;
        *now = fresh;
    }
    if (halted) return;
    const unsigned int warp = thread_index() >> 5, n_warps = (n_blocks * blockDim.x) >> 5;
    const unsigned int sent = (unsigned int)w.step - m.delay;
    for (unsigned int s = w.first; s != w.last + 1; ++s) {
        const Segment& from = segments[s & m.segment_mask];
        for (unsigned int i = warp; i < from.n_chunks; i += n_warps) {
            const Chunk chunk = chunks[(from.chunk_start + i) & m.chunk_mask];
            const unsigned int offset = ((chunk.meta >> 7) - sent) & (WHOLE >> 7);
            if (offset >= w.steps) continue; // of another window
            const unsigned int len = (chunk.meta & 127) + 1;
            int* row = arrivals + (unsigned long long)offset * m.stride;
            unsigned char* touches = dense ? nullptr : touched;
            if (m.n_overflow == 0 && !m.has_gains) {
                add_chunk(m, chunk.word, len, row, words, touches);
            } else {
                const Gain gain = m.has_gains ? gains[gain_of[row_of(rows, m.n, chunk.word)]] : Gain{1.0, 0, 0, 0, 0};
                if (gain.silent) continue;
                add_chunk_exactly(m, chunk.word, len, row, words, overflow, gain, touches);
            }
            if ((threadIdx.x & 31) == 0) atomicAdd(&counters[w.slot * COUNTERS + offset], len);
        }
    }
}

// The kicks that trains give in a window. Drawn by blocks beside those that deliver: these wait for memory, those compute.
__device__ inline void draw_kicks(const Model& m, const Window& w, unsigned int lane, const Source* sources,
                                  const unsigned int* masks, const unsigned int* trains, unsigned int* kick_bits) {
    if (lane >= m.n || !trains[lane >> 5]) return;
    const Drive drive = {m, sources, masks, nullptr, 0, 0};
    kick_bits[lane] = drive.draw_window(w.step, w.steps, lane);
}

// Appends the spikes of a warp, and the chunks of their rows.
__device__ inline void append(const Model& m, const Window& w, const Segment& now, Segment* segment, unsigned int fired,
                              unsigned int lane, const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
    if (!__any_sync(WHOLE, fired)) return;
    const unsigned int from = fired ? rows[lane] : 0, len = fired ? rows[lane + 1] - from : 0;
    const unsigned int n_spikes = __popc(fired), per_spike = (len + 127) >> 7;
    unsigned int spikes_to = n_spikes, chunks_to = n_spikes * per_spike;
    unsigned long long events = (unsigned long long)n_spikes * len;
    for (unsigned int d = 1; d < 32; d *= 2) {
        const unsigned int a = __shfl_up_sync(WHOLE, spikes_to, d), b = __shfl_up_sync(WHOLE, chunks_to, d);
        const unsigned long long e = __shfl_up_sync(WHOLE, events, d);
        if ((threadIdx.x & 31) >= d) {
            spikes_to += a;
            chunks_to += b;
            events += e;
        }
    }
    unsigned long long base = 0;
    if ((threadIdx.x & 31) == 31) {
        // n_spikes and n_chunks lie side by side: one atomic moves both.
        base = atomicAdd(reinterpret_cast<unsigned long long*>(&segment->n_spikes),
                         spikes_to | (unsigned long long)chunks_to << 32);
        atomicAdd(&segment->events, events);
    }
    base = __shfl_sync(WHOLE, base, 31);
    unsigned int spike = now.spike_start + (unsigned int)base + spikes_to - n_spikes;
    unsigned int chunk = now.chunk_start + (unsigned int)(base >> 32) + chunks_to - n_spikes * per_spike;
    for (; fired; fired &= fired - 1) {
        const unsigned int i = __ffs(fired) - 1;
        spikes[spike++ & m.spike_mask] = i << LANE_BITS | lane;
        const unsigned int step = ((unsigned int)w.step + i) << 7;
        for (unsigned int at = 0; at < len; at += 128) {
            const unsigned int size = len - at < 128 ? len - at : 128;
            chunks[chunk++ & m.chunk_mask] = {from + at, step | (size - 1)};
        }
    }
}

// A neuron as it lies in memory.
template <typename T>
__device__ inline Neuron<T> load(unsigned int lane, const void* states, const unsigned int* anchors,
                                 const unsigned int* marks, const void* currents) {
    const State<T> s = static_cast<const State<T>*>(states)[lane];
    Neuron<T> neuron = {s.u, s.g, T(0), anchors[lane], marks[lane]};
    if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
    return neuron;
}

template <typename T>
__device__ inline void store(unsigned int lane, const Neuron<T>& neuron, void* states, unsigned int* anchors) {
    static_cast<State<T>*>(states)[lane] = {neuron.u, neuron.g};
    anchors[lane] = neuron.anchor;
}

// What a block knows of its neurons, and in which order its threads take them.
template <typename T> struct Crew {
    Propagator<T> near[NEAR];
    State<T> state[SPAN];
    unsigned int anchor[SPAN], kicked[SPAN], summed[SPAN];
    int check[SPAN]; // from the start of the window
    unsigned short who[SPAN];
    unsigned char marks[SPAN];
    unsigned int count[LONGEST + 1];
    int wait[SPAN / 32];
    short sums[STAGED][SPAN];
};

__device__ inline short staged(int sum) { return (short)(sum > TOO_LARGE && sum < -TOO_LARGE ? sum : TOO_LARGE); }

// What happens to a neuron in a window, one after the other: a chain of `happen`s for the case that matters, a recent
// anchor, no current, one source of kicks. Its time is that of the chain from one input to the next, so it does nothing
// twice.
template <typename T>
__device__ inline unsigned int hurry(Neuron<T>& neuron, Agenda& agenda, int steps, unsigned int start,
                                     const Constants<T>& c, const Crew<T>& crew, unsigned int member, const int* sums,
                                     unsigned int stride, unsigned int summed, unsigned int kicked, T weight,
                                     unsigned int& looks) {
    T u = neuron.u, g = neuron.g;
    int anchor = signed_gap(neuron.anchor, start), look = agenda.look;
    unsigned int inputs = agenda.inputs, fired = 0;
    int input = inputs ? __ffs(inputs) - 1 : 32;
    while (true) {
        const int i = min(input, look);
        if (i >= steps) break;
        ++looks;
        const Propagator<T> p = crew.near[i + 1 - anchor];
        const T u_i = p.a * u + p.b * g, g_i = p.d * g;
        const bool fires = u_i > c.theta;
        T from_u = u_i, from_g = g_i;
        if (i == input) {
            int sum = summed >> i & 1 ? crew.sums[i][member] : 0;
            if (sum == TOO_LARGE) sum = sums[i * stride];
            inputs &= inputs - 1;
            input = inputs ? __ffs(inputs) - 1 : 32;
            u = from_u = u_i + (kicked >> i & 1 ? weight : T(0));
            g = from_g = g_i + c.w_syn * (T)sum;
            anchor = i + 1;
        }
        int now = i;
        if (fires) {
            from_u = u = c.u_reset;
            from_g = g = T(0);
            fired |= 1u << i;
            anchor = i + (neuron.marks & DRIVEN ? 1 : c.refractory);
            now = anchor - 1;
            inputs = anchor >= 32 ? 0 : inputs & (WHOLE << anchor);
            input = inputs ? __ffs(inputs) - 1 : 32;
        }
        look = now + 1;
        if (input != look) look = now + steps_to_threshold(from_u, from_g, T(0), c);
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
        const int* sums = arrivals + lane;
#pragma unroll 9
        for (unsigned int i = 0; i < w.steps; ++i) {
            const int2 pair = *reinterpret_cast<const int2*>(&sums[i * m.stride]);
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
__device__ inline void advance(const Model& m, const void* propagators, const Window& w, const Segment& now,
                               Segment* segments, const unsigned int* rows, const Source* sources,
                               const unsigned int* masks, const unsigned int* trains, const Kick* kicks,
                               const unsigned int* marks, const void* currents, void* states, unsigned int* anchors,
                               unsigned int* checks, unsigned int* wakes, unsigned char* touched, int* arrivals,
                               unsigned int* kick_bits, unsigned int* spikes, Chunk* chunks, unsigned int* counters) {
    __shared__ Crew<T> crew;
    const unsigned int me = threadIdx.x, first = blockIdx.x * SPAN, pair = 2 * me;
    // Arrays of neurons and of warps are as long as the grid, so that these loads wait for nothing.
    const unsigned int warp = (first + pair) >> 5;
    const bool reached = touched[warp], has_trains = trains[warp];
    const unsigned int wake = wakes[warp];
    if (now.halted) return;
    const bool dense = now.dense, listed = w.kick_from < w.kick_to;
    const unsigned int start = (unsigned int)w.step, steps = w.steps;
    const bool arrived = dense || reached;
    const bool busy = arrived || has_trains || signed_gap(wake, start + steps) < 0;
    if (!__syncthreads_or(busy)) return;
    const Constants<T> c(m, propagators);
    if (dense) { // many will look: what they look up is brought near
        for (unsigned int k = me; k < NEAR; k += BLOCK) crew.near[k] = c.far[k];
    }
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
    const Drive drive = {m, sources, masks, kicks, w.kick_from, w.kick_to};
    const bool simple = m.n_sources == 1 && !listed;
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
            int* sums = arrivals + lane;
            const bool plain = dense && simple && steps <= STAGED && !(neuron.marks & (CLOSED | CURRENT)) &&
                               signed_gap(start + steps, neuron.anchor) < (int)NEAR;
            if (plain) fired = hurry(neuron, agenda, steps, start, c, crew, member, sums, m.stride, summed, kicked, weight, looks);
            for (int i = agenda.next(); i < (int)steps; i = agenda.next()) {
                ++looks;
                const int sum = summed >> i & 1 ? sums[i * m.stride] : 0;
                State<T> adds = {T(0), c.w_syn * (T)sum};
                if (kicked >> i & 1) adds.u = simple ? weight : drive.template sum<T>(w.step + i, lane);
                fired |= (unsigned int)happen(neuron, agenda, i, start, c, dense ? crew.near : nullptr, adds) << i;
            }
            if (neuron.anchor != before) store(lane, neuron, states, anchors);
            checks[lane] = start + agenda.look;
            atomicMin(&crew.wait[member >> 5], agenda.look);
            if (kicked) kick_bits[lane] = 0;
            for (unsigned int left = summed; left; left &= left - 1) sums[(__ffs(left) - 1) * m.stride] = 0;
        }
        __syncwarp();
        append(m, w, now, &segments[w.segment], fired, lane, rows, spikes, chunks);
    }
    __syncthreads();
    if (me < SPAN / 32) {
        wakes[(first >> 5) + me] = start + crew.wait[me];
        if (!dense) touched[(first >> 5) + me] = 0;
    }
    if (m.counts_active) {
        looks = warp_sum(looks);
        if ((me & 31) == 0 && looks) atomicAdd(&counters[w.slot * COUNTERS + LONGEST], looks);
    }
}

// The window of one traced neuron, computed beforehand and thrown away but for the samples.
template <typename T>
__device__ inline void trace(const Model& m, const void* propagators, const Window& w, const Segment* segments,
                             const Source* sources, const unsigned int* masks, const unsigned int* trains,
                             const Kick* kicks, const unsigned int* marks, const void* currents, const void* states,
                             const unsigned int* anchors, const int* arrivals, const unsigned int* kick_bits,
                             unsigned int n_traced, const unsigned int* traced, float* samples) {
    const unsigned int at = thread_index();
    if (at >= n_traced || segments[w.segment].halted) return;
    const unsigned int lane = traced[at];
    const Constants<T> c(m, propagators);
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    const Drive drive = {m, sources, masks, kicks, w.kick_from, w.kick_to};
    const bool has_kicks = trains[lane >> 5] || w.kick_from < w.kick_to;
    const unsigned int kicked = has_kicks ? kick_bits[lane] : 0, start = (unsigned int)w.step;
    const int* sums = arrivals + lane;
    unsigned int summed = 0;
    for (unsigned int i = 0; i < w.steps; ++i) summed |= (unsigned int)(sums[i * m.stride] != 0) << i;
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
        State<T> adds = {T(0), c.w_syn * (T)sums[i * m.stride]};
        if (kicked >> i & 1) adds.u = drive.template sum<T>(w.step + i, lane);
        happen(neuron, agenda, i, start, c, (const Propagator<T>*)nullptr, adds);
    }
}

// Listed kicks of a window: who, and in which step.
__device__ inline void mark_kicks(const Model& m, const Window& w, const Segment* segments, const Kick* kicks,
                                  unsigned int* kick_bits, unsigned char* touched) {
    if (segments[w.segment].halted) return;
    for (unsigned int i = w.kick_from + thread_index(); i < w.kick_to; i += gridDim.x * blockDim.x) {
        const Kick kick = kicks[i];
        atomicOr(&kick_bits[kick.lane], 1u << (unsigned int)(kick.step - w.step));
        touched[kick.lane >> 5] = 1;
    }
}

// Takes up drives and lesions between two steps: a neuron whose current changes is re-anchored.
template <typename T>
__device__ inline void enter(const Model& m, const void* propagators, unsigned int completed, const unsigned int* new_marks,
                             const void* new_currents, unsigned int* marks, void* currents, void* states,
                             unsigned int* anchors, unsigned int* checks, unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    T* all = static_cast<T*>(currents);
    const T wanted = static_cast<const T*>(new_currents)[lane];
    if (wanted != all[lane]) {
        Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
        neuron.anchor_at(completed, Constants<T>(m, propagators));
        store(lane, neuron, states, anchors);
        all[lane] = wanted;
    }
    marks[lane] = new_marks[lane] | (wanted != T(0) ? CURRENT : 0);
    checks[lane] = completed; // whoever is near the threshold is found by looking once at everybody
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

// Re-anchors all neurons, then moves u by `shift`, when rest moves.
template <typename T>
__device__ inline void rebase(const Model& m, const void* propagators, unsigned int completed, double shift,
                              const unsigned int* marks, const void* currents, void* states, unsigned int* anchors) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.anchor_at(completed, Constants<T>(m, propagators));
    neuron.u = neuron.u + (T)shift;
    store(lane, neuron, states, anchors);
}

// Re-anchors by whole tables, before steps modulo 2^32 become ambiguous.
template <typename T>
__device__ inline void settle(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                              const void* currents, void* states, unsigned int* anchors, unsigned int* checks,
                              unsigned int* wakes) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    neuron.settle(completed, Constants<T>(m, propagators));
    store(lane, neuron, states, anchors);
    checks[lane] = completed;
    if ((lane & 31) == 0) wakes[lane >> 5] = completed;
}

template <typename T>
__device__ inline void potentials(const Model& m, const void* propagators, unsigned int completed, const unsigned int* marks,
                                  const void* currents, const void* states, const unsigned int* anchors, float* v) {
    const unsigned int lane = thread_index();
    if (lane >= m.n) return;
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    T u, g;
    neuron.state_at(completed, Constants<T>(m, propagators), nullptr, u, g);
    v[lane] = (float)(m.v_rest + (double)u);
}

// Puts the spikes of each window into their canonical order, by step and neuron: one block per window, in shared memory.
// Windows with more spikes are left to the host.
template <unsigned int CAPACITY>
__device__ inline void order(const Model& m, const Window& w, const Segment* segments, unsigned int* spikes) {
    __shared__ unsigned int keys[CAPACITY];
    const Segment segment = segments[w.segment];
    const unsigned int n = segment.n_spikes;
    if (segment.halted || n < 2 || n > CAPACITY) return;
    unsigned int size = 2;
    while (size < n) size *= 2;
    for (unsigned int i = threadIdx.x; i < size; i += blockDim.x)
        keys[i] = i < n ? spikes[(segment.spike_start + i) & m.spike_mask] : WHOLE;
    for (unsigned int span = 2; span <= size; span *= 2) {
        for (unsigned int gap = span / 2; gap; gap /= 2) {
            __syncthreads();
            for (unsigned int t = threadIdx.x; t < size / 2; t += blockDim.x) {
                const unsigned int i = 2 * t - (t & (gap - 1)), j = i + gap;
                const bool up = (i & span) == 0;
                const unsigned int a = keys[i], b = keys[j];
                if ((a > b) == up) {
                    keys[i] = b;
                    keys[j] = a;
                }
            }
        }
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < n; i += blockDim.x) spikes[(segment.spike_start + i) & m.spike_mask] = keys[i];
}

}  // namespace spiking
