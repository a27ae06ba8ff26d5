// Plastic synapses of networks from rules: the CUDA counterpart of src/kinds/spiking/general/plasticity, whose page defines the
// order of events. A synapse is updated when a presynaptic spike is delivered, by the lane that adds its weight.
//
// Blocks run at different speeds within a step, so no value that one block writes is read by another in the same step:
// - The state of a row has two versions. A delivery reads the later one before its spike and overwrites the other; its time alone
//   decides which is which, so a reader that sees the new version half written still takes the right one.
// - The head of a history holds the count and the step of the last spike in one word. A spike of the running step is left out: a
//   dendritic delay is at least one step, so no delivery needs it.
//
// Microseconds per step of NEST's hpc_benchmark at s = k = 1 (81 million plastic synapses, 117,000 updates per step) on an H200:
//   29.5  this version: tables of decays in shared memory, the two most recent spikes of a history loaded together
//   32.5  tables of decays in global memory, the spikes of a history loaded one by one
//   34.5  384 threads per block for lack of registers, tables in shared memory, three spikes loaded together
//   11.9  no updates (learning switched off)
//
// A history that the next presynaptic spike reads, and an index by target with which a kernel per postsynaptic spike updates the
// weights of a neuron, compared by a program of their own on an H200: 9,000 neurons at 12 Hz, 81 million synapses with the power
// law, updates and delivery without the rest of a step; ms per 200 ms in launches per delay / per step, memory. All weights and
// delivered sums are equal, bit for bit:
//   18.2 / 38.1   659 MB  history. Kept
//   13.3 / 28.5  1136 MB  index by target, weights in the order of rows: a column reads and writes scattered weights
//   12.7 / 28.3  1136 MB  weights in the order of columns: a row reads and writes scattered weights
// The history is kept although its updates take 1.34 times as long: it needs 58 % of the memory, and a weight is
// written by one kernel only, which serves all rules.
#pragma once
#include "common/exact.cuh"

