// Networks from rules: delivery of rows. A block takes up to one row per thread at a time, divides the rows into chunks, and
// gives the chunks to its warps, so that a long row of one spike occupies all warps.
#pragma once
#include "spiking/kicks.cuh"
#include "spiking/rules_plasticity.cuh"

namespace rules {

constexpr unsigned int FULL_MASK = 0xffffffffu;
// Synapses of a chunk: four per lane, loaded before the first is added.
constexpr unsigned int PER_LANE = 4, ROW_CHUNK = 32 * PER_LANE;
// Plastic synapses are updated by chains of dependent loads, so they are divided among more warps.
template <bool PLASTIC> constexpr unsigned int CHUNK = PLASTIC ? 32 : ROW_CHUNK;

// The connections and the current changes of their weights.
struct Connections {
    const RulesModel& model;
    const RulesPopulation* populations;
    const RulesProjection* projections;
    const unsigned int* outgoing; // indices of projections, by presynaptic population
    const unsigned long long* starts;
    const unsigned int* splits; // by row: number of synapses with the smallest delay, which come first
    const unsigned int* words;
    const unsigned char* weights;
    const unsigned short* gain_of;
    const WeightGain* gains;
    const Plasticity plasticity; // used by the plastic kernels alone
};

// States of the plastic rows of a batch; empty in the kernels of networks without plasticity.
template <unsigned int THREADS, bool PLASTIC> struct PlasticRows {
    __device__ void put(unsigned int, const RowNow&) {}
    __device__ RowNow get(unsigned int) const { return RowNow(); }
    __device__ void set_source(unsigned int, unsigned int) {}
    __device__ unsigned int source_of(unsigned int) const { return 0; }
};
template <unsigned int THREADS> struct PlasticRows<THREADS, true> {
    unsigned int last[THREADS], updated[THREADS], source[THREADS];
    float trace[THREADS], slow[THREADS]; // `slow`: the efficacy of short-term plasticity

    __device__ void put(unsigned int at, const RowNow& row) {
        last[at] = row.last;
        updated[at] = row.updated;
        trace[at] = row.trace;
        slow[at] = row.slow;
    }
    __device__ void set_source(unsigned int at, unsigned int of) { source[at] = of; }
    __device__ unsigned int source_of(unsigned int at) const { return source[at]; }
    __device__ RowNow get(unsigned int at) const { return {last[at], updated[at], 0, trace[at], slow[at], slow[at]}; }
};

// The rows that a block of at most THREADS threads delivers together.
template <unsigned int THREADS, bool PLASTIC> struct RowBatch : PlasticRows<THREADS, PLASTIC> {
    unsigned long long from[THREADS];   // index of the first synapse in its projection
    unsigned int len[THREADS];          // number of synapses
    unsigned int projection[THREADS];
    unsigned int gain[THREADS];         // index of the gain of the presynaptic neuron; 0 for none
    unsigned int ends[THREADS];         // number of chunks up to and including the row
    unsigned int of_warp[THREADS / 32]; // chunks of each warp of rows
    unsigned long long events, late_events; // synaptic events of the next step, and of the current one
    unsigned long long hash;                // sum over the delivered plastic weights
};

// Weight of a synapse in units of the receptor's sums.
__device__ inline int weight_of(const RulesProjection& p, const unsigned char* weights, unsigned long long at) {
    if (p.format == WEIGHT_CONSTANT) return p.constant;
    if (p.format == WEIGHT_NARROW)
        return (int)((unsigned int)(int)__ldg(reinterpret_cast<const short*>(weights + p.weights) + at) << p.shift);
    return __ldg(reinterpret_cast<const int*>(weights + p.weights) + at);
}

// Applies a gain to a weight, as `Gain::apply` of stimuli.rs.
__device__ inline int changed(int weight, const WeightGain& gain) {
    const int with_sign = gain.sign ? gain.sign * (weight < 0 ? -weight : weight) : weight;
    return __double2int_rz(round((double)with_sign * gain.factor)); // half away from zero, saturating
}

// Brings a chunk of a plastic row up to date and adds its weights to the sums. `step` is the step in which the smallest delay of the
// projection ends. Returns the sum of the mixed weights of the warp.
__device__ inline unsigned long long add_plastic_chunk(const Connections& c, int* sums, unsigned long long step, const RulesProjection& p, RowNow row,
                                                       unsigned long long from, unsigned int len, unsigned int source, unsigned int gain,
                                                       unsigned int lane) {
    const RulesPlastic& of = c.plasticity.projections[p.plastic - 1];
    const unsigned long long key = row_key(of.projection, source, (unsigned int)step);
    unsigned long long hash = 0;
    row.to = (unsigned int)step - of.dendritic_min;
    for (unsigned int at = lane; at < len; at += 32) {
        const unsigned int word = __ldg(c.words + p.words + from + at);
        unsigned int bits;
        int units;
        if (of.law == PLASTIC_SHORT_TERM) {
            units = __float2int_rn((float)weight_of(p, c.weights, from + at) * row.efficacy);
            bits = (unsigned int)units;
        } else {
            const float w = update(c.plasticity, of, row, word, from + at, true, 0.0f, (unsigned int)step - 1);
            units = __float2int_rn(w * of.scale);
            bits = __float_as_uint(w);
        }
        hash += mixed(word ^ (unsigned int)(key >> 32), bits ^ (unsigned int)key);
        const unsigned int slot = (unsigned int)(step + (word >> TARGET_BITS)) & c.model.slot_mask;
        int* sum = sums + (unsigned long long)slot * 2 * c.model.stride + p.target + (word & ((1u << TARGET_BITS) - 1));
        atomicAdd(sum, gain ? changed(units, c.gains[gain]) : units);
    }
    for (unsigned int d = 16; d; d /= 2) hash += __shfl_xor_sync(FULL_MASK, hash, d);
    return hash;
}

// Adds a chunk of a row to the sums. `step` is the step in which the smallest delay of the projection ends.
__device__ inline void add_chunk(const Connections& c, int* sums, unsigned long long step, const RulesProjection& p,
                                 unsigned long long from, unsigned int len, unsigned int gain, unsigned int lane) {
    const unsigned int* words = c.words + p.words;
    unsigned int word[PER_LANE];
    int weight[PER_LANE];
#pragma unroll
    for (unsigned int k = 0; k < PER_LANE; ++k) {
        const unsigned int at = k * 32 + lane;
        if (at < len) {
            word[k] = __ldg(words + from + at);
            weight[k] = weight_of(p, c.weights, from + at);
        }
    }
#pragma unroll
    for (unsigned int k = 0; k < PER_LANE; ++k) {
        if (k * 32 + lane >= len) break;
        const unsigned int slot = (unsigned int)(step + (word[k] >> TARGET_BITS)) & c.model.slot_mask;
        int* sum = sums + (unsigned long long)slot * 2 * c.model.stride + p.target + (word[k] & ((1u << TARGET_BITS) - 1));
        atomicAdd(sum, gain ? changed(weight[k], c.gains[gain]) : weight[k]);
    }
}

constexpr unsigned int NO_ROW = 0xffffffffu;

// Part of a row.
enum class Part { WHOLE, SMALLEST_DELAY, LONGER_DELAYS };

// A row, or a part of it.
struct Row {
    unsigned long long from;             // index of the first synapse in its projection
    unsigned int len, projection, gain;  // `gain`: index of the changes of its weights; 0 for none
    unsigned int source;                 // index of the presynaptic neuron in its population
    bool is_silent;
};

// Finds a row of a projection; a silenced presynaptic neuron has an empty one.
__device__ inline Row find_row(const Connections& c, unsigned int projection, unsigned int source, unsigned int neuron, Part part) {
    Row row = {0, 0, projection, 0, source, false};
    if (projection == NO_ROW) return row;
    if (c.model.has_gains) {
        const unsigned int gain = c.gain_of[neuron];
        row.is_silent = gain && c.gains[gain].silent;
        if (row.is_silent) return row;
        row.gain = gain && c.gains[gain].changes ? gain : 0;
    }
    const unsigned long long at = c.projections[projection].starts + source;
    row.from = __ldg(c.starts + at);
    const unsigned int all = (unsigned int)(__ldg(c.starts + at + 1) - row.from);
    const unsigned int split = part == Part::WHOLE ? 0 : __ldg(c.splits + at);
    row.len = part == Part::SMALLEST_DELAY ? split : all - split;
    if (part == Part::LONGER_DELAYS) row.from += split;
    return row;
}

// Finds row `at` of the listed spikes from `start` on. The row is empty if the smallest delay of its projection is not
// `delay`.
__device__ inline Row listed_row(const Connections& c, const unsigned int* spikes, unsigned int start, unsigned int at, unsigned int delay,
                                 Part part) {
    const bool is_near = delay == 1;
    const unsigned int per_spike = is_near ? c.model.near : c.model.far;
    const unsigned int neuron = __ldcg(&spikes[(start + at / per_spike) & c.model.spike_mask]);
    unsigned int population = 0, end = c.model.n_populations; // last population that begins at or before the neuron
    while (population + 1 < end) {
        const unsigned int mid = (population + end) / 2;
        if (c.populations[mid].first <= neuron) population = mid; else end = mid;
    }
    const RulesPopulation& p = c.populations[population];
    const unsigned int place = (is_near ? p.near_from : p.far_from) + at % per_spike;
    unsigned int projection = place < (is_near ? p.far_from : p.far_to) ? c.outgoing[place] : NO_ROW;
    if (projection != NO_ROW && c.projections[projection].delay_min != delay) projection = NO_ROW;
    return find_row(c, projection, neuron - p.first, neuron, part);
}

// The state of a row whose smallest delay ends in `step`, if it is plastic. The thread with `writes` adds the spike to its traces.
__device__ inline RowNow state_of(const Connections& c, const Row& row, unsigned long long step, bool writes) {
    if (row.projection == NO_ROW || row.is_silent || !c.projections[row.projection].plastic) return RowNow();
    return enter_row(c.plasticity, c.plasticity.projections[c.projections[row.projection].plastic - 1], row.source, step, writes);
}

// Puts the row of each thread of a warp into a batch. Returns the number of synapses of the warp's rows. `step` is the step in
// which their smallest delay ends; the block with `writes` adds the spikes to the traces of plastic rows.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline unsigned int put_rows(const Connections& c, RowBatch<THREADS, PLASTIC>& batch, const Row& row, unsigned long long step, bool writes) {
    const unsigned int me = threadIdx.x, lane = me & 31;
    batch.from[me] = row.from;
    batch.projection[me] = row.projection;
    batch.gain[me] = row.gain;
    batch.len[me] = row.len;
    if (PLASTIC) {
        RowNow now = state_of(c, row, step, writes);
        if (row.projection != NO_ROW && c.projections[row.projection].plastic &&
            c.plasticity.projections[c.projections[row.projection].plastic - 1].law == PLASTIC_SHORT_TERM)
            now.slow = now.efficacy;
        batch.put(me, now);
        batch.set_source(me, row.source);
    }
    unsigned int to = (row.len + CHUNK<PLASTIC> - 1) / CHUNK<PLASTIC>, events = row.len;
    for (unsigned int d = 1; d < 32; d *= 2) {
        const unsigned int below = __shfl_up_sync(FULL_MASK, to, d);
        if (lane >= d) to += below;
        events += __shfl_xor_sync(FULL_MASK, events, d);
    }
    if (lane == 31) batch.of_warp[me >> 5] = to;
    batch.ends[me] = to; // within the warp
    return events;
}

