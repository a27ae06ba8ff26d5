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

// Reads what arrives at two neighbours, and returns how much will happen to each.
template <typename T>
__device__ inline uint2 gather(Ensemble<T>& crew, unsigned int member, unsigned int lane, const Model& m, const Window& w,
                               bool arrived, const int* table, int& wait, unsigned int& filled) {
    unsigned int summed[2] = {0, 0};
    if (arrived) {
        const int* sums = table + column(m, lane);
        const unsigned int steps = w.steps;
#pragma unroll 1
        for (unsigned int from = 0; from < steps; from += BATCH) {
            int2 pairs[BATCH]; // loads in flight together
            const int* row = sums + from * ROW;
            unsigned int some[2] = {0, 0};
#pragma unroll
            for (unsigned int j = 0; j < BATCH; ++j)
                pairs[j] = fetch(&row[j * ROW]); // beyond the window: of the next group
#pragma unroll
            for (unsigned int j = 0; j < BATCH; ++j) {
                // No jumps around what was read, or each load would be moved there and wait for the one before.
                const unsigned int i = from + j;
                const short2 both = make_short2(staged(pairs[j].x), staged(pairs[j].y));
                some[0] |= (unsigned int)(pairs[j].x != 0) << j;
                some[1] |= (unsigned int)(pairs[j].y != 0) << j;
                if (i < STAGED) *reinterpret_cast<short2*>(&crew.sums[i][member]) = both;
            }
            summed[0] |= some[0] << from;
            summed[1] |= some[1] << from;
        }
        const unsigned int valid = steps < 32 ? (1u << steps) - 1 : WHOLE;
        summed[0] &= valid;
        summed[1] &= valid;
    }
    filled = summed[0] | summed[1];
    unsigned int due[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int gap = signed_gap(crew.check[member + h], (unsigned int)w.step);
        const unsigned int much = __popc(crew.kicked[member + h] | summed[h]) + (gap < (int)w.steps);
        crew.summed[member + h] = summed[h];
        due[h] = lane + h < m.n ? min(much, LONGEST) : 0;
        if (!due[h] && lane + h < m.n) wait = min(wait, gap);
    }
    return make_uint2(due[0], due[1]);
}

// A neuron to which much happens, step by step: every step is looked at, so that no bound on crossings is needed but the
// last, and the chain from step to step is short.
template <typename T>
__device__ inline unsigned int march(Neuron<T>& neuron, Agenda& agenda, int steps, unsigned int start, const Constants<T>& c,
                                     const Ensemble<T>& crew, unsigned int member, const int* sums,
                                     unsigned int summed, unsigned int kicked, T weight) {
    T u = neuron.u, g = neuron.g, last_u = u, last_g = g;
    const int pause = neuron.marks & DRIVEN ? 1 : (int)c.refractory;
    int anchor = signed_gap(neuron.anchor, start);
    unsigned int fired = 0;
#pragma unroll 2
    for (int i = 0; i < steps; ++i) {
        const Propagator<T> p = crew.near[max(i + 1 - anchor, 0)];
        int sum = crew.sums[i][member];
        sum = summed >> i & 1 ? sum : 0;
        if (sum == TOO_LARGE) sum = sums[i * ROW];
        const bool awake = anchor <= i, comes = awake && (kicked | summed) >> i & 1;
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
__device__ inline unsigned int pass_through(Ensemble<T>& crew, unsigned int member, unsigned int lane, const Model& m,
                                            const Window& w, T weight,
                                            const Constants<T>& c, const void* currents, const int* table, bool much) {
    unsigned int looks = 0;
    const unsigned int kicked = crew.kicked[member], summed = crew.summed[member], start = (unsigned int)w.step;
    const int steps = (int)w.steps;
    const State<T> s = crew.state[member];
    Neuron<T> neuron = {s.u, s.g, T(0), crew.anchor[member], crew.marks[member]};
    if (neuron.marks & CURRENT) neuron.current = static_cast<const T*>(currents)[lane];
    Agenda agenda = {kicked | summed, max(signed_gap(crew.check[member], start), 0)};
    agenda.wait_until(signed_gap(neuron.anchor, start));
    const int* sums = table + column(m, lane);
    unsigned int fired = 0;
    const bool plain = steps <= (int)STAGED && !(neuron.marks & (CLOSED | CURRENT)) &&
                       signed_gap(start + steps, neuron.anchor) < (int)NEAR;
    if (plain && much) {
        looks = steps;
        fired = march(neuron, agenda, steps, start, c, crew, member, sums, summed, kicked, weight);
    } else if (plain) {
        fired = hurry(neuron, agenda, steps, start, c, crew, member, sums, summed, kicked, weight, looks);
    }
    for (int i = agenda.next(); i < steps; i = agenda.next()) {
        ++looks;
        int sum = summed >> i & 1 ? i < (int)STAGED ? crew.sums[i][member] : TOO_LARGE : 0;
        if (sum == TOO_LARGE) sum = sums[i * ROW];
        State<T> adds = {T(0), c.w_syn * (T)sum};
        if (kicked >> i & 1) adds.u = weight;
        fired |= (unsigned int)happen(neuron, agenda, i, start, c, &crew.near, adds) << i;
    }
    crew.state[member] = {neuron.u, neuron.g};
    crew.anchor[member] = neuron.anchor;
    crew.check[member] = start + agenda.look;
    atomicMin(&crew.wait[member >> 5], agenda.look);
    if (m.counts_active) atomicAdd(&crew.looks, looks);
    return fired;
}

}  // namespace spiking