namespace rules {

// Number of fine entries of a table of decays, as in plasticity/decay.rs.
constexpr unsigned int FINE = 1024;
// Number of spikes of a history that an update loads together.
constexpr unsigned int RECENT = 2;

// Weights, histories and rules of the plastic projections.
struct Plasticity {
    const RulesPlastic* projections;
    const unsigned int* incoming;         // indices of plastic projections, by postsynaptic population
    const float* decays;                  // in global or shared memory
    RulesRowState* rows;                  // two versions per row
    unsigned long long* heads;            // by postsynaptic neuron: number of spikes, and step of the last one in the upper half
    unsigned long long* entries;          // recent spikes: step, and trace in the upper half
    float* seconds;                       // slow traces before the recent spikes
    float* weights;
    float* eligibility;
    unsigned long long* hash;             // sum over the delivered weights
};

// State of a row for one delivery.
struct RowNow {
    unsigned int last;     // synapse time of the presynaptic spike before
    unsigned int updated;  // synapse time of the last update
    unsigned int to;       // synapse time of this delivery
    float trace;           // presynaptic trace at `last`
    float slow;            // slow presynaptic trace at `to`
    float efficacy;        // short-term plasticity: u x at this spike
};

// Whether time a is after time b.
__device__ inline bool is_after(unsigned int a, unsigned int b) { return (int)(a - b) > 0; }

// Decay over a number of steps. `table`: index of the first entry, and number of entries less one.
__device__ inline float decay_over(const Plasticity& p, const RulesDecay& table, unsigned int age) {
    const unsigned int coarse = min(FINE + age / FINE, table.last);
    return p.decays[table.first + coarse] * p.decays[table.first + age % FINE];
}

// A trace after a spike, from its value at the spike before and the decay since.
__device__ inline float after_spike(const RulesPlastic& of, float before, float decay) { return of.is_nearest ? 1.0f : before * decay + 1.0f; }

__device__ inline float power(float x, float mu) {
    if (mu == 0.0f) return 1.0f;
    if (mu == 1.0f) return x;
    return x < 1.17549435e-38f ? 0.0f : exact::exp(mu * exact::ln(x));
}

__device__ inline float bounded(float w, float w_max) { return w > 0.0f ? (w < w_max ? w : w_max) : 0.0f; }

// A synapse during an update: absolute weight, and eligibility at the synapse time `at`.
struct Synapse {
    float w, c;
    unsigned int at;
};

__device__ inline void decay_eligibility(const Plasticity& p, const RulesPlastic& of, Synapse& s, unsigned int at) {
    s.c = s.c * decay_over(p, of.eligible, at - s.at);
    s.at = at;
}

// Applies a postsynaptic spike.
__device__ inline void post(const Plasticity& p, const RulesPlastic& of, Synapse& s, unsigned int at, float k_plus, float slow) {
    switch (of.law) {
        case PLASTIC_PAIR: s.w = bounded(s.w + of.a_plus * (power(1.0f - s.w / of.w_max, of.mu_plus) * k_plus), of.w_max); break;
        case PLASTIC_POWER_LAW: s.w = bounded(s.w + of.a_plus * (power(s.w, of.mu_plus) * k_plus), of.w_max); break;
        case PLASTIC_TRIPLET: s.w = bounded(s.w + k_plus * (of.a_plus + of.b_plus * slow), of.w_max); break;
        case PLASTIC_INHIBITORY: s.w = bounded(s.w + of.a_plus * k_plus, of.w_max); break;
        default:
            decay_eligibility(p, of, s, at);
            s.c = s.c + of.a_plus * k_plus;
    }
}

// Applies a presynaptic spike.
__device__ inline void pre(const Plasticity& p, const RulesPlastic& of, Synapse& s, unsigned int at, float k_minus, float slow) {
    switch (of.law) {
        case PLASTIC_PAIR: s.w = bounded(s.w - of.a_minus * (power(s.w / of.w_max, of.mu_minus) * k_minus), of.w_max); break;
        case PLASTIC_POWER_LAW: s.w = bounded(s.w - of.a_minus * (s.w * k_minus), of.w_max); break;
        case PLASTIC_TRIPLET: s.w = bounded(s.w - k_minus * (of.a_minus + of.b_minus * slow), of.w_max); break;
        case PLASTIC_INHIBITORY: s.w = bounded(s.w + of.a_plus * (k_minus - of.a_minus), of.w_max); break;
        default:
            decay_eligibility(p, of, s, at);
            s.c = s.c - of.a_minus * k_minus;
    }
}

// Brings a synapse to the synapse time of its row, at which a presynaptic spike arrives if `is_spike`. `gain`: change of a
// weight per eligibility at the end of an interval; `running`: step whose spikes are left out. Returns the absolute weight.
__device__ inline float update(const Plasticity& p, const RulesPlastic& of, const RowNow& row, unsigned int word, unsigned long long at,
                               bool is_spike, float gain, unsigned int running) {
    const unsigned int target = word & ((1u << TARGET_BITS) - 1), dendritic = of.dendritic_min + (word >> TARGET_BITS);
    float* const weight = p.weights + of.weights + at;
    const unsigned int bits = __float_as_uint(__ldcg(weight));
    if (!of.is_learning) return __uint_as_float(bits);
    const bool is_eligible = of.law == PLASTIC_REWARD;
    Synapse s = {__uint_as_float(bits & 0x7fffffffu), is_eligible ? __ldcg(p.eligibility + of.eligibility + at) : 0.0f, row.updated};
    const unsigned long long head = __ldcg(p.heads + of.heads + target);
    const unsigned long long places = of.entries + (unsigned long long)target * (of.mask + 1);
    unsigned int end = (unsigned int)head;
    if (end && (unsigned int)(head >> 32) == running) --end;
    const unsigned int oldest = end - min(end, of.mask); // the place before may be overwritten in this step
    // The most recent spikes are loaded together, because most updates need one or two.
    unsigned long long recent[RECENT];
#pragma unroll
    for (unsigned int k = 0; k < RECENT; ++k) recent[k] = k < end - oldest ? __ldcg(p.entries + places + ((end - 1 - k) & of.mask)) : 0;
    const auto spike_at = [&](unsigned int index) {
        const unsigned int k = end - 1 - index;
        unsigned long long spike = recent[0];
#pragma unroll
        for (unsigned int i = 1; i < RECENT; ++i) spike = k == i ? recent[i] : spike;
        return k < RECENT ? spike : __ldcg(p.entries + places + (index & of.mask));
    };
    unsigned int next = end;
    unsigned long long entry = 0; // the spike before `next`
    while (next != oldest) {
        entry = spike_at(next - 1);
        if (!is_after((unsigned int)entry + dendritic, row.updated)) break;
        --next;
    }
    bool has_before = next != oldest; // whether `entry` is the spike before `next`
    unsigned long long before = entry;
    bool had_before = false;
    for (; next != end; ++next) {
        const unsigned long long spike = spike_at(next);
        const unsigned int time = (unsigned int)spike + dendritic;
        if (is_after(time, row.to)) break;
        const float k_plus = row.trace * decay_over(p, of.plus, time - row.last);
        post(p, of, s, time, k_plus, of.has_slow ? __ldcg(p.seconds + of.seconds + (unsigned long long)target * (of.mask + 1) + (next & of.mask)) : 0.0f);
        before = entry;
        had_before = has_before;
        entry = spike;
        has_before = true;
    }
    if (is_spike) {
        if (has_before && (unsigned int)entry + dendritic == row.to) { // a postsynaptic spike at the same time does not pair
            entry = before;
            has_before = had_before;
        }
        const float k_minus = has_before ? __uint_as_float((unsigned int)(entry >> 32)) * decay_over(p, of.minus, row.to - ((unsigned int)entry + dendritic)) : 0.0f;
        pre(p, of, s, row.to, k_minus, row.slow);
    } else if (is_eligible) {
        decay_eligibility(p, of, s, row.to);
        s.w = bounded(s.w + gain * s.c, of.w_max);
    }
    __stcg(weight, __uint_as_float(__float_as_uint(s.w) | (bits & 0x80000000u)));
    if (is_eligible) __stcg(p.eligibility + of.eligibility + at, s.c);
    return __uint_as_float(__float_as_uint(s.w) | (bits & 0x80000000u));
}

__device__ inline RulesRowState load_row(const RulesRowState* at) {
    const uint4 words = __ldcg(reinterpret_cast<const uint4*>(at));
    RulesRowState state;
    state.last = words.x;
    state.trace = __uint_as_float(words.y);
    state.second = __uint_as_float(words.z);
    state.pad = 0;
    return state;
}

// Returns the state of a row for the spike that is delivered in `step`. The thread with `writes` adds the spike to the traces.
__device__ inline RowNow enter_row(const Plasticity& p, const RulesPlastic& of, unsigned int source, unsigned long long step, bool writes) {
    RulesRowState* const versions = p.rows + 2 * (of.rows + source);
    const RulesRowState first = load_row(versions), second = load_row(versions + 1);
    RowNow row;
    row.to = (unsigned int)step - of.dendritic_min;
    const bool takes_first = is_after(row.to, first.last) && !(is_after(row.to, second.last) && is_after(second.last, first.last));
    const RulesRowState now = takes_first ? first : second;
    const unsigned int age = row.to - now.last;
    row.last = now.last;
    row.updated = is_after(of.settled, now.last) ? of.settled : now.last;
    row.trace = now.trace;
    row.slow = of.has_slow ? now.second * decay_over(p, of.slow_pre, age) : 0.0f;
    RulesRowState after = now;
    if (of.law == PLASTIC_SHORT_TERM) {
        after.second = 1.0f + ((now.second - now.second * now.trace) - 1.0f) * decay_over(p, of.plus, age);
        after.trace = of.a_plus + (now.trace * (1.0f - of.a_plus)) * decay_over(p, of.minus, age);
    } else {
        after.trace = after_spike(of, now.trace, decay_over(p, of.plus, age));
        if (of.has_slow) after.second = after_spike(of, now.second, decay_over(p, of.slow_pre, age));
    }
    row.efficacy = after.trace * after.second;
    if (writes) {
        const uint4 words = {row.to, __float_as_uint(after.trace), __float_as_uint(after.second), 0};
        __stcg(reinterpret_cast<uint4*>(versions + (takes_first ? 1 : 0)), words);
    }
    return row;
}

// Adds a spike of a neuron to the histories of the plastic projections onto it.
__device__ inline void record(const Plasticity& p, unsigned int from, unsigned int to, unsigned int neuron, unsigned int step) {
    for (unsigned int i = from; i < to; ++i) {
        const RulesPlastic& of = p.projections[p.incoming[i]];
        if (of.law == PLASTIC_SHORT_TERM) continue;
        const unsigned long long head = __ldcg(p.heads + of.heads + neuron);
        const unsigned long long places = (unsigned long long)neuron * (of.mask + 1);
        const unsigned int count = (unsigned int)head, last = (unsigned int)(head >> 32);
        float trace = 1.0f, second = 0.0f;
        if (count) {
            const unsigned int before = (count - 1) & of.mask;
            trace = after_spike(of, __uint_as_float((unsigned int)(__ldcg(p.entries + of.entries + places + before) >> 32)), decay_over(p, of.minus, step - last));
            if (of.has_slow) {
                const float after = of.is_nearest ? 1.0f : __ldcg(p.seconds + of.seconds + places + before) + 1.0f;
                second = after * decay_over(p, of.slow_post, step - last);
            }
        }
        __stcg(p.entries + of.entries + places + (count & of.mask), (unsigned long long)__float_as_uint(trace) << 32 | step);
        if (of.has_slow) __stcg(p.seconds + of.seconds + places + (count & of.mask), second);
        __stcg(p.heads + of.heads + neuron, (unsigned long long)step << 32 | (count + 1));
    }
}

// Mixes a delivered weight for the hash, as `StreamHash::push_spike`.
__device__ inline unsigned long long mixed(unsigned int high, unsigned int low) {
    const unsigned long long both = ((unsigned long long)high << 32 | low) + 0x9e3779b97f4a7c15ull;
    const unsigned long long once = (both ^ both >> 32) * 0xd6e8feb86659fd93ull;
    return (once ^ once >> 32) * 0xd6e8feb86659fd93ull;
}

// The part of the hash that the weights of a row have in common when they are delivered in `step`.
__device__ inline unsigned long long row_key(unsigned int projection, unsigned int source, unsigned int step) {
    const unsigned long long row = mixed(projection, source);
    return mixed(step ^ (unsigned int)(row >> 32), (unsigned int)row);
}

}  // namespace rules