// Adds the chunks first, first + step, … of the rows in a batch to the sums; called by whole warps.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void add_rows(const Connections& c, RowBatch<THREADS, PLASTIC>& batch, int* sums, unsigned long long step, unsigned int row_warps,
                                unsigned int chunk, unsigned int stride) {
    const unsigned int lane = threadIdx.x & 31;
    unsigned int all = 0;
    for (unsigned int w = 0; w < row_warps; ++w) all += batch.of_warp[w];
    for (; chunk < all; chunk += stride) {
        unsigned int first = 0, left = chunk; // warp of rows with the chunk, and the chunk within it
        while (left >= batch.of_warp[first]) left -= batch.of_warp[first++];
        const unsigned int row = first * 32 + __popc(__ballot_sync(FULL_MASK, batch.ends[first * 32 + lane] <= left));
        const unsigned int len = batch.len[row];
        const unsigned int at = (left - (batch.ends[row] - (len + CHUNK<PLASTIC> - 1) / CHUNK<PLASTIC>)) * CHUNK<PLASTIC>;
        const RulesProjection& p = c.projections[batch.projection[row]];
        const unsigned int n = min(CHUNK<PLASTIC>, len - at);
        if (PLASTIC && p.plastic) {
            const unsigned long long hash = add_plastic_chunk(c, sums, step, p, batch.get(row), batch.from[row] + at, n, batch.source_of(row), batch.gain[row], lane);
            if (lane == 0) atomicAdd(&batch.hash, hash);
            continue;
        }
        add_chunk(c, sums, step, p, batch.from[row] + at, n, batch.gain[row], lane);
    }
}

