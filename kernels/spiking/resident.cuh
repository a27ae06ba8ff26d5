// Many windows in one launch: neurons live in the shared memory of their multiprocessor, blocks wait for each other once
// per window. Groups of 32 neurons are dealt to the blocks in turn, so that neighbours, who are often active together,
// burden different ones. A block pushes the spikes of its neurons at once into the arrivals of the next window, of which
// there are two tables; the chunks of their rows are noted as well, because the spikes of the last window, which nobody
// pushes, are on their way when the launch ends: the first window of the next launch begins with a delivery.
//
// For the plain case only: at most one source of kicks and none listed, weights as they are, nobody traced. Everything
// else is done in two launches per window, which may take over whenever a launch has ended. Code for rare cases would
// cost registers here, and with them the loads that are in flight together.
//
// Measured on an H200, fly stand-in, double precision, microseconds per window of 18 steps in launches of 64 windows:
// quiet (sugar21) / gustatory408 / busy (broad10: 345,000 synaptic events a window). Two launches per window: 11.0 / 18.5 /
// 30.0 with gaps.
//   10.2 / 16.2 / 26.1 blocks push their own spikes, all conveniences in the kernel
//    8.7 / 14.2 / 24.0 model and plan in shared memory, loads of arrivals together, `hurry` without jumps
//    9.3 / 13.7 / 22.4 whoever has three events or more is taken step by step (`march`), the second round goes backwards
//    9.9 / 13.7 / 22.3 trains drawn by blocks of 64 steps; propagators number by number (bank conflicts gone); arrivals
//                      zeroed apart
//   11.4 / 14.9 / 23.7 blocks share busy windows out (1.6 less than each its own at 1,500 chunks and more, 0.8 to 2 more in
//                      quiet ones: by load); trains kept in memory
//   11.0 / 14.6 / 24.2 arrivals by group, step and neuron instead of by step and neuron: no gain by itself
//    9.0 / 12.8 / 23.5 the plain case only (half the code, no spills), 18 loads of arrivals in flight. Kept
// Where a busy window goes (cycles of 44,000): sharing out with its meeting 15,700 (the additions alone are 6,900 at the
// 94 G/s of the second-level cache), stepping 8,200, lining up spikes 8,000, reading arrivals 6,300 (10 MB; at least 5,000),
// drawing 6,000. So 100 times real time need fewer bytes (two steps in a word) and cheaper meetings.
#pragma once
#include "spiking/passage.cuh"
#include "spiking/volley.cuh"

