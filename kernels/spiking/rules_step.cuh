// Networks from rules: the step of a block. Included by rules.cu and rules_plastic.cu, which declare the kernels.
#pragma once
#include "spiking/rules_rows.cuh"
#include "spiking/grid_barrier.cuh"

// Parameters that the kernels of both files have in common, in the order of their declarations in Rust.
#define RULES_DELIVERY_PARAMETERS \
    const RulesModel* __restrict__ model, const RulesClock* __restrict__ clock, \
    const RulesPopulation* __restrict__ populations, const RulesProjection* __restrict__ projections, \
    const unsigned int* __restrict__ outgoing, const unsigned int* __restrict__ far_delays, \
    const unsigned long long* __restrict__ starts, const unsigned int* __restrict__ splits, \
    const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, \
    const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, \
    const unsigned int* __restrict__ spikes, int* __restrict__ sums
#define RULES_DELIVERY_ARGUMENTS \
    model, clock, populations, projections, outgoing, far_delays, starts, splits, words, weights, gain_of, gains, lists, \
    spikes, sums
#define RULES_STEP_PARAMETERS \
    const RulesPopulation* __restrict__ populations, const unsigned short* __restrict__ population_of, \
    const float* __restrict__ values, const RulesInput* __restrict__ inputs, const unsigned int* __restrict__ tables, \
    const Model* __restrict__ kicking, const KickSource* __restrict__ sources, const unsigned long long* __restrict__ chances, \
    const unsigned int* __restrict__ masks, const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks, \
    const unsigned int* __restrict__ marks, const unsigned int* __restrict__ traced, \
    const RulesProjection* __restrict__ projections, const unsigned int* __restrict__ outgoing, \
    const unsigned int* __restrict__ far_delays, const unsigned long long* __restrict__ starts, \
    const unsigned int* __restrict__ splits, const unsigned int* __restrict__ words, const unsigned char* __restrict__ weights, \
    const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains, RulesList* __restrict__ lists, \
    unsigned int* __restrict__ spikes, int* __restrict__ sums, float* __restrict__ state, \
    unsigned long long* __restrict__ non_finite, float* __restrict__ samples
#define RULES_STEP_ARGUMENTS \
    populations, population_of, values, inputs, tables, kicking, sources, chances, masks, trains, kicks, marks, traced, \
    projections, outgoing, far_delays, starts, splits, words, weights, gain_of, gains, lists, spikes, sums, state, non_finite, \
    samples

namespace rules {

// Coefficients of one neuron, in global or shared memory.
struct Values {
    const float* at;
    unsigned int pitch;

    __device__ float operator[](unsigned int coefficient) const { return at[coefficient * pitch]; }
};

// Arguments of a step besides the connections.
struct StepArgs {
    const RulesModel& model;
    const RulesPopulation* populations;
    const unsigned short* population_of;
    const float* values;
    const RulesInput* inputs;
    const unsigned int* tables;
    const spiking::KickInputs kicks;
    const unsigned int* trains;
    const unsigned int* marks;
    const unsigned int* traced;
    RulesList* lists;
    unsigned int* spikes;
    int* sums;
    float* state;
    unsigned long long* non_finite;
    float* samples;
};

// Spikes of a block in one step.
template <unsigned int THREADS> struct Fired {
    unsigned int n, place, neuron[THREADS], population[THREADS];
};

// Number of coefficients of a neuron.
constexpr unsigned int COEFFICIENTS = RISE_TO_CURRENT_IN + 1;

// Number of events of a Poisson input in a step: the number of thresholds that a word reaches.
__device__ inline unsigned int poisson_count(const unsigned int* at_most, unsigned int entries, unsigned int word) {
    if (entries <= 48) {
        unsigned int count = 0;
        while (count < entries && word >= at_most[count]) ++count;
        return count;
    }
    unsigned int from = 0, to = entries;
    while (from < to) {
        const unsigned int mid = (from + to) / 2;
        if (word >= at_most[mid]) from = mid + 1; else to = mid;
    }
    return from;
}

// The neuron of a thread. Constants are read again in every step, because registers are scarce.
struct Neuron {
    float u, current[2], rise[2], left;
    unsigned int at, neuron, population, values;
    int drawn[2]; // Poisson input of the coming step
    int sample; // index among the traced neurons; -1 for none
    bool exists, has_rise, is_closed, has_trains;

