// One neuron: its state at an anchor, what follows from it in closed form, and what happens to it in a window.
// The twin of src/kinds/spiking/cpu/neuron.rs.
#pragma once
#include "common/trains.cuh"

namespace spiking {

// Marks of a neuron, as in cpu/neuron.rs.
constexpr unsigned int CLOSED = 1, DRIVEN = 2, CURRENT = 4;
constexpr unsigned int WHOLE = 0xffffffffu;
// Propagators of this many steps lie in shared memory; older anchors look further away.
constexpr unsigned int NEAR = 128;
// Threads of a block of `advance`, and the neurons it takes care of: two per thread, so that all blocks of a brain of
// 140,000 neurons are at work at once. A second wave would double the time, most of which is latency.
constexpr unsigned int BLOCK = 256, SPAN = 2 * BLOCK;
// Longest stretch one closed form covers, steps.
constexpr unsigned int TABLE = 1024;
// Most steps of a window.
constexpr unsigned int LONGEST = 32;
// Steps of a window whose arrivals find room in shared memory, as 16 bits; a sum that needs more stays where it is.
constexpr unsigned int STAGED = 24;
constexpr int TOO_LARGE = -32768;
// Counters of a window: synaptic events of each step, in several copies on lines of their own, because additions to one
// line wait for each other; then the neurons looked at; two words further the fingerprint of its spikes; and behind it who
// was lost first.
constexpr unsigned int COPIES = 8, COUNTERS = COPIES * LONGEST + LONGEST;
constexpr unsigned int FINGERPRINT = COPIES * LONGEST + 2, LOST = COPIES * LONGEST + 4;
// Arrivals lie by group of 32 neurons, step and neuron: what a warp reads of a window lies together. (By step and neuron,
// the rows of a window lie in many pages of memory.) Distance of two steps:
constexpr unsigned int ROW = 32;
// A key of a spike: its step in the window above, its neuron below.
constexpr unsigned int LANE_BITS = 26;

// u(k) = a u + b g + c I, g(k) = d g.
template <typename T> struct alignas(4 * sizeof(T)) Propagator { T a, b, d, c; };

// Those of the first steps in shared memory, number by number: neighbours who look up different steps meet different banks.
template <typename T> struct Near {
    T a[NEAR], b[NEAR], d[NEAR], c[NEAR];

    __device__ Propagator<T> operator[](unsigned int k) const { return {a[k], b[k], d[k], c[k]}; }
    // Together, all threads of a block.
    __device__ void fill(const void* propagators) {
        for (unsigned int k = threadIdx.x; k < NEAR; k += blockDim.x) {
            const Propagator<T> p = static_cast<const Propagator<T>*>(propagators)[k];
            a[k] = p.a;
            b[k] = p.b;
            d[k] = p.d;
            c[k] = p.c;
        }
    }
};

// What is left of a running rate after some steps: from two tables, as in measure.rs.
__device__ inline float fade_after(const Model& m, const float* __restrict__ fade, unsigned int age) {
    const unsigned int coarse = age / 1024;
    return coarse < m.n_coarse ? __ldg(&fade[1024 + coarse]) * __ldg(&fade[age % 1024]) : 0.0f;
}

// A neuron's running rate after the spikes of a window.
__device__ inline Average average(const Model& m, const float* __restrict__ fade, Average rate, unsigned int start,
                                  unsigned int fired) {
    for (; fired; fired &= fired - 1) {
        const unsigned int step = start + __ffs(fired) - 1;
        rate.hz = rate.hz * fade_after(m, fade, step - rate.step) + m.gain;
        rate.step = step;
    }
    return rate;
}

// At the anchor.
template <typename T> struct alignas(2 * sizeof(T)) State { T u, g; };

__device__ inline unsigned int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
// Where the arrivals of a neuron begin in a table.
__device__ inline unsigned int column(const Layout& l, unsigned int lane) { return (lane >> 5) * (l.window * ROW) + (lane & 31); }
__device__ inline int signed_gap(unsigned int later, unsigned int earlier) { return (int)(later - earlier); }
__device__ inline int warp_min(int x) {
    for (unsigned int d = 16; d; d /= 2) x = min(x, __shfl_xor_sync(WHOLE, x, d));
    return x;
}
template <typename U> __device__ inline U warp_sum(U x) {
    for (unsigned int d = 16; d; d /= 2) x += __shfl_xor_sync(WHOLE, x, d);
    return x;
}

// A number of 64 bits for a spike, to be added up: src/num/hash.rs.
__device__ inline unsigned long long scrambled(unsigned int step, unsigned int lane) {
    const unsigned long long both = ((unsigned long long)step << 32 | lane) + 0x9e3779b97f4a7c15ull;
    const unsigned long long once = (both ^ both >> 32) * 0xd6e8feb86659fd93ull;
    return (once ^ once >> 32) * 0xd6e8feb86659fd93ull;
}

// Adds numbers of some spikes of a window to its fingerprint.
__device__ inline void add_fingerprint(unsigned int* counters, unsigned long long sum) {
    if (sum) atomicAdd(reinterpret_cast<unsigned long long*>(&counters[FINGERPRINT]), sum);
}

// The model in the arithmetic of the state. Narrowing is exact: the values were rounded before.
template <typename T> struct Constants {
    T theta, u_reset, w_syn;
    // Of the bound on crossings, which is taken in single precision whatever the state is.
    float theta_f, dt_per_tau_m, b_peak, slack;
    unsigned int refractory;
    const Propagator<T>* far;

    __device__ Constants(const Model& m, const void* propagators)
        : theta((T)m.theta), u_reset((T)m.u_reset), w_syn((T)m.w_syn), theta_f(m.theta_f),
          dt_per_tau_m((float)m.dt_per_tau_m), b_peak((float)m.b_peak), slack((float)m.slack + 4e-6f),
          refractory(m.refractory), far(static_cast<const Propagator<T>*>(propagators)) {}
};

// Whether a state is finite numbers, as file_anew() of cpu/cells.rs asks.
__device__ inline bool is_number(double u, double g) { return isfinite(u + g); }
__device__ inline bool is_number(float u, float g) { return isfinite(u) && isfinite(g); }

// A neuron whose state is no number after step `i` of a window, as a word of which the greatest is of the first: by step,
// then neuron. 0 is nobody: there are fewer neurons than a key can name.
__device__ inline unsigned int lost_in(unsigned int i, unsigned int lane) { return ~(i << LANE_BITS | lane); }

// Notes it, in the counters of the window.
__device__ inline void note_lost(unsigned int* counters, const Window& w, unsigned int i, unsigned int lane) {
    atomicMax(&counters[w.slot * COUNTERS + LOST], lost_in(i, lane));
}

// No crossing for longer than any window.
constexpr int NEVER = 1 << 27;

// How many steps from a state until the threshold may be crossed: a lower bound, at least 1, as steps_to_threshold() of
// cpu/neuron.rs. Single precision and a quick division suffice: slack, pull and quotient are off on the safe side by ten
// times what rounding may do. A look that comes early changes nothing.
template <typename T> __device__ inline int steps_to_threshold(T u_t, T g_t, T current_t, const Constants<T>& c) {
    const float u = (float)u_t, g = (float)g_t, current = (float)current_t;
    const float slack = c.slack * (fabsf(u) + fabsf(g) + fabsf(current) + fabsf(c.theta_f));
    const float g_up = fmaxf(g, 0.0f), i_up = fmaxf(current, 0.0f), gap = c.theta_f - slack - u;
    const float pull = i_up + g_up - u + slack;
    const bool never = (fmaxf(0.0f, i_up - u) + c.b_peak * g_up <= gap) | ((pull <= 0.0f) & (gap >= 0.0f));
    const float steps = __fdividef(gap, pull * c.dt_per_tau_m) * 0.999f;
    const int bound = !(gap > 0.0f) | (steps < 1.0f) ? 1 : steps > (float)NEVER ? NEVER : (int)steps;
    return never ? NEVER : bound;
}

// One neuron in registers.
template <typename T> struct Neuron {
    T u, g, current;
    unsigned int anchor, marks;

    __device__ void propagate(unsigned int k, const Constants<T>& c, const Near<T>* near, T& u_k, T& g_k) const {
        const Propagator<T> p = near && k < NEAR ? (*near)[k] : c.far[k];
        u_k = p.a * u + p.b * g;
        if (marks & CURRENT) u_k = u_k + p.c * current;
        g_k = p.d * g;
    }

    // Re-anchors by whole tables until at most one is left.
    __device__ void settle(unsigned int completed, const Constants<T>& c) {
        while (true) {
            const unsigned int k = completed - anchor;
            if ((int)k <= 0 || k <= TABLE) return;
            T u_k, g_k;
            propagate(TABLE, c, nullptr, u_k, g_k);
            if (u_k == u && g_k == g) { // at rest: however many tables remain
                anchor += (k - 1) / TABLE * TABLE;
                return;
            }
            u = u_k;
            g = g_k;
            anchor += TABLE;
        }
    }

    // The state after `completed` steps.
    __device__ void state_at(unsigned int completed, const Constants<T>& c, const Near<T>* near, T& u_k, T& g_k) {
        unsigned int k = completed - anchor;
        if (k > TABLE) {
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

// What is still to happen to a neuron in a window.
struct Agenda {
    // One bit for each step with arrivals or kicks; the step, counted from the start, in which it may cross without.
    unsigned int inputs;
    int look;
    // One bit for each step after which the state was no number.
    unsigned int lost = 0;

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
                              const Near<T>* near, State<T> adds) {
    const unsigned int n = start + i;
    const bool comes = agenda.inputs >> i & 1;
    agenda.inputs &= ~(1u << i);
    T u, g;
    neuron.state_at(n + 1, c, near, u, g);
    const bool fires = u > c.theta, takes_up = comes && !(neuron.marks & CLOSED);
    if (takes_up) {
        u = u + adds.u;
        g = g + adds.g;
    }
    // The CPU looks before the reset, at whoever takes something up.
    if ((takes_up || !fires) && !is_number(u, g)) agenda.lost |= 1u << i;
    if (fires) {
        neuron.u = u = c.u_reset;
        neuron.g = g = T(0);
        const unsigned int pause = neuron.marks & DRIVEN ? 1 : c.refractory;
        neuron.anchor = n + pause;
        i += pause - 1; // integration begins again then
        agenda.wait_until(i + 1);
    } else if (takes_up) {
        neuron.u = u;
        neuron.g = g;
        neuron.anchor = n + 1;
    }
    // The next step is looked at anyway when it brings an input.
    agenda.look = i + 1;
    if (agenda.next_input() != i + 1) agenda.look = i + steps_to_threshold(u, g, neuron.current, c);
    return fires;
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

}  // namespace spiking
