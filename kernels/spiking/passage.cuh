// A resident neuron through a window.
#pragma once
#include "spiking/ensemble.cuh"

namespace spiking {

// A load that stays where it is written: left to itself, the compiler moves each to its use, where it waits for the one
// before (measured: a quiet window took 3,400 cycles more).
__device__ inline int2 fetch(const int* at) {
    int2 pair;
    asm volatile("ld.global.v2.s32 {%0, %1}, [%2];" : "=r"(pair.x), "=r"(pair.y) : "l"(at) : "memory");
    return pair;
}

// Takes what a delivery left in global memory for two neighbours, and leaves nothing there.
template <typename T>
__device__ inline void fetch_arrivals(Ensemble<T>& crew, unsigned int member, unsigned int lane, const Model& m,
                                      unsigned int steps, int* table) {
    int* sums = table + column(m.layout, lane);
#pragma unroll 1
    for (unsigned int from = 0; from < steps; from += BATCH) {
        int2 pairs[BATCH]; // loads in flight together
#pragma unroll
        for (unsigned int j = 0; j < BATCH; ++j)
            pairs[j] = fetch(&sums[(from + j) * ROW]); // beyond the window: of the next group
#pragma unroll
        for (unsigned int j = 0; j < BATCH; ++j) {
            const unsigned int i = from + j;
            if (i >= steps || (pairs[j].x == 0 && pairs[j].y == 0)) continue;
            *reinterpret_cast<int2*>(&crew.sums[i * crew.row + member]) = pairs[j];
            *reinterpret_cast<int2*>(&sums[i * ROW]) = make_int2(0, 0);
            if (pairs[j].x) crew.summed[member] |= 1u << i;
            if (pairs[j].y) crew.summed[member + 1] |= 1u << i;
        }
    }
}

// How much will happen to two neighbours, at most: arrivals may cancel each other.
template <typename T>
__device__ inline uint2 muster(Ensemble<T>& crew, unsigned int member, unsigned int lane, const Model& m, const Window& w,
                               int& wait) {
    unsigned int due[2];
#pragma unroll
    for (unsigned int h = 0; h < 2; ++h) {
        const unsigned int summed = crew.summed[member + h];
        const int gap = signed_gap(crew.check[member + h], (unsigned int)w.step);
        const unsigned int much = __popc(crew.kicked[member + h] | summed) + (gap < (int)w.steps);
        due[h] = lane + h < m.n ? min(much, LONGEST) : 0;
        if (!due[h] && lane + h < m.n) wait = min(wait, gap);
    }
    return make_uint2(due[0], due[1]);
}

// A neuron to which much happens, step by step: every step is looked at, so that no bound on crossings is needed but the
// last, and the chain from step to step is short.
template <typename T>
__device__ inline unsigned int march(Neuron<T>& neuron, Agenda& agenda, int steps, unsigned int start, const Constants<T>& c,
                                     const Ensemble<T>& crew, unsigned int member, unsigned int kicked, T weight) {
    T u = neuron.u, g = neuron.g, last_u = u, last_g = g;
    const int pause = neuron.marks & DRIVEN ? 1 : (int)c.refractory;
    int anchor = signed_gap(neuron.anchor, start);
    unsigned int fired = 0;
#pragma unroll 2
    for (int i = 0; i < steps; ++i) {
        const Propagator<T> p = crew.near[max(i + 1 - anchor, 0)];
        const int sum = crew.peek(i, member); // 0 where nothing arrives
        const bool awake = anchor <= i, comes = awake && (sum != 0 || kicked >> i & 1);
        const T kick = kicked >> i & 1 ? weight : T(0), arrived = c.w_syn * (T)sum;
        const T u_i = p.a * u + p.b * g, g_i = p.d * g;
        const bool fires = awake && u_i > c.theta;
        last_u = fires ? c.u_reset : comes ? u_i + kick : u_i;
        last_g = fires ? T(0) : comes ? g_i + arrived : g_i;
        u = fires || comes ? last_u : u;
        g = fires || comes ? last_g : g;
        anchor = fires ? i + pause : comes ? i + 1 : anchor;
        fired |= (unsigned int)fires << i;
    }
    neuron.u = u;
    neuron.g = g;
    neuron.anchor = start + anchor;
    // Whoever is frozen is as it was reset, until then.
    const bool frozen = anchor >= steps;
    agenda.inputs = 0;
    agenda.look = max(anchor, steps) - 1 + steps_to_threshold(frozen ? u : last_u, frozen ? g : last_g, T(0), c);
    return fired;
}

// One neuron of the block through a window. Returns in which steps it fired.
template <typename T>
__device__ inline unsigned int pass_through(Ensemble<T>& crew, unsigned int member, unsigned int lane, const Window& w,
                                            T weight, const Constants<T>& c, const void* currents, bool much) {
    unsigned int looks = 0;
    const unsigned int kicked = crew.kicked[member], summed = crew.summed[member], start = (unsigned int)w.step;
    const int steps = (int)w.steps;
    const State<T> s = crew.state[member];
    Neuron<T> neuron = {s.u, s.g, T(0), crew.anchor[member], crew.marks[member]};
    if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
    Agenda agenda = {kicked | summed, max(signed_gap(crew.check[member], start), 0)};
    agenda.wait_until(signed_gap(neuron.anchor, start));
    unsigned int fired = 0;
    const bool plain = !(neuron.marks & (CLOSED | CURRENT)) && signed_gap(start + steps, neuron.anchor) < (int)NEAR;
    if (plain && much) {
        looks = steps;
        fired = march(neuron, agenda, steps, start, c, crew, member, kicked, weight);
    } else if (plain) {
        fired = hurry(neuron, agenda, steps, start, c, crew, member, nullptr, summed, kicked, weight, looks);
    }
    for (unsigned int left = agenda.inputs & ~kicked; left; left &= left - 1) {
        const unsigned int i = __ffs(left) - 1;
        if (crew.peek(i, member) == 0) agenda.inputs &= ~(1u << i);
    }
    for (int i = agenda.next(); i < steps; i = agenda.next()) {
        ++looks;
        State<T> adds = {T(0), c.w_syn * (T)crew.peek(i, member)};
        if (kicked >> i & 1) adds.u = weight;
        fired |= (unsigned int)happen(neuron, agenda, i, start, c, &crew.near, adds) << i;
    }
    // Inputs are tame here, so whoever is no number now was none before: from the first step on.
    if (!is_number(neuron.u, neuron.g)) atomicMax(&crew.lost, lost_in(0, lane));
    crew.state[member] = {neuron.u, neuron.g};
    crew.anchor[member] = neuron.anchor;
    crew.check[member] = start + agenda.look;
    atomicMin(&crew.wait[member >> 5], agenda.look);
    for (unsigned int left = summed; left; left &= left - 1) crew.sums[(__ffs(left) - 1) * crew.row + member] = 0;
    crew.summed[member] = 0;
    if (crew.model.counts_active) atomicAdd(&crew.looks, looks);
    return fired;
}

}  // namespace spiking