    __device__ void enter(const StepArgs& a, unsigned int index) {
        at = index;
        exists = false;
        if (at >= a.model.stride) return;
        population = a.population_of[at / STATE_BLOCK];
        const RulesPopulation& p = a.populations[population];
        const unsigned int of = at - p.state;
        if (of >= p.n) return;
        exists = true;
        neuron = p.first + of;
        values = p.values + of * p.varies;
        is_closed = a.marks[neuron] & CLOSED;
        has_trains = a.model.has_kicks && !is_closed && (a.trains[neuron >> 5] || a.kicks.kick_from < a.kicks.kick_to);
        has_rise = p.synapses == SYNAPSES_ALPHA;
        const unsigned long long stride = a.model.stride;
        u = a.state[at];
        current[0] = a.state[stride + at];
        current[1] = a.state[2 * stride + at];
        rise[0] = has_rise ? a.state[3 * stride + at] : 0.0f;
        rise[1] = has_rise ? a.state[4 * stride + at] : 0.0f;
        left = a.state[LEFT * stride + at];
        sample = -1;
        unsigned int from = 0, to = a.model.n_traced;
        while (from < to) {
            const unsigned int mid = (from + to) / 2;
            if (a.traced[mid] < at) from = mid + 1; else to = mid;
        }
        if (from < a.model.n_traced && a.traced[from] == at) sample = (int)from;
    }

    __device__ void leave(const StepArgs& a) const {
        if (!exists) return;
        const unsigned long long stride = a.model.stride;
        a.state[at] = u;
        a.state[stride + at] = current[0];
        a.state[2 * stride + at] = current[1];
        if (has_rise) {
            a.state[3 * stride + at] = rise[0];
            a.state[4 * stride + at] = rise[1];
        }
        a.state[LEFT * stride + at] = left;
    }

    // Draws the Poisson input of a step.
    __device__ void draw(const StepArgs& a, unsigned long long step) {
        drawn[0] = drawn[1] = 0;
        if (!exists || is_closed) return;
        const RulesPopulation& p = a.populations[population];
        for (unsigned int i = p.inputs_from; i < p.inputs_to; ++i) {
            const RulesInput in = a.inputs[i];
            if (step < in.since) continue;
            const unsigned int count = poisson_count(a.tables + in.table, in.entries, draw_of_step(a.model.seed, in.address, step, neuron));
            drawn[in.receptor] = (int)((unsigned int)drawn[in.receptor] + count * (unsigned int)in.weight);
        }
    }

    // Reads and clears the sums of a step, and adds the Poisson input.
    __device__ void take_input(const StepArgs& a, const Values& c, unsigned long long step, float (&input)[2]) const {
        int* const here = a.sums + (unsigned long long)((unsigned int)step & a.model.slot_mask) * 2 * a.model.stride + at;
        const int sum[2] = {__ldcg(here), __ldcg(here + a.model.stride)}; // other blocks wrote them during this launch
        if (sum[0]) __stcg(here, 0);
        if (sum[1]) __stcg(here + a.model.stride, 0);
        input[0] = (float)(is_closed ? 0 : (int)((unsigned int)sum[0] + (unsigned int)drawn[0])) * c[UNIT_EX];
        input[1] = (float)(is_closed ? 0 : (int)((unsigned int)sum[1] + (unsigned int)drawn[1])) * c[UNIT_IN];
    }

    // The three `integrate` functions of src/kinds/spiking/general/cpu/step.rs, in the same order of operations.
    __device__ void integrate_exponential(const Values& c, const float (&input)[2], bool is_free, bool drops) {
        float next = (c[DECAY] * u + c[TO_U_EX] * current[0]) + c[TO_U_IN] * current[1];
        next = next + c[DRIVE];
        if (is_free) u = next;
        if (is_free || !drops) {
            current[0] = c[SYNAPTIC_DECAY_EX] * current[0] + input[0];
            current[1] = c[SYNAPTIC_DECAY_IN] * current[1] + input[1];
        }
    }

