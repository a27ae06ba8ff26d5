// One neuron: its state at the anchor, its closed-form solution, and its events in a window. The counterpart of
// src/kinds/spiking/cpu/neuron.rs.
#pragma once
#include "common/trains.cuh"

namespace spiking {

constexpr unsigned int FULL_MASK = 0xffffffffu;
// Propagators of this many steps are cached in shared memory; older anchors read global memory.
constexpr unsigned int CACHED_STEPS = 128;
// Threads per block of `step_lif`, and neurons per block: two per thread, so that all blocks of a brain of 140,000
// neurons are resident. A second wave would double the time, most of which is latency.
constexpr unsigned int BLOCK = NEURONS_PER_BLOCK / 2;
// Steps of a window whose arrivals are staged in shared memory as 16 bits; larger sums are read from global memory.
constexpr unsigned int STAGED_STEPS = 24;
constexpr int TOO_LARGE = -32768;
// COUNTERS of a window: synaptic events per step, in several copies on separate cache lines to reduce contention of
// atomics; then the number of evaluated neurons; two words further the hash of its spikes; then the first non-finite
// neuron.
// Arrivals are stored by group of 32 neurons, step and neuron, so that a warp reads a window contiguously. (By step
// and neuron, the rows of a window would be in many memory pages.) Distance of two steps:
constexpr unsigned int ROW = 32;
// The key of a spike: step in the window in the upper bits, neuron in the lower LANE_BITS.

// u(k) = a u + b g + c I, g(k) = d g.
template <typename T> struct alignas(4 * sizeof(T)) Propagator { T a, b, d, c; };

// Propagators of the first steps in shared memory, as separate arrays to avoid bank conflicts.
template <typename T> struct PropagatorCache {
    T a[CACHED_STEPS], b[CACHED_STEPS], d[CACHED_STEPS], c[CACHED_STEPS];

    __device__ Propagator<T> operator[](unsigned int k) const { return {a[k], b[k], d[k], c[k]}; }
    // Called by all threads of a block.
    __device__ void fill(const void* propagators) {
        for (unsigned int k = threadIdx.x; k < CACHED_STEPS; k += blockDim.x) {
            const Propagator<T> p = static_cast<const Propagator<T>*>(propagators)[k];
            a[k] = p.a;
            b[k] = p.b;
            d[k] = p.d;
            c[k] = p.c;
        }
    }
};

// Decay of a running rate over `age` steps: product of two table entries, as in measure.rs.
__device__ inline float fade_after(const Model& m, const float* __restrict__ fade, unsigned int age) {
    const unsigned int coarse = age / 1024;
    return coarse < m.n_coarse ? __ldg(&fade[1024 + coarse]) * __ldg(&fade[age % 1024]) : 0.0f;
}

// The running rate of a neuron after the spikes of a window.
__device__ inline DeviceRate average(const Model& m, const float* __restrict__ fade, DeviceRate rate, unsigned int start,
                                  unsigned int fired) {
    for (; fired; fired &= fired - 1) {
        const unsigned int step = start + __ffs(fired) - 1;
        rate.hz = rate.hz * fade_after(m, fade, step - rate.step) + m.gain;
        rate.step = step;
    }
    return rate;
}

// The state at the anchor.
template <typename T> struct alignas(2 * sizeof(T)) State { T u, g; };

__device__ inline unsigned int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }
// Offset of a neuron's arrivals in the table.
__device__ inline unsigned int column(const RingLayout& l, unsigned int lane) { return (lane >> 5) * (l.window * ROW) + (lane & 31); }
__device__ inline int signed_gap(unsigned int later, unsigned int earlier) { return (int)(later - earlier); }
__device__ inline int warp_min(int x) {
    for (unsigned int d = 16; d; d /= 2) x = min(x, __shfl_xor_sync(FULL_MASK, x, d));
    return x;
}
template <typename U> __device__ inline U warp_sum(U x) {
    for (unsigned int d = 16; d; d /= 2) x += __shfl_xor_sync(FULL_MASK, x, d);
    return x;
}

// A 64-bit hash of a spike, to be summed: src/num/hash.rs.
__device__ inline unsigned long long spike_hash(unsigned int step, unsigned int lane) {
    const unsigned long long both = ((unsigned long long)step << 32 | lane) + 0x9e3779b97f4a7c15ull;
    const unsigned long long once = (both ^ both >> 32) * 0xd6e8feb86659fd93ull;
    return (once ^ once >> 32) * 0xd6e8feb86659fd93ull;
}

// Adds hashes of spikes to the hash of their window.
__device__ inline void add_hash(unsigned int* counters, unsigned long long sum) {
    if (sum) atomicAdd(reinterpret_cast<unsigned long long*>(&counters[HASH]), sum);
}

// Model constants in the precision of the state. Narrowing is exact: the values were rounded on the host.
template <typename T> struct Constants {
    T theta, u_reset, w_syn;
    // For the threshold bound, which uses single precision for both state precisions.
    float theta_f, dt_per_tau_m, b_peak, slack;
    unsigned int refractory;
    const Propagator<T>* propagators;

    __device__ Constants(const Model& m, const void* propagators)
        : theta((T)m.lif.theta), u_reset((T)m.lif.u_reset), w_syn((T)m.lif.w_syn), theta_f(m.theta_f),
          dt_per_tau_m((float)m.lif.dt_per_tau_m), b_peak((float)m.lif.b_peak), slack((float)m.lif.slack + 4e-6f),
          refractory(m.refractory), propagators(static_cast<const Propagator<T>*>(propagators)) {}
};

