// A spiking network, one delay window at a time; the CUDA twin of src/kinds/spiking/cpu/mod.rs, which is the
// definition. Written once for float and double.
//
// A window of w steps, w at most one delay, takes two launches: `deliver` adds the spikes that arrive in it to
// arrivals[step][neuron], as integers and therefore in any order; `advance` takes every neuron through the window in
// registers. A warp owns 32 consecutive neurons, and leaves at once when nothing reaches them and none can cross.
#pragma once
#include "common/philox.cuh"

namespace spiking {

// Marks of a neuron, as in cpu/neuron.rs.
constexpr unsigned int CLOSED = 1, DRIVEN = 2, CURRENT = 4;
constexpr unsigned int WHOLE = 0xffffffffu;
// Propagators of this many steps lie in shared memory; older anchors look further away.
constexpr unsigned int NEAR = 256;
// Most steps of a window.
constexpr unsigned int LONGEST = 32;
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
template <typename T> __device__ inline T larger(T a, T b) { return a > b ? a : b; }
template <typename T> __device__ inline T magnitude(T x) { return x < T(0) ? -x : x; }
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
    T theta, u_reset, w_syn, dt_per_tau_m, b_peak, slack;
    unsigned int refractory, table;
    const Propagator<T>* far;

    __device__ Constants(const Model& m, const void* propagators)
        : theta((T)m.theta), u_reset((T)m.u_reset), w_syn((T)m.w_syn), dt_per_tau_m((T)m.dt_per_tau_m),
          b_peak((T)m.b_peak), slack((T)m.slack), refractory(m.refractory), table(m.table),
          far(static_cast<const Propagator<T>*>(propagators)) {}
};