    __device__ void integrate_alpha(const Values& c, const float (&input)[2], bool is_free, bool drops) {
        float next = c[DECAY] * u;
        next = (next + c[RISE_TO_U_EX] * rise[0]) + c[TO_U_EX] * current[0];
        next = (next + c[RISE_TO_U_IN] * rise[1]) + c[TO_U_IN] * current[1];
        next = next + c[DRIVE];
        if (is_free) u = next;
        if (is_free || !drops) {
            const float fade[2] = {c[SYNAPTIC_DECAY_EX], c[SYNAPTIC_DECAY_IN]};
            current[0] = c[RISE_TO_CURRENT_EX] * rise[0] + fade[0] * current[0];
            current[1] = c[RISE_TO_CURRENT_IN] * rise[1] + fade[1] * current[1];
            rise[0] = fade[0] * rise[0] + input[0];
            rise[1] = fade[1] * rise[1] + input[1];
        }
    }

    __device__ void integrate_delta(const Values& c, const float (&input)[2], bool is_free, bool drops) {
        const float arrived = input[0] + input[1];
        const float next = (c[DECAY] * u + c[DRIVE]) + (arrived + current[0]);
        const float kept = c[DECAY] * current[0] + arrived;
        if (is_free) u = next;
        current[0] = is_free || drops ? 0.0f : kept;
    }

    // Adds a spike to the histories of the plastic projections onto the neuron.
    __device__ void record_spike(const StepArgs& a, const Connections& c, unsigned long long step) const {
        const RulesPopulation& p = a.populations[population];
        record(c.plasticity, p.plastic_from, p.plastic_to, neuron - p.first, (unsigned int)step);
    }

