// Steps a persistent neuron through a window.
#pragma once
#include "spiking/hot_state.cuh"

namespace spiking {

// Load that stays where it is written: otherwise the compiler moves each load to its use, where it waits for the
// previous one (measured: 3,400 cycles more in a quiet window).
__device__ inline int2 load_pair(const int* at) {
    int2 pair;
    asm volatile("ld.global.v2.s32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "l"(at) : "memory");
    return pair;
}

// Moves arrivals that `deliver_spikes` left in global memory into shared memory, for two adjacent neurons.
template <typename T>
__device__ inline void take_arrivals(HotState<T>& smem, unsigned int member, unsigned int lane, const Model& m,
                                      unsigned int steps, int* table) {
    int* sums = table + column(m.layout, lane);
#pragma unroll 1
    for (unsigned int from = 0; from < steps; from += LOADS_IN_FLIGHT) {
        int2 pairs[LOADS_IN_FLIGHT]; // loads in flight together
#pragma unroll
        for (unsigned int j = 0; j < LOADS_IN_FLIGHT; ++j)
            pairs[j] = load_pair(&sums[(from + j) * ROW]); // beyond the window: of the next group
#pragma unroll
        for (unsigned int j = 0; j < LOADS_IN_FLIGHT; ++j) {
            const unsigned int i = from + j;
            if (i >= steps || (pairs[j].x == 0 && pairs[j].y == 0)) continue;
            *reinterpret_cast<int2*>(&smem.sums[i * smem.row + member]) = pairs[j];
            *reinterpret_cast<int2*>(&sums[i * ROW]) = make_int2(0, 0);
            if (pairs[j].x) smem.summed[member] |= 1u << i;
            if (pairs[j].y) smem.summed[member + 1] |= 1u << i;
        }
    }
}

// Upper bounds on the numbers of events of two adjacent neurons: arrivals may cancel.
template <typename T>
__device__ inline uint2 count_events(HotState<T>& smem, unsigned int member, unsigned int lane, const Model& m, const Window& w,
                               int& wait) {
    unsigned int due[2];
#pragma unroll
    for (unsigned int h = 0; h < 2; ++h) {
        const unsigned int summed = smem.summed[member + h];
        const int gap = signed_gap(smem.check[member + h], (unsigned int)w.step);
        const unsigned int is_dense = __popc(smem.kicked[member + h] | summed) + (gap < (int)w.steps);
        due[h] = lane + h < m.n ? min(is_dense, MAX_WINDOW_STEPS) : 0;
        if (!due[h] && lane + h < m.n) wait = min(wait, gap);
    }
    return make_uint2(due[0], due[1]);
}

// Evaluates a neuron with many events in every step: this needs only the last threshold bound, and the dependent
// chain per step is short.
template <typename T>
__device__ inline unsigned int step_dense(Neuron<T>& neuron, PendingEvents& pending, int steps, unsigned int start, const Constants<T>& c,
                                     const HotState<T>& smem, unsigned int member, unsigned int kicked, T weight) {
    T u = neuron.u, g = neuron.g, last_u = u, last_g = g;
    const int refractory_steps = neuron.marks & DRIVEN ? 1 : (int)c.refractory;
    int anchor = signed_gap(neuron.anchor, start);
    unsigned int fired = 0;
#pragma unroll 2
    for (int i = 0; i < steps; ++i) {
        const Propagator<T> p = smem.cached[max(i + 1 - anchor, 0)];
        const int sum = smem.peek(i, member); // 0 without arrivals
        const bool awake = anchor <= i, has_input = awake && (sum != 0 || kicked >> i & 1);
        const T kick = kicked >> i & 1 ? weight : T(0), arrived = c.w_syn * (T)sum;
        const T u_i = p.a * u + p.b * g, g_i = p.d * g;
        const bool fires = awake && u_i > c.theta;
        last_u = fires ? c.u_reset : has_input ? u_i + kick : u_i;
        last_g = fires ? T(0) : has_input ? g_i + arrived : g_i;
        u = fires || has_input ? last_u : u;
        g = fires || has_input ? last_g : g;
        anchor = fires ? i + refractory_steps : has_input ? i + 1 : anchor;
        fired |= (unsigned int)fires << i;
    }
    neuron.u = u;
    neuron.g = g;
    neuron.anchor = start + anchor;
    // A refractory neuron keeps its reset state.
    const bool frozen = anchor >= steps;
    pending.inputs = 0;
    pending.next_check = max(anchor, steps) - 1 + steps_to_threshold(frozen ? u : last_u, frozen ? g : last_g, T(0), c);
    return fired;
}

// Steps one neuron of the block through a window. Returns one bit per step with a spike.
template <typename T>
__device__ inline unsigned int step_window(HotState<T>& smem, unsigned int member, unsigned int lane, const Window& w,
                                            T weight, const Constants<T>& c, const void* currents, bool is_dense) {
    unsigned int n_evaluated = 0;
    const unsigned int kicked = smem.kicked[member], summed = smem.summed[member], start = (unsigned int)w.step;
    const int steps = (int)w.steps;
    const State<T> s = smem.state[member];
    Neuron<T> neuron = {s.u, s.g, T(0), smem.anchor[member], smem.marks[member]};
    if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
    PendingEvents pending = {kicked | summed, max(signed_gap(smem.check[member], start), 0)};
    pending.wait_until(signed_gap(neuron.anchor, start));
    unsigned int fired = 0;
    const bool plain = !(neuron.marks & (CLOSED | CURRENT)) && signed_gap(start + steps, neuron.anchor) < (int)CACHED_STEPS;
    if (plain && is_dense) {
        n_evaluated = steps;
        fired = step_dense(neuron, pending, steps, start, c, smem, member, kicked, weight);
    } else if (plain) {
        fired = step_sparse(neuron, pending, steps, start, c, smem, member, nullptr, summed, kicked, weight, n_evaluated);
    }
    for (unsigned int left = pending.inputs & ~kicked; left; left &= left - 1) {
        const unsigned int i = __ffs(left) - 1;
        if (smem.peek(i, member) == 0) pending.inputs &= ~(1u << i);
    }
    for (int i = pending.next(); i < steps; i = pending.next()) {
        ++n_evaluated;
        State<T> adds = {T(0), c.w_syn * (T)smem.peek(i, member)};
        if (kicked >> i & 1) adds.u = weight;
        fired |= (unsigned int)process_event(neuron, pending, i, start, c, &smem.cached, adds) << i;
    }
    // Inputs are bounded here, so a non-finite state was non-finite before: recorded for the first step.
    if (!is_finite_state(neuron.u, neuron.g)) atomicMax(&smem.non_finite, non_finite_key(0, lane));
    smem.state[member] = {neuron.u, neuron.g};
    smem.anchor[member] = neuron.anchor;
    smem.check[member] = start + pending.next_check;
    atomicMin(&smem.wait[member >> 5], pending.next_check);
    for (unsigned int left = summed; left; left &= left - 1) smem.sums[(__ffs(left) - 1) * smem.row + member] = 0;
    smem.summed[member] = 0;
    if (smem.model.counts_active) atomicAdd(&smem.n_evaluated, n_evaluated);
    return fired;
}

}  // namespace spiking