// No crossing within so many steps of a state: is_quiet_for() of cpu/neuron.rs.
template <typename T>
__device__ inline bool is_quiet_for(int steps, T u, T g, T current, const Constants<T>& c) {
    if (steps <= 1) return true; // still frozen, or over before the next step
    const T g_up = larger(g, T(0)), i_up = larger(current, T(0));
    const T room = c.theta - c.slack * (magnitude(u) + magnitude(g) + magnitude(current));
    const T pull = larger(i_up + g_up - u, T(0));
    return (larger(u, i_up) + c.b_peak * g_up <= room) || (room - u >= (T)steps * (pull * c.dt_per_tau_m));
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

    // The step before which no look is due, seen from the end of a window.
    __device__ unsigned int quiet_until(unsigned int end, const Constants<T>& c) const {
        const int base = signed_gap(end, anchor) + 1;
        if (is_quiet_for(1 << 28, u, g, current, c)) return end + (1u << 27);
        if (is_quiet_for(base + 1024, u, g, current, c)) return end + 1024;
        return is_quiet_for(base + 72, u, g, current, c) ? end + 72 : end;
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

    // Events of the four steps of a group, one bit each.
    __device__ unsigned int draw_group(unsigned long long group, unsigned int lane) const {
        unsigned int bits = 0;
        for (unsigned int s = 0; s < model.n_sources; ++s) {
            if (!masks[s * model.n_warps + (lane >> 5)]) continue; // the same for the whole warp
            const Source source = sources[s];
            const Words w = draw(model.seed, source.address, group, lane);
            const unsigned int hits = (w.x < source.bound) | (w.y < source.bound) << 1 | (w.z < source.bound) << 2 |
                                      (w.w < source.bound) << 3;
            if (is_of(s, lane)) bits |= hits;
        }
        return bits;
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

// Takes one neuron through a window. Returns its spikes, one bit per step. `arrival(i)` is called once per step, in
// order; `seen(i, neuron)` after each.
template <typename T, typename Arrival, typename Seen>
__device__ inline unsigned int run_window(Neuron<T>& neuron, unsigned int lane, unsigned int& check, const Window& w,
                                          unsigned int listed, bool has_trains, const Drive& drive,
                                          const Constants<T>& c, const Propagator<T>* near, unsigned int& looks,
                                          Arrival arrival, Seen seen) {
    const unsigned int start = (unsigned int)w.step, end = start + w.steps;
    const bool was_quiet = signed_gap(check, end) >= 0;
    const bool simple = drive.model.n_sources == 1 && drive.kick_from == drive.kick_to;
    bool quiet = was_quiet, moved = false;
    unsigned int fired = 0, drawn = 0;
    for (unsigned int i = 0; i < w.steps; ++i) {
        const unsigned int n = start + i;
        const int sum = arrival(i);
        if (has_trains && (i == 0 || (n & 3) == 0)) drawn = drive.draw_group((w.step + i) >> 2, lane);
        const bool kicked = ((drawn >> (n & 3)) | (listed >> i)) & 1;
        const bool input = kicked || sum != 0;
        if ((input || !quiet) && signed_gap(neuron.anchor, n) <= 0) {
            ++looks;
            T u, g;
            neuron.state_at(n + 1, c, near, u, g);
            const bool spikes = u > c.theta;
            const bool takes = input && !(neuron.marks & CLOSED);
            if (spikes || takes) {
                if (spikes) {
                    neuron.u = c.u_reset;
                    neuron.g = T(0);
                    neuron.anchor = n + (neuron.marks & DRIVEN ? 1 : c.refractory);
                    fired |= 1u << i;
                } else {
                    T kick = T(0);
                    if (kicked) kick = simple ? (T)drive.sources[0].weight : drive.template sum<T>(w.step + i, lane);
                    neuron.u = u + kick;
                    neuron.g = g + c.w_syn * (T)sum;
                    neuron.anchor = n + 1;
                }
                moved = true;
                quiet = is_quiet_for(signed_gap(end, neuron.anchor) + 1, neuron.u, neuron.g, neuron.current, c);
            }
        }
        seen(i, neuron);
    }
    if (moved || !was_quiet) check = neuron.quiet_until(end, c);
    return fired;
}

// Adds the synapses of one chunk of a row to the arrivals.
__device__ inline void add_chunk(const Model& m, unsigned int from, unsigned int len, int* __restrict__ row,
                                 const unsigned int* __restrict__ words, unsigned char* touched) {
    const unsigned int mask = (1u << m.target_bits) - 1;
    for (unsigned int j = threadIdx.x & 31; j < len; j += 32) {
        const unsigned int word = words[from + j];
        const unsigned int target = word & mask;
        atomicAdd(&row[target], (int)word >> m.target_bits);
        if (touched) touched[target >> 5] = 1;
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

__device__ inline void deliver(const Model& m, const Window& w, Segment* segments, const Chunk* chunks,
                               const unsigned int* rows, const unsigned int* words, const Overflow* overflow,
                               const unsigned short* gain_of, const Gain* gains, int* arrivals, unsigned char* touched,
                               unsigned int* counters) {
    const Segment last = segments[(w.segment - 1) & m.segment_mask];
    const bool halted = last.halted || w.steps == 0 || !has_room(m, w, segments, last);
    const bool dense = load_of(m, w, segments) >= m.dense_events;
    if (thread_index() == 0) {
        Segment fresh = {};
        fresh.spike_start = last.spike_start + last.n_spikes;
        fresh.chunk_start = last.chunk_start + last.n_chunks;
        fresh.halted = halted;
        fresh.dense = dense;
        segments[w.segment & m.segment_mask] = fresh;
    }
    if (halted) return;
    const unsigned int warp = thread_index() >> 5, n_warps = (gridDim.x * blockDim.x) >> 5;
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

// Appends the spikes of a warp, and the chunks of their rows.
__device__ inline void append(const Model& m, const Window& w, Segment* segment, unsigned int fired, unsigned int lane,
                              const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
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
    unsigned int spike = segment->spike_start + (unsigned int)base + spikes_to - n_spikes;
    unsigned int chunk = segment->chunk_start + (unsigned int)(base >> 32) + chunks_to - n_spikes * per_spike;
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

// Arrivals of one neuron, four steps ahead in registers; what is read is left 0.
struct Ahead {
    int* at;
    unsigned int stride, steps;
    int next[4];

    __device__ Ahead(int* arrivals, unsigned int lane, unsigned int stride, unsigned int steps, bool any)
        : at(arrivals + lane), stride(stride), steps(any ? steps : 0) {
        for (unsigned int i = 0; i < 4; ++i) next[i] = peek(i);
    }
    __device__ int peek(unsigned int i) const { return i < steps ? at[(unsigned long long)i * stride] : 0; }
    __device__ int operator()(unsigned int i) {
        const int sum = next[0];
        next[0] = next[1];
        next[1] = next[2];
        next[2] = next[3];
        next[3] = peek(i + 4);
        if (sum) at[(unsigned long long)i * stride] = 0;
        return sum;
    }
};

template <typename T>
__device__ inline void advance(const Model& m, const void* propagators, const Window& w, Segment* segments,
                               const unsigned int* rows, const Source* sources, const unsigned int* masks,
                               const unsigned int* trains, const Kick* kicks, const unsigned int* marks,
                               const void* currents, void* states, unsigned int* anchors, unsigned int* checks,
                               unsigned int* wakes, unsigned char* touched, int* arrivals, unsigned int* kick_bits,
                               unsigned int* spikes, Chunk* chunks, unsigned int* counters) {
    __shared__ Propagator<T> near[NEAR];
    Segment* segment = &segments[w.segment & m.segment_mask];
    if (segment->halted) return;
    const Constants<T> c(m, propagators);
    const bool dense = segment->dense;
    if (dense) { // many will look: what they look up is brought near
        for (unsigned int k = threadIdx.x; k < NEAR; k += blockDim.x) near[k] = c.far[k];
        __syncthreads();
    }
    const unsigned int lane = thread_index(), warp = lane >> 5;
    if (warp >= m.n_warps) return;
    const unsigned int end = (unsigned int)w.step + w.steps;
    const bool arrived = dense || touched[warp], has_trains = trains[warp];
    if (!arrived && !has_trains && signed_gap(wakes[warp], end) >= 0) return;

    unsigned int fired = 0, check = end + (1u << 27), looks = 0;
    if (lane < m.n) {
        Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
        check = checks[lane];
        const unsigned int listed = w.kick_from < w.kick_to ? kick_bits[lane] : 0;
        if (listed) kick_bits[lane] = 0;
        const Drive drive = {m, sources, masks, kicks, w.kick_from, w.kick_to};
        const unsigned int before = neuron.anchor;
        fired = run_window(neuron, lane, check, w, listed, has_trains, drive, c, dense ? near : nullptr, looks,
                           Ahead(arrivals, lane, m.stride, w.steps, arrived), [](unsigned int, const Neuron<T>&) {});
        if (neuron.anchor != before) store(lane, neuron, states, anchors);
        checks[lane] = check;
    }
    __syncwarp();
    append(m, w, segment, fired, lane, rows, spikes, chunks);
    const int wait = warp_min(signed_gap(check, end));
    if ((threadIdx.x & 31) == 0) {
        wakes[warp] = end + wait;
        if (!dense) touched[warp] = 0;
    }
    if (m.counts_active) {
        looks = warp_sum(looks);
        if ((threadIdx.x & 31) == 0 && looks) atomicAdd(&counters[w.slot * COUNTERS + LONGEST], looks);
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
    if (at >= n_traced || segments[w.segment & m.segment_mask].halted) return;
    const unsigned int lane = traced[at];
    const Constants<T> c(m, propagators);
    Neuron<T> neuron = load<T>(lane, states, anchors, marks, currents);
    const Drive drive = {m, sources, masks, kicks, w.kick_from, w.kick_to};
    const unsigned int listed = w.kick_from < w.kick_to ? kick_bits[lane] : 0;
    unsigned int check = (unsigned int)w.step, looks = 0; // looks in every step, which changes nothing
    run_window(neuron, lane, check, w, listed, trains[lane >> 5] != 0, drive, c, (const Propagator<T>*)nullptr, looks,
               [&](unsigned int i) { return arrivals[(unsigned long long)i * m.stride + lane]; },
               [&](unsigned int i, const Neuron<T>& now) {
                   Neuron<T> copy = now;
                   T u, g;
                   copy.state_at((unsigned int)w.step + i + 1, c, nullptr, u, g);
                   float* out = samples + 2 * ((unsigned long long)(w.slot * LONGEST + i) * n_traced + at);
                   out[0] = (float)(m.v_rest + (double)u);
                   out[1] = (float)(double)g;
               });
}

// Listed kicks of a window: who, and in which step.
__device__ inline void mark_kicks(const Model& m, const Window& w, const Segment* segments, const Kick* kicks,
                                  unsigned int* kick_bits, unsigned char* touched) {
    if (segments[w.segment & m.segment_mask].halted) return;
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
    const Segment segment = segments[w.segment & m.segment_mask];
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