// Delivers `n_rows` rows, at most blockDim.x; `row` of thread t is row t. All threads of a block call this with the
// same `n_rows`. If the blocks of the grid share the rows (`is_shared`), all of them pass the same rows, and adjacent
// chunks go to different blocks.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void deliver_batch(const Connections& c, RowBatch<THREADS, PLASTIC>& batch, int* sums, unsigned long long step, unsigned int n_rows,
                                     const Row& row, bool is_shared, unsigned long long* events) {
    const unsigned int me = threadIdx.x, warp = me >> 5, warps = blockDim.x >> 5, row_warps = (n_rows + 31) / 32;
    if (warp < row_warps) {
        const unsigned int of_warp = put_rows(c, batch, row, step, !is_shared || blockIdx.x == 0);
        if ((me & 31) == 0 && of_warp && (!is_shared || blockIdx.x == 0)) atomicAdd(events, (unsigned long long)of_warp);
    }
    __syncthreads();
    if (is_shared) add_rows(c, batch, sums, step, row_warps, warp * gridDim.x + blockIdx.x, warps * gridDim.x);
    else add_rows(c, batch, sums, step, row_warps, warp, warps);
    __syncthreads(); // the batch is used again
}

// Delivers the rows of listed spikes whose projections have the smallest delay `delay`. The blocks of the grid share
// the chunks of all rows (`is_shared`), or each block delivers some rows.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void deliver_listed(const Connections& c, RowBatch<THREADS, PLASTIC>& batch, int* sums, unsigned long long step, const RulesList* list,
                                      const unsigned int* spikes, unsigned int delay, Part part, bool is_shared, unsigned long long* events) {
    const unsigned int per_spike = delay == 1 ? c.model.near : c.model.far;
    const unsigned int rows = __ldcg(&list->count) * per_spike, start = __ldcg(&list->start); // written by other blocks
    const unsigned int per_block = is_shared ? blockDim.x : min(blockDim.x, (rows + gridDim.x - 1) / gridDim.x);
    for (unsigned int first = is_shared ? 0 : blockIdx.x * per_block; first < rows; first += is_shared ? per_block : gridDim.x * per_block) {
        const unsigned int n = min(per_block, rows - first);
        Row row = {0, 0, NO_ROW, 0, 0, false};
        if (threadIdx.x < n) row = listed_row(c, spikes, start, first + threadIdx.x, delay, part);
        deliver_batch(c, batch, sums, step, n, row, is_shared, events);
    }
}

// Delivers the listed spikes whose smallest delay ends in `step`: those with a delay of one step only if `with_near`.
template <unsigned int THREADS, bool PLASTIC>
__device__ inline void deliver_all_listed(const Connections& c, RowBatch<THREADS, PLASTIC>& batch, int* sums, unsigned long long step, const RulesList* lists,
                                          const unsigned int* spikes, const unsigned int* far_delays, bool with_near, bool is_shared) {
    unsigned long long* const events = &batch.events;
    if (with_near && step >= 1) deliver_listed(c, batch, sums, step, &lists[(step - 1) & c.model.list_mask], spikes, 1, Part::WHOLE, is_shared, events);
    for (unsigned int i = 0; i < c.model.n_far; ++i) {
        const unsigned int delay = far_delays[i];
        if (step >= delay) deliver_listed(c, batch, sums, step, &lists[(step - delay) & c.model.list_mask], spikes, delay, Part::WHOLE, is_shared, events);
    }
}

}  // namespace rules
