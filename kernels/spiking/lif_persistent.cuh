// Many windows per launch: neurons stay in shared memory, and arrivals are summed there. Groups of 32 neurons are
// assigned to blocks in turn, so that adjacent neurons, which are often active together, are on different blocks.
// After each window the blocks exchange their spikes (mailboxes.cuh); run_windows.cuh holds the loop over windows.
//
// Supported: at most one kick source, no listed kicks, unchanged weights, MAX_TRACED traced neurons. Everything else takes
// two launches per window, and both modes can continue from each other's state. Code for rare cases would cost
// registers here, and with them loads in flight.
//
// Measured on an H200, synthetic fly, double precision, microseconds per window of 18 steps: quiet (sugar21) /
// gustatory408 / busy (broad10: 2,066 spikes, 345,000 synaptic events). Two launches per window: 11.0 / 18.5 / 30.0.
//   10.2 / 16.2 / 26.1 blocks push their own spikes into arrivals in global memory, all features in the kernel
//    8.7 / 14.2 / 24.0 model and plan in shared memory, arrivals loaded together, branch-free `step_sparse`
//    9.3 / 13.7 / 22.4 neurons with three or more events in every step (`step_dense`), second round in reverse order
//    9.9 / 13.7 / 22.3 Poisson trains drawn in blocks of 64 steps; propagators as separate arrays (no bank conflicts)
//   11.4 / 14.9 / 23.7 busy windows balanced between blocks: 1.6 less in busy ones, 0.8 to 2 more in quiet ones
//    9.0 / 12.8 / 23.5 the supported case only (half the code, no spills), 18 loads of arrivals in flight
// From here on blocks pull: connections are partitioned by target block (BlockCsr), arrivals are summed in shared
// memory. Launches of `step_lif_persistent` of 13 windows on average, with their two events; the line above is 125.9
// / 175.5 / 321 us in this unit:
//  106.5 / 163.4 / 493  each lane reads all connections of a head: neurons with many delay their warp
//  104.5 / 145.5 / 346  four lanes per head, a work queue per warp
//  102.8 / 139.6 / 264  connections queued in quads, processed by all threads of the block
//  103.3 / 129.8 / 247  no barrier: tagged words, counts first, spikes balanced over threads. Kept
//  112.8 / 148.1 / 266  running rates updated at each spike: two table look-ups on the critical path
//  103.9 / 136.6 / 253  the same while waiting for other blocks. Kept
//  looking for arrivals that cancel in `count_events`: 9 % of a busy window; now when they are consumed
// The next lines are wall time per step, us, of sugar21 / gustatory408 / broad10 and of a step of
// `step_leaky_persistent` (fastfly, 4,000 spikes and 780,000 events), each including the host; the line before is
// 0.383 / 0.480 / 0.921 / 32.3, of which 13 were halted windows because the spike ring was too short for many small
// windows.
//  0.383 / 0.480 / 0.921 / 19.4  a ring for 32 steps in which all neurons fire
//  0.353 / 0.474 / 1.037 / 19.4  keys copied to shared memory first, quads of connections read by one lane each
//  0.355 / 0.478 / 1.045 / 19.8  the same, each block starting elsewhere: contention is not the cause
//  0.359 / 0.479 / 0.977 / 15.1  without the copy; 2 or 8 at once instead of 4: 0.995, 1.035 in broad10
//  0.358 / 0.481 / 0.919 / 15.8  three 16-bit keys per word, the first two with the count; quads at once for few spikes, by
//                                four lanes for many; spikes hashed here (fastfly with all spikes read: 50 -> 17)
//  0.507 / 0.674 / 1.129 / 20.5  push instead: blocks read the rows of their own spikes, sort connections by block in
//                                shared memory and send 132 messages. A third of the instructions, but reading rows takes
//                                a median block 11,500 cycles and the slowest 33,000 (rows spread over 60 MB), sending 9,500
// Profile of a step of `step_leaky_persistent` (ncu, of 30,000 cycles): finding and reading keys 21 %, waiting for
// heads 12 %, queueing 14 %, tails 14 %, waiting for other blocks 12 %, barriers 9 %, noise and rates 7 %. It issues
// 38,800 instructions per multiprocessor at 1.3 per cycle; 300 times real time would leave 6,500 cycles. Two launches
// per step, `deliver_spikes` and `step_leaky`, take as long: 18.3 against 17.9 in one run (19.4 before all blocks of
// `step_leaky` were resident); 9 are `deliver_spikes`, 4 `step_leaky`, the rest launch gaps. The persistent kernel is
// kept. Profile of a busy window (of 32,600 cycles under the profiler, before the last two lines): stepping 8,900
// with the wait at its end, reading spikes and heads 8,000, waiting for other blocks 2,800, tails 4,300, sorting by
// events 4,200, kicks and publishing 2,900.
#pragma once
#include "spiking/step_window.cuh"
#include "spiking/run_windows.cuh"