// Whether a state is finite, as reschedule() of cpu/neuron_store.rs.
__device__ inline bool is_finite_state(double u, double g) { return isfinite(u + g); }
__device__ inline bool is_finite_state(float u, float g) { return isfinite(u) && isfinite(g); }

// The key of a neuron that is non-finite after step `i` of a window: the maximum over keys is the first by step, then
// neuron. 0 means none: the neuron index never fills its bits.
__device__ inline unsigned int non_finite_key(unsigned int i, unsigned int lane) { return ~(i << LANE_BITS | lane); }

// Records it in the counters of the window.
__device__ inline void record_non_finite(unsigned int* counters, const Window& w, unsigned int i, unsigned int lane) {
    atomicMax(&counters[w.slot * COUNTERS + NON_FINITE], non_finite_key(i, lane));
}

// No threshold crossing within any window.
constexpr int NEVER = 1 << 27;

// Lower bound on the steps until the threshold may be crossed, at least 1, as steps_to_threshold() of cpu/neuron.rs.
// Single precision and fast division suffice: the margins of slack, pull and quotient are ten times the rounding
// error. An early check changes nothing.
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

    __device__ void propagate(unsigned int k, const Constants<T>& c, const PropagatorCache<T>* cached, T& u_k, T& g_k) const {
        const Propagator<T> p = cached && k < CACHED_STEPS ? (*cached)[k] : c.propagators[k];
        u_k = p.a * u + p.b * g;
        if (marks & CURRENT) u_k = u_k + p.c * current;
        g_k = p.d * g;
    }

    // Advances the anchor by whole tables until at most one is left.
    __device__ void advance_anchor(unsigned int completed, const Constants<T>& c) {
        while (true) {
            const unsigned int k = completed - anchor;
            if ((int)k <= 0 || k <= TABLE) return;
            T u_k, g_k;
            propagate(TABLE, c, nullptr, u_k, g_k);
            if (u_k == u && g_k == g) { // at rest: any number of tables
                anchor += (k - 1) / TABLE * TABLE;
                return;
            }
            u = u_k;
            g = g_k;
            anchor += TABLE;
        }
    }

    // The state after `completed` steps.
    __device__ void state_at(unsigned int completed, const Constants<T>& c, const PropagatorCache<T>* cached, T& u_k, T& g_k) {
        unsigned int k = completed - anchor;
        if (k > TABLE) {
            if ((int)k <= 0) { // refractory
                u_k = u;
                g_k = g;
                return;
            }
            advance_anchor(completed, c);
            k = completed - anchor;
        }
        propagate(k, c, cached, u_k, g_k);
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

// The remaining events of a neuron in a window.
struct PendingEvents {
    // One bit per step with arrivals or kicks; and the step (from the start of the window) of the next threshold
    // check.
    unsigned int inputs;
    int next_check;
    // One bit per step after which the state is not finite.
    unsigned int non_finite = 0;

    // Input to a refractory neuron is lost: no events before step `free`.
    __device__ void wait_until(int free) {
        inputs = free >= 32 ? 0 : free > 0 ? inputs & (FULL_MASK << free) : inputs;
        next_check = max(next_check, free);
    }
    // The next step with input, or 32.
    __device__ int next_input() const { return inputs ? __ffs(inputs) - 1 : 32; }
    // The step of the next event.
    __device__ int next() const { return min(next_input(), next_check); }
};

// Processes one event: evaluates the neuron in step i of a window and applies the input `adds` to u and g. Returns
// whether it fired.
template <typename T>
__device__ inline bool process_event(Neuron<T>& neuron, PendingEvents& pending, int i, unsigned int start, const Constants<T>& c,
                              const PropagatorCache<T>* cached, State<T> adds) {
    const unsigned int n = start + i;
    const bool has_input = pending.inputs >> i & 1;
    pending.inputs &= ~(1u << i);
    T u, g;
    neuron.state_at(n + 1, c, cached, u, g);
    const bool fires = u > c.theta, takes_input = has_input && !(neuron.marks & CLOSED);
    if (takes_input) {
        u = u + adds.u;
        g = g + adds.g;
    }
    // As on the CPU: checked before the reset, for neurons that receive input.
    if ((takes_input || !fires) && !is_finite_state(u, g)) pending.non_finite |= 1u << i;
    if (fires) {
        neuron.u = u = c.u_reset;
        neuron.g = g = T(0);
        const unsigned int refractory_steps = neuron.marks & DRIVEN ? 1 : c.refractory;
        neuron.anchor = n + refractory_steps;
        i += refractory_steps - 1; // integration resumes then
        pending.wait_until(i + 1);
    } else if (takes_input) {
        neuron.u = u;
        neuron.g = g;
        neuron.anchor = n + 1;
    }
    // An input in the next step causes a check anyway.
    pending.next_check = i + 1;
    if (pending.next_input() != i + 1) pending.next_check = i + steps_to_threshold(u, g, neuron.current, c);
    return fires;
}

// Loads a neuron from global memory.
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