namespace spiking {

template <typename T>
__device__ inline void
    reside(const Model& model, const void* propagators, const Window* windows, unsigned int n_windows, Segment* segments,
           const unsigned int* rows, const unsigned int* words, const Source* sources, const unsigned long long* chances,
           const unsigned int* masks, const unsigned int* trains, const unsigned int* marks, const void* currents,
           void* states, unsigned int* anchors, unsigned int* checks, unsigned int* wakes, unsigned char* touched,
           int* arrivals, unsigned int* spikes, Chunk* chunks, unsigned int* counters, unsigned int* gate,
           unsigned long long* ahead) {
    extern __shared__ __align__(16) unsigned char shared[];
    Ensemble<T>& crew = *reinterpret_cast<Ensemble<T>*>(shared);
    const Model& m = crew.model;
    const Deal deal(model);
    const unsigned int me = threadIdx.x, pair = 2 * me, mine = pair >> 5;
    const bool owns = mine < deal.mine;
    const unsigned int group = owns ? deal.group(pair) : 0, lane = owns ? deal.lane(pair) : 0;
    const bool has_trains = owns && trains[group];
    const unsigned long long table_size = (unsigned long long)model.window * model.stride;

    crew.near.fill(propagators);
    if (owns) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            crew.state[pair + h] = static_cast<const State<T>*>(states)[lane + h];
            crew.anchor[pair + h] = anchors[lane + h];
            crew.check[pair + h] = checks[lane + h];
            crew.marks[pair + h] = (unsigned char)marks[lane + h];
            crew.kicked[pair + h] = crew.summed[pair + h] = 0;
        }
        if ((me & 15) == 0) crew.wake[mine] = wakes[group];
    }
    if (me == 0) {
        crew.model = model;
        crew.plan[0] = windows[0];
        crew.looks = 0;
        crew.drawn_block = ~0ull;
        crew.weight = model.n_sources == 1 ? sources[0].weight : 0.0;
    }
    __syncthreads();
    const Verdict first = begin(m, crew.plan[0], segments, nullptr, blockIdx.x == 0);
    if (!first.halted)
        deliver_chunks<false>(m, crew.plan[0], first.dense, blockIdx.x, gridDim.x, segments, chunks, rows, words, nullptr,
                              nullptr, nullptr, arrivals, touched, counters);

    bool dense = false;
    for (unsigned int index = 0;; ++index) {
        const Window& w = crew.plan[index & 1];
        const Window& next = crew.plan[~index & 1];
        const unsigned int start = (unsigned int)w.step, steps = w.steps;
        const bool has_next = index + 1 < n_windows;

        // Everything of this block is done and in view of the others; they are waited for while kicks are drawn.
        __syncthreads();
        if (me == 0) crew.before = arrive(gate);
        if (owns) {
            const unsigned long long block = w.step >> 6, last_block = (w.step + steps - 1) >> 6;
            const unsigned int skip = start & 63;
#pragma unroll 1
            for (unsigned int h = 0; h < 2; ++h) {
                unsigned long long events = 0;
                if (has_trains && masks[group] >> ((lane + h) & 31) & 1) {
                    unsigned long long drawn = 0, b = block;
                    if (block == crew.drawn_block) {
                        drawn = ahead[lane + h];
                        events = drawn >> skip;
                        ++b;
                    }
#pragma unroll 1
                    for (; b <= last_block; ++b) {
                        drawn = events_of_block(m.seed, sources[0].address, chances, b, lane + h);
                        events |= b == block ? drawn >> skip : drawn << (TRAIN_STEPS - skip);
                    }
                    ahead[lane + h] = drawn;
                }
                crew.kicked[pair + h] = (unsigned int)events & (steps < 32 ? (1u << steps) - 1 : WHOLE);
            }
        }
        if (me <= LONGEST) crew.count[me] = 0;
        if (me == 0) {
            crew.n_spikes = crew.n_left = 0;
            wait_at(gate, crew.before);
        }
        __syncthreads();

        unsigned char* reached = touched + (index & 1) * deal.n_groups;
        const bool reached_now = owns && reached[group];
        const Segment last = segments[w.previous];
        const unsigned int load = index ? last.n_chunks : load_of(m, w, segments);
        const bool dense_next = load >= m.dense_chunks, shared_out = load >= m.shared_chunks;
        if (index == 0) dense = dense_next;
        if (me == 0) {
            crew.drawn_block = (w.step + steps - 1) >> 6;
            crew.now = Segment{};
            crew.now.spike_start = last.spike_start + last.n_spikes;
            crew.now.chunk_start = last.chunk_start + last.n_chunks;
        }
        int* table = arrivals + (index & 1) * table_size;
        if (last.halted || !has_room(m, w, segments, last)) { // nor those behind it: what was pushed is taken back
            if (index && owns) {
                for (unsigned int i = 0; i < steps; ++i) *reinterpret_cast<int2*>(&table[column(m, lane) + i * ROW]) = make_int2(0, 0);
                reached[group] = 0;
            }
            Segment halted = {};
            halted.spike_start = last.spike_start + last.n_spikes;
            halted.chunk_start = last.chunk_start + last.n_chunks;
            halted.halted = 1;
            for (unsigned int i = index + me; blockIdx.x == 0 && i < n_windows; i += blockDim.x) segments[windows[i].segment] = halted;
            break;
        }
        if (blockIdx.x == 0 && me == 0) {
            if (index) {
                segments[w.segment].spike_start = crew.now.spike_start;
                segments[w.segment].chunk_start = crew.now.chunk_start;
            }
            if (has_next) segments[windows[index + 1].segment] = Segment{};
        }
        if (me == 32 && has_next) crew.plan[~index & 1] = windows[index + 1];
        const bool arrived = owns && (dense || reached_now);
        const bool busy = owns && (arrived || has_trains || signed_gap(crew.wake[mine], start + steps) < 0);
        if (__syncthreads_or(busy)) {
            // Whoever has as much to do as others is taken together with them, as in `advance`.
            int wait = owns && !busy ? signed_gap(crew.wake[mine], start) : NEVER;
            uint2 due = make_uint2(0, 0), place;
            unsigned int filled = 0;
            if (busy) {
                due = gather(crew, pair, lane, m, w, arrived, table, wait, filled);
                if (due.x) place.x = atomicAdd(&crew.count[due.x], 1);
                if (due.y) place.y = atomicAdd(&crew.count[due.y], 1);
            }
            for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(WHOLE, wait, d));
            if (owns && (me & 15) == 0) {
                crew.wait[mine] = wait;
                if (arrived && !dense) reached[group] = 0;
            }
            __syncthreads();
            if (me < 32) rank(crew.count);
            __syncthreads();
            if (due.x) crew.who[crew.count[due.x] + place.x] = (unsigned short)pair;
            if (due.y) crew.who[crew.count[due.y] + place.y] = (unsigned short)(pair + 1);
            __syncthreads();

            const Constants<T> c(m, propagators); // made here, lest it hold registers all the time
            const unsigned int n_all = crew.count[0];
            // Those with most to do come first; a second round is taken by those who had least in the first.
            for (unsigned int round = 0; round * blockDim.x < n_all; ++round) {
                const unsigned int at = round & 1 ? (round + 1) * blockDim.x - 1 - me : round * blockDim.x + me;
                const unsigned int member = at < n_all ? crew.who[at] : 0, events = crew.kicked[member] | crew.summed[member];
                const bool much = __any_sync(WHOLE, at < n_all && __popc(events) >= MUCH);
                if (at >= n_all) continue;
                const unsigned int whom = deal.lane(member);
                const unsigned int fired =
                    pass_through(crew, member, whom, m, w, (T)crew.weight, c, currents, table, much);
                crew.summed[member] = fired ? enlist(crew, whom, fired) : 0;
            }
            __syncthreads();
            if (owns && (me & 15) == 0) crew.wake[mine] = start + crew.wait[mine];
            // What was taken up leaves the table, while the spikes are sorted out.
            for (int* sums = table + column(m, lane); filled; filled &= filled - 1)
                *reinterpret_cast<int2*>(&sums[(__ffs(filled) - 1) * ROW]) = make_int2(0, 0);
            int* next_table = arrivals + (~index & 1) * table_size;
            unsigned char* next_reach = dense_next ? nullptr : touched + (~index & 1) * deal.n_groups;
            bool more = crew.n_spikes;
            while (more) {
                fire(m, crew, w, crew.now, &segments[w.segment], rows, words, has_next && !shared_out, next, next_table, next_reach, spikes,
                     chunks, counters);
                more = crew.n_left;
                if (!more) break;
                __syncthreads();
                if (me == 0) crew.n_spikes = crew.n_left = 0;
                __syncthreads();
                for (unsigned int h = 0; owns && h < 2; ++h) {
                    const unsigned int left = crew.summed[pair + h];
                    if (left) crew.summed[pair + h] = enlist(crew, lane + h, left);
                }
                __syncthreads();
            }
        }
        if (!has_next) break;
        if (shared_out) { // when all have noted their spikes, all push them together
            __syncthreads();
            if (me == 0) wait_at(gate, arrive(gate));
            __syncthreads();
            deliver_chunks<false>(m, next, dense_next, blockIdx.x, gridDim.x, segments, chunks, rows, words, nullptr, nullptr,
                                  nullptr, arrivals + (~index & 1) * table_size, touched + (~index & 1) * deal.n_groups,
                                  counters);
        }
        dense = dense_next;
    }

    __syncthreads();
    if (owns) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            static_cast<State<T>*>(states)[lane + h] = crew.state[pair + h];
            anchors[lane + h] = crew.anchor[pair + h];
            checks[lane + h] = crew.check[pair + h];
        }
        if ((me & 15) == 0) wakes[group] = crew.wake[mine];
    }
}

}  // namespace spiking
