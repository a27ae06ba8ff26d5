// Many windows in one launch: neurons live in the shared memory of their multiprocessor, and what arrives at them is added up
// there. Groups of 32 neurons are dealt to the blocks in turn, so that neighbours, who are often active together, burden
// different ones. After each window blocks tell each other who fired (posts.cuh); the loop over windows is in turns.cuh.
//
// For the plain case only: at most one source of kicks and none listed, weights as they are, nobody traced. Everything
// else is done in two launches per window, which may take over whenever a launch has ended. Code for rare cases would
// cost registers here, and with them the loads that are in flight together.
//
// Measured on an H200, fly stand-in, double precision, microseconds per window of 18 steps: quiet (sugar21) / gustatory408 /
// busy (broad10: 2,066 spikes, 345,000 synaptic events). Two launches per window: 11.0 / 18.5 / 30.0.
//   10.2 / 16.2 / 26.1 blocks push their own spikes into arrivals in global memory, all conveniences in the kernel
//    8.7 / 14.2 / 24.0 model and plan in shared memory, loads of arrivals together, `hurry` without jumps
//    9.3 / 13.7 / 22.4 whoever has three events or more is taken step by step (`march`), the second round goes backwards
//    9.9 / 13.7 / 22.3 trains drawn by blocks of 64 steps; propagators number by number (bank conflicts gone)
//   11.4 / 14.9 / 23.7 blocks share busy windows out: 1.6 less in busy ones, 0.8 to 2 more in quiet ones
//    9.0 / 12.8 / 23.5 the plain case only (half the code, no spills), 18 loads of arrivals in flight
// From here on nothing is pushed: the wiring is dealt to blocks, arrivals are added in shared memory. Launches of `reside`
// of 13 windows on average, with their two events; the line above is 125.9 / 175.5 / 321 us so:
//  106.5 / 163.4 / 493  each lane reads all connections of a head that has several: neurons with many hold their warp up
//  104.5 / 145.5 / 346  four lanes to a head, a backlog per warp
//  102.8 / 139.6 / 264  connections noted four at a time, taken by all threads of the block
//  103.3 / 129.8 / 247  no meeting: tagged words, counts first, spikes shared evenly among threads. Kept
//  112.8 / 148.1 / 266  running rates updated where a neuron fires: two table look-ups in everybody's way
//  103.9 / 136.6 / 253  the same while others are waited for. Kept
//  arrivals that cancel each other looked for in `muster`: 9 % of a busy window; now noticed where they are taken
// The next lines are wall time per step, us, of sugar21 / gustatory408 / broad10 and of a step of `board` (fastfly, 4,000 spikes
// and 780,000 events), each with the whole host; the line before is 0.383 / 0.480 / 0.921 / 32.3, of which 13 were windows
// halted because the ring of spikes was too short for many small windows.
//  0.383 / 0.480 / 0.921 / 19.4  a ring for 32 steps in which everybody fires
//  0.353 / 0.474 / 1.037 / 19.4  keys copied to shared memory first, quads of connections read by one lane each
//  0.355 / 0.478 / 1.045 / 19.8  the same, each block beginning elsewhere: not a matter of all asking one place at once
//  0.359 / 0.479 / 0.977 / 15.1  without the copy; 2 or 8 at once instead of 4: 0.995, 1.035 in broad10
//  0.358 / 0.481 / 0.919 / 15.8  three keys of 16 bits to a word, the first two with the count; quads at once for few spikes, by
//                                four lanes for many; fingerprints of spikes made here (fastfly with all spikes read: 50 -> 17)
//  0.507 / 0.674 / 1.129 / 20.5  the other way round: blocks read the rows of their own spikes, sort the connections by block in
//                                shared memory and send 132 letters. A third of the instructions, but reading rows takes a
//                                median block 11,500 cycles and the slowest 33,000 (rows lie anywhere in 60 MB), letters 9,500
// Where a step of `board` goes (ncu, of 30,000 cycles): finding and reading keys 21 %, waiting for heads 12 %, noting 14 %,
// tails 14 %, waiting for other blocks 12 %, barriers 9 %, noise and rates 7 %. It issues 38,800 instructions per
// multiprocessor at 1.3 per cycle; 300 times real time would leave 6,500 cycles.
// Two launches a step instead, `deliver` and `leak`, take as long: 18.3 beside 17.9 of `board` in one run (19.4 before `leak` had
// room for all its blocks at once); 9 of it are `deliver`, 4 `leak`, the rest is between launches. Units stay on board.
// Where a busy window goes (of 32,600 cycles under the profiler, before the last two lines): stepping 8,900 with the wait at
// its end, reading spikes and heads 8,000, waiting for other blocks 2,800, tails 4,300, sorting by events 4,200, kicks and
// filing 2,900.
#pragma once
#include "spiking/passage.cuh"
#include "spiking/turns.cuh"