namespace spiking {

// The neurons of a block, two per thread.
template <typename T> struct PersistentNeurons {
    HotState<T>& smem;
    const BlockPartition& partition;
    const BlockCsr& csr;
    const void *propagators, *currents;
    const float* fade;
    unsigned int *const trace_inputs, n_traced;
    unsigned int member, mine, group, lane, last_start = 0;
    bool owns, driven[2];

    __device__ PersistentNeurons(HotState<T>& smem, const BlockPartition& partition, const BlockCsr& csr, const void* propagators,
                         const void* currents, const float* fade, unsigned int* trace_inputs, unsigned int n_traced)
        : smem(smem), partition(partition), csr(csr), propagators(propagators), currents(currents), fade(fade),
          trace_inputs(trace_inputs), n_traced(n_traced), member(2 * threadIdx.x), mine(threadIdx.x >> 4), owns(mine < partition.mine) {
        group = owns ? partition.group(member) : 0;
        lane = owns ? partition.lane(member) : 0;
        driven[0] = driven[1] = false;
    }

    __device__ void enter(const Model& model, const KickSource* sources, const unsigned long long* chances,
                          const unsigned int* masks, const unsigned int* trains, const unsigned int* marks,
                          const void* states, const unsigned int* anchors, const unsigned int* checks,
                          const unsigned int* wakes, const DeviceRate* rates) {
        const unsigned int me = threadIdx.x;
        smem.cached.fill(propagators);
        if (owns) {
            const unsigned int mask = trains[group] ? masks[group] : 0;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                driven[h] = mask >> ((lane + h) & 31) & 1;
                smem.state[member + h] = static_cast<const State<T>*>(states)[lane + h];
                smem.anchor[member + h] = anchors[lane + h];
                smem.check[member + h] = checks[lane + h];
                smem.rate[member + h] = rates[lane + h];
                smem.marks[member + h] = (unsigned char)marks[lane + h];
                smem.kicked[member + h] = smem.summed[member + h] = smem.fired[member + h] = 0;
            }
            if ((me & 15) == 0) smem.wake[mine] = wakes[group];
        }
        const unsigned int row = partition.span();
        for (unsigned int i = me; i < row * model.layout.window; i += blockDim.x) smem.sums[i] = 0;
        if (model.n_sources && me < TRAIN_STEPS) smem.chances[me] = chances[me];
        if (me == 0) {
            smem.row = row;
            smem.drawn_block = ~0ull;
            smem.weight = model.n_sources ? sources[0].weight : 0.0;
            smem.address = model.n_sources ? sources[0].address : 0;
        }
    }

    // Adds the spikes of the previous window to the running rates.
    __device__ void update_rates() {
        if (!owns) return;
#pragma unroll 1
        for (unsigned int h = 0; h < 2; ++h) {
            const unsigned int fired = smem.fired[member + h];
            if (!fired) continue;
            smem.rate[member + h] = average(smem.model, fade, smem.rate[member + h], last_start, fired);
            smem.fired[member + h] = 0;
        }
    }

    // Draws the kicks of the window.
    __device__ void prepare(const Window& w) {
        update_rates();
        if (threadIdx.x <= MAX_WINDOW_STEPS) smem.count[threadIdx.x] = 0;
        const unsigned long long block = w.step >> 6, last_block = (w.step + w.steps - 1) >> 6;
        const unsigned int skip = (unsigned int)w.step & 63, steps = w.steps;
#pragma unroll 1
        for (unsigned int h = 0; h < 2; ++h) {
            if (!driven[h]) continue;
            unsigned long long events = 0, drawn = 0, b = block;
            if (block == smem.drawn_block) {
                drawn = smem.drawn_events[member + h];
                events = drawn >> skip;
                ++b;
            }
#pragma unroll 1
            for (; b <= last_block; ++b) {
                drawn = events_of_block(smem.model.seed, smem.address, smem.chances, b, lane + h);
                events |= b == block ? drawn >> skip : drawn << (TRAIN_STEPS - skip);
            }
            smem.drawn_events[member + h] = drawn;
            smem.kicked[member + h] = (unsigned int)events & (steps < 32 ? (1u << steps) - 1 : FULL_MASK);
        }
    }

    __device__ void load_arrivals(const Window& w, int* arrivals) {
        if (owns) take_arrivals(smem, member, lane, smem.model, w.steps, arrivals);
    }