    // Runs one step, for which `draw` was called. Returns whether the neuron fires.
    __device__ bool step(const StepArgs& a, const Values& c, unsigned long long step, unsigned long long row) {
        if (!exists) return false;
        const bool is_free = left == 0.0f;
        const RulesPopulation& p = a.populations[population];
        float input[2];
        take_input(a, c, step, input);
        if (has_rise) integrate_alpha(c, input, is_free, p.drops);
        else if (p.synapses == SYNAPSES_DELTA) integrate_delta(c, input, is_free, p.drops);
        else integrate_exponential(c, input, is_free, p.drops);
        if (has_trains && is_free) u = u + a.kicks.sum<float>(step, neuron);
        const bool fires = is_free && u >= c[THETA];
        if (fires) u = c[RESET];
        left = fires ? c[REFRACTORY] : is_free ? 0.0f : left - 1.0f;
        if (!isfinite(u)) atomicMin(a.non_finite, step << TARGET_BITS | neuron);
        if (sample >= 0)
            reinterpret_cast<float2*>(a.samples)[row * a.model.n_traced + sample] = make_float2(c[REST] + u, current[0] + current[1]);
        return fires;
    }
};

// Lists the spikes of a block. Called by the last warp; the first block also prepares the list of the step after the next.
template <unsigned int THREADS>
__device__ inline void list_spikes(const StepArgs& a, const Fired<THREADS>& fired, unsigned int n_fired, unsigned long long step) {
    const RulesModel& m = a.model;
    const unsigned int lane = threadIdx.x & 31;
    RulesList* const list = &a.lists[step & m.list_mask];
    unsigned int place = 0;
    if (lane == 0 && (n_fired || blockIdx.x == 0)) {
        const RulesList* const before = &a.lists[(step - 1) & m.list_mask];
        place = __ldcg(&before->start) + __ldcg(&before->count);
        if (blockIdx.x == 0) {
            RulesList* const later = &a.lists[(step + 2) & m.list_mask];
            __stcg(&list->start, place);
            __stcg(&later->count, 0u);
            __stcg(&later->events, 0ull);
        }
        if (n_fired) place += atomicAdd(&list->count, n_fired);
    }
    place = __shfl_sync(FULL_MASK, place, 0);
    for (unsigned int i = lane; i < n_fired; i += 32) __stcg(&a.spikes[(place + i) & m.spike_mask], fired.neuron[i]);
}

// Finds row `at` of the spikes of the block.
template <unsigned int THREADS>
__device__ inline Row own_row(const StepArgs& a, const Connections& c, const Fired<THREADS>& fired, unsigned int at, Part part) {
    const unsigned int spike = at / a.model.near, neuron = fired.neuron[spike];
    const RulesPopulation& p = a.populations[fired.population[spike]];
    const unsigned int place = p.near_from + at % a.model.near;
    return find_row(c, place < p.far_from ? c.outgoing[place] : NO_ROW, neuron - p.first, neuron, part);
}

// Adds the counted events to the lists of the next and of the current step, and sets the counts to 0.
template <unsigned int THREADS, bool PLASTIC> __device__ inline void count_events(const StepArgs& a, const Connections& c, RowBatch<THREADS, PLASTIC>& batch, unsigned long long step) {
    if (batch.events) atomicAdd(&a.lists[(step + 1) & a.model.list_mask].events, batch.events);
    if (batch.late_events) atomicAdd(&a.lists[step & a.model.list_mask].events, batch.late_events);
    batch.events = batch.late_events = 0;
    if (PLASTIC && batch.hash) {
        atomicAdd(c.plasticity.hash, batch.hash);
        batch.hash = 0;
    }
}

// Runs one step of a block in a launch of one step. The block delivers the whole rows of its own spikes.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void step_block(const StepArgs& a, const Connections& c, const unsigned int* far_delays, Neuron& n, const Values& values,
                                  RowBatch<THREADS, PLASTIC>& batch, Fired<THREADS>& fired, unsigned long long step, unsigned long long row, bool delivers) {
    const unsigned int me = threadIdx.x;
    n.draw(a, step);
    if (n.step(a, values, step, row)) {
        const unsigned int place = atomicAdd(&fired.n, 1);
        fired.neuron[place] = n.neuron;
        fired.population[place] = n.population;
        if (PLASTIC) n.record_spike(a, c, step);
    }
    __syncthreads();
    const unsigned int n_fired = fired.n, rows = delivers ? n_fired * a.model.near : 0;
    if (me >= blockDim.x - 32) list_spikes(a, fired, n_fired, step);
    for (unsigned int first = 0; first < rows; first += blockDim.x) {
        Row own = {0, 0, NO_ROW, 0, 0, false};
        if (first + me < rows) own = own_row(a, c, fired, first + me, Part::WHOLE);
        deliver_batch(c, batch, a.sums, step + 1, min(blockDim.x, rows - first), own, false, &batch.events);
    }
    if (delivers && a.model.n_far) deliver_all_listed(c, batch, a.sums, step + 1, a.lists, a.spikes, far_delays, false, false);
    if (me == 0) count_events(a, c, batch, step);
}