namespace spiking {

// Neurons of a block, two to a thread.
template <typename T> struct Residents {
    Ensemble<T>& crew;
    const Deal& deal;
    const Dealt& dealt;
    const void *propagators, *currents;
    const float* fade;
    unsigned int member, mine, group, lane, last_start = 0;
    bool owns, driven[2];

    __device__ Residents(Ensemble<T>& crew, const Deal& deal, const Dealt& dealt, const void* propagators,
                         const void* currents, const float* fade)
        : crew(crew), deal(deal), dealt(dealt), propagators(propagators), currents(currents), fade(fade),
          member(2 * threadIdx.x), mine(threadIdx.x >> 4), owns(mine < deal.mine) {
        group = owns ? deal.group(member) : 0;
        lane = owns ? deal.lane(member) : 0;
        driven[0] = driven[1] = false;
    }

    __device__ void enter(const Model& model, const Source* sources, const unsigned long long* chances,
                          const unsigned int* masks, const unsigned int* trains, const unsigned int* marks,
                          const void* states, const unsigned int* anchors, const unsigned int* checks,
                          const unsigned int* wakes, const Average* rates) {
        const unsigned int me = threadIdx.x;
        crew.near.fill(propagators);
        if (owns) {
            const unsigned int mask = trains[group] ? masks[group] : 0;
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                driven[h] = mask >> ((lane + h) & 31) & 1;
                crew.state[member + h] = static_cast<const State<T>*>(states)[lane + h];
                crew.anchor[member + h] = anchors[lane + h];
                crew.check[member + h] = checks[lane + h];
                crew.rate[member + h] = rates[lane + h];
                crew.marks[member + h] = (unsigned char)marks[lane + h];
                crew.kicked[member + h] = crew.summed[member + h] = crew.fired[member + h] = 0;
            }
            if ((me & 15) == 0) crew.wake[mine] = wakes[group];
        }
        const unsigned int row = deal.span();
        for (unsigned int i = me; i < row * model.layout.window; i += blockDim.x) crew.sums[i] = 0;
        if (model.n_sources && me < TRAIN_STEPS) crew.chances[me] = chances[me];
        if (me == 0) {
            crew.row = row;
            crew.drawn_block = ~0ull;
            crew.weight = model.n_sources ? sources[0].weight : 0.0;
            crew.address = model.n_sources ? sources[0].address : 0;
        }
    }

    // Takes the spikes of the window before into the running rates.
    __device__ void take_rates() {
        if (!owns) return;
#pragma unroll 1
        for (unsigned int h = 0; h < 2; ++h) {
            const unsigned int fired = crew.fired[member + h];
            if (!fired) continue;
            crew.rate[member + h] = average(crew.model, fade, crew.rate[member + h], last_start, fired);
            crew.fired[member + h] = 0;
        }
    }

    // Draws kicks.
    __device__ void prepare(const Window& w) {
        take_rates();
        if (threadIdx.x <= LONGEST) crew.count[threadIdx.x] = 0;
        const unsigned long long block = w.step >> 6, last_block = (w.step + w.steps - 1) >> 6;
        const unsigned int skip = (unsigned int)w.step & 63, steps = w.steps;
#pragma unroll 1
        for (unsigned int h = 0; h < 2; ++h) {
            if (!driven[h]) continue;
            unsigned long long events = 0, drawn = 0, b = block;
            if (block == crew.drawn_block) {
                drawn = crew.ahead[member + h];
                events = drawn >> skip;
                ++b;
            }
#pragma unroll 1
            for (; b <= last_block; ++b) {
                drawn = events_of_block(crew.model.seed, crew.address, crew.chances, b, lane + h);
                events |= b == block ? drawn >> skip : drawn << (TRAIN_STEPS - skip);
            }
            crew.ahead[member + h] = drawn;
            crew.kicked[member + h] = (unsigned int)events & (steps < 32 ? (1u << steps) - 1 : WHOLE);
        }
    }