    // Records the state of traced neurons and what arrives: a warp per neuron, a lane per step.
    __device__ void record_traced(const Window& w) {
        const unsigned int step = threadIdx.x & 31;
        for (unsigned int i = threadIdx.x >> 5; i < smem.n_traced; i += blockDim.x >> 5) {
            const unsigned int member = ExchangeState::member_of(smem.traced[i]), at = ExchangeState::index_of(smem.traced[i]);
            TraceInput<T>& to = *reinterpret_cast<TraceInput<T>*>(trace_inputs + (w.slot * n_traced + at) * TRACE_WORDS);
            to.sums[step] = step < w.steps ? smem.peek(step, member) : 0;
            if (step) continue;
            to.state = smem.state[member];
            to.anchor = smem.anchor[member];
            to.marks = smem.marks[member];
            to.kicked = smem.kicked[member];
        }
    }

    // Steps all neurons with events, sorted by number of events as in `step_lif`.
    __device__ void step(const Window& w, unsigned int* list, unsigned int& n_spikes) {
        const Model& m = smem.model;
        const unsigned int me = threadIdx.x, start = (unsigned int)w.step;
        record_traced(w);
        last_start = start;
        if (me == 0) smem.drawn_block = (w.step + w.steps - 1) >> 6;
        const unsigned long long both = owns ? *reinterpret_cast<const unsigned long long*>(&smem.summed[member]) |
                                                   *reinterpret_cast<const unsigned long long*>(&smem.kicked[member])
                                             : 0;
        const bool busy = owns && (both || signed_gap(smem.wake[mine], start + w.steps) < 0);
        if (!__syncthreads_or(busy)) return;
        int wait = owns && !busy ? signed_gap(smem.wake[mine], start) : NEVER;
        uint2 due = make_uint2(0, 0), place;
        if (busy) {
            due = count_events(smem, member, lane, m, w, wait);
            if (due.x) place.x = atomicAdd(&smem.count[due.x], 1);
            if (due.y) place.y = atomicAdd(&smem.count[due.y], 1);
        }
        for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(FULL_MASK, wait, d));
        if (owns && (me & 15) == 0) smem.wait[mine] = wait;
        __syncthreads();
        if (me < 32) rank_by_count(smem.count);
        __syncthreads();
        if (due.x) smem.order[smem.count[due.x] + place.x] = (unsigned short)member;
        if (due.y) smem.order[smem.count[due.y] + place.y] = (unsigned short)(member + 1);
        __syncthreads();
        run(w, list, n_spikes);
        __syncthreads();
        if (owns && (me & 15) == 0) smem.wake[mine] = start + smem.wait[mine];
    }

    // Neurons with most events first; a second round is processed in reverse order, so that its threads had least to
    // do.
    __device__ void run(const Window& w, unsigned int* list, unsigned int& n_spikes) {
        const Constants<T> c(smem.model, propagators); // constructed here to limit its live range
        const unsigned int me = threadIdx.x, n_all = smem.count[0];
        for (unsigned int round = 0; round * blockDim.x < n_all; ++round) {
            const unsigned int at = round & 1 ? (round + 1) * blockDim.x - 1 - me : round * blockDim.x + me;
            const unsigned int member = at < n_all ? smem.order[at] : 0;
            const unsigned int events = at < n_all ? smem.kicked[member] | smem.summed[member] : 0;
            const bool is_dense = __any_sync(FULL_MASK, __popc(events) >= MANY_EVENTS);
            if (at >= n_all) continue;
            const unsigned int lane = partition.lane(member);
            unsigned int fired = step_window(smem, member, lane, w, (T)smem.weight, c, currents, is_dense);
            if (!fired) continue;
            csr.prefetch_heads(lane);
            unsigned int to = atomicAdd(&n_spikes, __popc(fired));
            smem.fired[member] = fired;
            for (; fired; fired &= fired - 1) smem.record_spike(list, to++, __ffs(fired) - 1, member, lane);
        }
    }

    // Writes the state back to global memory.
    __device__ void store(void* states, unsigned int* anchors, unsigned int* checks, unsigned int* wakes, DeviceRate* rates) {
        if (!owns) return;
        update_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            static_cast<State<T>*>(states)[lane + h] = smem.state[member + h];
            anchors[lane + h] = smem.anchor[member + h];
            checks[lane + h] = smem.check[member + h];
            rates[lane + h] = smem.rate[member + h];
        }
        if ((threadIdx.x & 15) == 0) wakes[group] = smem.wake[mine];
    }
};

}  // namespace spiking