// Runs one step of a block of the persistent kernel. Of its own spikes, the block delivers only the synapses with the
// smallest delay, which arrive in the next step. All blocks of the grid share the synapses with longer delays of the
// spikes of the step before; their rows are looked up before the neurons are stepped, so that the loads overlap.
// `continues`: the step before was part of this launch.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void step_shared(const StepArgs& a, const Connections& c, const unsigned int* far_delays, Neuron& n, const Values& values,
                                   RowBatch<THREADS, PLASTIC>& batch, Fired<THREADS>& fired, unsigned long long step, unsigned long long row, bool continues,
                                   bool delivers) {
    const RulesModel& m = a.model;
    const unsigned int me = threadIdx.x, lane = me & 31, warp = me >> 5, warps = blockDim.x >> 5;
    const RulesList* const before = &a.lists[(step - 1) & m.list_mask];
    const unsigned int listed = continues && m.has_longer ? __ldcg(&before->count) * m.near : 0;
    const bool fits = listed <= blockDim.x;
    const unsigned int row_warps = fits ? (listed + 31) / 32 : 0;
    Row late = {0, 0, NO_ROW, 0, 0, false};
    if (fits && me < listed) late = listed_row(c, a.spikes, __ldcg(&before->start), me, 1, Part::LONGER_DELAYS);
    if (n.step(a, values, step, row)) {
        const unsigned int place = atomicAdd(&fired.n, 1);
        fired.neuron[place] = n.neuron;
        fired.population[place] = n.population;
        if (PLASTIC) n.record_spike(a, c, step);
    }
    if (warp < row_warps) {
        const unsigned int events = put_rows(c, batch, late, step, false); // plastic rows have no such part
        if (lane == 0 && events && blockIdx.x == 0) atomicAdd(&batch.late_events, (unsigned long long)events);
    }
    __syncthreads();
    const unsigned int n_fired = fired.n, rows = delivers ? n_fired * m.near : 0;
    if (warp == warps - 1) list_spikes(a, fired, n_fired, step);
    // Shared chunks go to the first warps, own rows to the last ones; several warps take a row if there are enough.
    add_rows(c, batch, a.sums, step, row_warps, warp * gridDim.x + blockIdx.x, warps * gridDim.x);
    const unsigned int per_row = max(1u, warps / max(rows, 1u));
    for (unsigned int item = warps - 1 - warp; item < rows * per_row; item += warps) {
        const unsigned int part = item / rows;
        const Row own = own_row(a, c, fired, item % rows, Part::SMALLEST_DELAY);
        if (PLASTIC && own.projection != NO_ROW && c.projections[own.projection].plastic) {
            const RowNow now = state_of(c, own, step + 1, part == 0 && lane == 0);
            unsigned long long hash = 0;
            for (unsigned int at = part * CHUNK<PLASTIC>; at < own.len; at += per_row * CHUNK<PLASTIC>)
                hash += add_plastic_chunk(c, a.sums, step + 1, c.projections[own.projection], now, own.from + at, min(CHUNK<PLASTIC>, own.len - at),
                                          own.source, own.gain, lane);
            if (lane == 0) atomicAdd(&batch.hash, hash);
        } else for (unsigned int at = part * ROW_CHUNK; at < own.len; at += per_row * ROW_CHUNK)
            add_chunk(c, a.sums, step + 1, c.projections[own.projection], own.from + at, min(ROW_CHUNK, own.len - at), own.gain, lane);
        if (lane == 0 && part == 0 && own.len) atomicAdd(&batch.events, (unsigned long long)own.len);
    }
    if (!fits) {
        __syncthreads();
        deliver_listed(c, batch, a.sums, step, before, a.spikes, 1, Part::LONGER_DELAYS, true, &batch.late_events);
    }
    if (delivers && m.n_far) {
        __syncthreads();
        deliver_all_listed(c, batch, a.sums, step + 1, a.lists, a.spikes, far_delays, false, true);
    }
}

// Copies a table to shared memory. Returns the copy, and moves `free` behind it.
template <typename T> __device__ inline const T* cached(const T* table, unsigned int n, unsigned char*& free) {
    unsigned int* const to = reinterpret_cast<unsigned int*>(free);
    const unsigned int words = n * (unsigned int)sizeof(T) / 4;
    for (unsigned int i = threadIdx.x; i < words; i += blockDim.x) to[i] = reinterpret_cast<const unsigned int*>(table)[i];
    free += (words * 4 + 15) / 16 * 16;
    return reinterpret_cast<const T*>(to);
}

}  // namespace rules