    __device__ void fetch(const Window& w, int* arrivals) {
        if (owns) fetch_arrivals(crew, member, lane, crew.model, w.steps, arrivals);
    }

    // All neurons to whom something happens. Whoever has as much to do as others is taken together with them, as in
    // `advance`.
    __device__ void step(const Window& w, unsigned int* list, unsigned int& n_spikes) {
        const Model& m = crew.model;
        const unsigned int me = threadIdx.x, start = (unsigned int)w.step;
        last_start = start;
        if (me == 0) crew.drawn_block = (w.step + w.steps - 1) >> 6;
        const unsigned long long both = owns ? *reinterpret_cast<const unsigned long long*>(&crew.summed[member]) |
                                                   *reinterpret_cast<const unsigned long long*>(&crew.kicked[member])
                                             : 0;
        const bool busy = owns && (both || signed_gap(crew.wake[mine], start + w.steps) < 0);
        if (!__syncthreads_or(busy)) return;
        int wait = owns && !busy ? signed_gap(crew.wake[mine], start) : NEVER;
        uint2 due = make_uint2(0, 0), place;
        if (busy) {
            due = muster(crew, member, lane, m, w, wait);
            if (due.x) place.x = atomicAdd(&crew.count[due.x], 1);
            if (due.y) place.y = atomicAdd(&crew.count[due.y], 1);
        }
        for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(WHOLE, wait, d));
        if (owns && (me & 15) == 0) crew.wait[mine] = wait;
        __syncthreads();
        if (me < 32) rank(crew.count);
        __syncthreads();
        if (due.x) crew.who[crew.count[due.x] + place.x] = (unsigned short)member;
        if (due.y) crew.who[crew.count[due.y] + place.y] = (unsigned short)(member + 1);
        __syncthreads();
        run(w, list, n_spikes);
        __syncthreads();
        if (owns && (me & 15) == 0) crew.wake[mine] = start + crew.wait[mine];
    }

    // Those with most to do come first; a second round is taken by those who had least in the first.
    __device__ void run(const Window& w, unsigned int* list, unsigned int& n_spikes) {
        const Constants<T> c(crew.model, propagators); // made here, lest it hold registers all the time
        const unsigned int me = threadIdx.x, n_all = crew.count[0];
        for (unsigned int round = 0; round * blockDim.x < n_all; ++round) {
            const unsigned int at = round & 1 ? (round + 1) * blockDim.x - 1 - me : round * blockDim.x + me;
            const unsigned int who = at < n_all ? crew.who[at] : 0;
            const unsigned int events = at < n_all ? crew.kicked[who] | crew.summed[who] : 0;
            const bool much = __any_sync(WHOLE, __popc(events) >= MUCH);
            if (at >= n_all) continue;
            const unsigned int whom = deal.lane(who);
            unsigned int fired = pass_through(crew, who, whom, w, (T)crew.weight, c, currents, much);
            if (!fired) continue;
            dealt.announce(whom);
            unsigned int to = atomicAdd(&n_spikes, __popc(fired));
            crew.fired[who] = fired;
            for (; fired; fired &= fired - 1) crew.tell(list, to++, __ffs(fired) - 1, who, whom);
        }
    }

    // Back to where others find them.
    __device__ void store(void* states, unsigned int* anchors, unsigned int* checks, unsigned int* wakes, Average* rates) {
        if (!owns) return;
        take_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            static_cast<State<T>*>(states)[lane + h] = crew.state[member + h];
            anchors[lane + h] = crew.anchor[member + h];
            checks[lane + h] = crew.check[member + h];
            rates[lane + h] = crew.rate[member + h];
        }
        if ((threadIdx.x & 15) == 0) wakes[group] = crew.wake[mine];
    }
};

}  // namespace spiking