namespace rules {

// Delivers the spikes that arrive in the first step of a launch.
template <bool PLASTIC> __device__ inline void deliver_at_start(RULES_DELIVERY_PARAMETERS, const Plasticity plasticity) {
    __shared__ RowBatch<256, PLASTIC> batch;
    if (threadIdx.x == 0) batch.events = batch.late_events = batch.hash = 0;
    __syncthreads();
    const Connections c = {*model, populations, projections, outgoing, starts, splits, words, weights, gain_of, gains, plasticity};
    const unsigned long long step = clock->step;
    deliver_all_listed(c, batch, sums, step, lists, spikes, far_delays, true, false);
    if (threadIdx.x == 0 && batch.events) atomicAdd(&lists[step & model->list_mask].events, batch.events);
    if (PLASTIC && threadIdx.x == 0 && batch.hash) atomicAdd(plasticity.hash, batch.hash);
}

// Runs one step of a launch of one step.
template <bool PLASTIC>
__device__ inline void step_once(const RulesModel* model, const RulesClock* clock, unsigned int index, unsigned int delivers, RULES_STEP_PARAMETERS,
                                 const Plasticity plasticity) {
    __shared__ RowBatch<256, PLASTIC> batch;
    __shared__ Fired<256> fired;
    const spiking::KickInputs kick_inputs = {*kicking, sources, chances, masks, kicks, clock->kick_from, clock->kick_to};
    const StepArgs a = {*model, populations, population_of, values, inputs, tables, kick_inputs, trains, marks, traced,
                        lists, spikes, sums, state, non_finite, samples};
    const Connections c = {*model, populations, projections, outgoing, starts, splits, words, weights, gain_of, gains, plasticity};
    if (threadIdx.x == 0) {
        fired.n = 0;
        batch.events = batch.late_events = batch.hash = 0;
    }
    __syncthreads();
    Neuron n;
    n.enter(a, blockIdx.x * blockDim.x + threadIdx.x);
    const Values coefficients = {values + n.values, n.exists ? populations[n.population].pitch : 0};
    step_block(a, c, far_delays, n, coefficients, batch, fired, clock->step + index, clock->slot + index, delivers);
    n.leave(a);
}

// Runs many steps of a persistent launch with blocks of at most THREADS threads.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void step_many(const RulesModel* model, const RulesClock* clock, unsigned int n_steps, const RulesTables& table_sizes,
                                 RULES_STEP_PARAMETERS, unsigned int* barrier, Plasticity plasticity) {
    __shared__ RowBatch<THREADS, PLASTIC> batch;
    __shared__ Fired<THREADS> fired;
    // The barrier invalidates the first-level cache, so shared memory holds the tables that every step reads.
    extern __shared__ __align__(16) unsigned char shared[];
    float* const coefficients = reinterpret_cast<float*>(shared);
    unsigned char* free = shared + sizeof(float) * COEFFICIENTS * blockDim.x;
    if (table_sizes.cached) {
        populations = cached(populations, model->n_populations, free);
        projections = cached(projections, table_sizes.projections, free);
        outgoing = cached(outgoing, table_sizes.projections, free);
        inputs = cached(inputs, table_sizes.inputs, free);
        tables = cached(tables, table_sizes.entries, free);
        if (PLASTIC) plasticity.decays = cached(plasticity.decays, table_sizes.decays, free);
    }
    if (threadIdx.x == 0) {
        fired.n = 0;
        batch.events = batch.late_events = batch.hash = 0;
    }
    __syncthreads();
    const spiking::KickInputs kick_inputs = {*kicking, sources, chances, masks, kicks, clock->kick_from, clock->kick_to};
    const StepArgs a = {*model, populations, population_of, values, inputs, tables, kick_inputs, trains, marks, traced,
                        lists, spikes, sums, state, non_finite, samples};
    const Connections c = {*model, populations, projections, outgoing, starts, splits, words, weights, gain_of, gains, plasticity};
    Neuron n;
    // A block of a plastic network has more threads than neurons, because the updates of synapses wait for memory.
    const unsigned int span = PLASTIC ? table_sizes.span : blockDim.x;
    n.enter(a, threadIdx.x < span ? blockIdx.x * span + threadIdx.x : 0xffffffffu);
    for (unsigned int i = 0; n.exists && i < COEFFICIENTS; ++i)
        coefficients[i * blockDim.x + threadIdx.x] = values[n.values + i * populations[n.population].pitch];
    const Values own = {coefficients + threadIdx.x, blockDim.x};
    const unsigned long long first = clock->step, row = clock->slot;
    n.draw(a, first);
    for (unsigned int i = 0; i < n_steps; ++i) {
        const bool is_last = i + 1 == n_steps;
        step_shared(a, c, far_delays, n, own, batch, fired, first + i, row + i, i > 0, !is_last);
        __syncthreads(); // all additions of the block come before its arrival
        unsigned int arrived;
        if (threadIdx.x == 0) {
            count_events(a, c, batch, first + i);
            fired.n = 0;
            if (!is_last) arrived = spiking::barrier_arrive(barrier);
        }
        if (is_last) break;
        n.draw(a, first + i + 1); // while the other blocks arrive
        if (threadIdx.x == 0) spiking::barrier_wait_idle(barrier, arrived);
        __syncthreads();
    }
    n.leave(a);
}

}  // namespace rules
