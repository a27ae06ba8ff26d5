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
#include "spiking/posts.cuh"

namespace spiking {

// What a thread knows of its two neurons.
struct Pair {
    unsigned int member, mine, group, lane;
    bool owns, driven[2];
};

template <typename T>
__device__ inline Pair settle_in(Ensemble<T>& crew, const Model& model, const Deal& deal, const void* propagators,
                                 const Window* windows, const Segment* segments, const Source* sources,
                                 const unsigned long long* chances, const unsigned int* masks, const unsigned int* trains,
                                 const unsigned int* marks, const void* states, const unsigned int* anchors,
                                 const unsigned int* checks, const unsigned int* wakes, const Average* rates) {
    const unsigned int me = threadIdx.x;
    Pair p = {2 * me, me >> 4};
    p.owns = p.mine < deal.mine;
    p.group = p.owns ? deal.group(p.member) : 0;
    p.lane = p.owns ? deal.lane(p.member) : 0;
    const bool has_trains = p.owns && trains[p.group];
    const unsigned int mask = has_trains ? masks[p.group] : 0;
    crew.near.fill(propagators);
    if (p.owns) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            p.driven[h] = mask >> ((p.lane + h) & 31) & 1;
            crew.state[p.member + h] = static_cast<const State<T>*>(states)[p.lane + h];
            crew.anchor[p.member + h] = anchors[p.lane + h];
            crew.check[p.member + h] = checks[p.lane + h];
            crew.rate[p.member + h] = rates[p.lane + h];
            crew.marks[p.member + h] = (unsigned char)marks[p.lane + h];
            crew.kicked[p.member + h] = crew.summed[p.member + h] = 0;
        }
        if ((me & 15) == 0) crew.wake[p.mine] = wakes[p.group];
    }
    const unsigned int row = deal.span();
    for (unsigned int i = me; i < row * model.window; i += blockDim.x) crew.sums[i] = 0;
    if (model.n_sources && me < TRAIN_STEPS) crew.chances[me] = chances[me];
    if (me == 0) {
        const Segment last = segments[windows[0].previous];
        crew.model = model;
        crew.plan[0] = windows[0];
        crew.row = row;
        crew.looks = 0;
        crew.n_spikes[0] = crew.n_spikes[1] = 0;
        crew.drawn_block = ~0ull;
        crew.weight = model.n_sources ? sources[0].weight : 0.0;
        crew.address = model.n_sources ? sources[0].address : 0;
        crew.unread = segments[windows[0].unread & model.segment_mask].spike_start;
        crew.start[1] = last.spike_start + last.n_spikes; // as if of the window before
        crew.chunk_start = last.chunk_start + last.n_chunks;
    }
    return p;
}

// The kicks of two neurons in a window.
template <typename T> __device__ inline void draw(Ensemble<T>& crew, const Pair& p, const Window& w) {
    const unsigned long long block = w.step >> 6, last_block = (w.step + w.steps - 1) >> 6;
    const unsigned int skip = (unsigned int)w.step & 63, steps = w.steps;
#pragma unroll 1
    for (unsigned int h = 0; h < 2; ++h) {
        if (!p.driven[h]) continue;
        unsigned long long events = 0, drawn = 0, b = block;
        if (block == crew.drawn_block) {
            drawn = crew.ahead[p.member + h];
            events = drawn >> skip;
            ++b;
        }
#pragma unroll 1
        for (; b <= last_block; ++b) {
            drawn = events_of_block(crew.model.seed, crew.address, crew.chances, b, p.lane + h);
            events |= b == block ? drawn >> skip : drawn << (TRAIN_STEPS - skip);
        }
        crew.ahead[p.member + h] = drawn;
        crew.kicked[p.member + h] = (unsigned int)events & (steps < 32 ? (1u << steps) - 1 : WHOLE);
    }
}

// All neurons of the block to whom something happens, through a window; their spikes to the post. Whoever has as much to
// do as others is taken together with them, as in `advance`.
template <typename T>
__device__ inline void step_all(Ensemble<T>& crew, const Pair& p, const Deal& deal, const Window& w, const void* propagators,
                                const void* currents, const Dealt& dealt, unsigned long long* post, unsigned int tag, unsigned int& n_spikes,
                                const float* fade) {
    const Model& m = crew.model;
    const unsigned int me = threadIdx.x, start = (unsigned int)w.step;
    const unsigned long long both = p.owns ? *reinterpret_cast<const unsigned long long*>(&crew.summed[p.member]) |
                                                 *reinterpret_cast<const unsigned long long*>(&crew.kicked[p.member])
                                           : 0;
    const bool busy = p.owns && (both || signed_gap(crew.wake[p.mine], start + w.steps) < 0);
    if (!__syncthreads_or(busy)) return;
    int wait = p.owns && !busy ? signed_gap(crew.wake[p.mine], start) : NEVER;
    uint2 due = make_uint2(0, 0), place;
    if (busy) {
        due = muster(crew, p.member, p.lane, m, w, wait);
        if (due.x) place.x = atomicAdd(&crew.count[due.x], 1);
        if (due.y) place.y = atomicAdd(&crew.count[due.y], 1);
    }
    for (unsigned int d = 8; d; d /= 2) wait = min(wait, __shfl_xor_sync(WHOLE, wait, d));
    if (p.owns && (me & 15) == 0) crew.wait[p.mine] = wait;
    __syncthreads();
    if (me < 32) rank(crew.count);
    __syncthreads();
    if (due.x) crew.who[crew.count[due.x] + place.x] = (unsigned short)p.member;
    if (due.y) crew.who[crew.count[due.y] + place.y] = (unsigned short)(p.member + 1);
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
        unsigned int fired = pass_through(crew, member, whom, w, (T)crew.weight, c, currents, much);
        if (!fired) continue;
        dealt.announce(whom);
        crew.rate[member] = average(m, fade, crew.rate[member], start, fired);
        unsigned int to = 1 + atomicAdd(&n_spikes, __popc(fired));
        for (; fired; fired &= fired - 1) put(&post[to++], tag, (__ffs(fired) - 1) << LANE_BITS | whom);
    }
    __syncthreads();
    if (p.owns && (me & 15) == 0) crew.wake[p.mine] = start + crew.wait[p.mine];
}

// The end of a launch after `n_run` windows: the last spikes go to the ring, what is still on its way becomes chunks, and
// neurons go back to where others find them.
template <typename T>
__device__ inline void leave(Ensemble<T>& crew, const Pair& p, const unsigned long long* own, unsigned long long half,
                             unsigned int n_run, unsigned int n_windows, const Window* windows, Segment* segments,
                             const unsigned int* rows, unsigned int* spikes, Chunk* chunks, void* states,
                             unsigned int* anchors, unsigned int* checks, unsigned int* wakes, unsigned int* gate,
                             Average* rates) {
    const Model& m = crew.model;
    const unsigned int me = threadIdx.x;
    if (n_run) {
        const unsigned int last = ~n_run & 1, before = n_run & 1; // sides
        const Window w = windows[n_run - 1];
        const unsigned long long* post = own + last * half;
        file(m, post, crew.n_spikes[last], crew.ring_at[last], 0, nullptr, rows, spikes);
        unsigned int chunk_start = crew.chunk_start;
        // A last window that is shorter than the delay leaves the rest of the one before; its own chunks come behind.
        if (n_run > 1 && w.steps < m.window) {
            const Window& long_one = windows[n_run - 2];
            leave_chunks(m, own + before * half, crew.n_spikes[before], w.steps, (unsigned int)long_one.step, chunk_start,
                         &segments[long_one.segment].n_chunks, rows, chunks);
            __syncthreads();
            if (me == 0) wait_at(gate, arrive(gate));
            __syncthreads();
            chunk_start += __ldcg(&segments[long_one.segment].n_chunks);
            if (blockIdx.x == 0 && me == 0) segments[w.segment].chunk_start = chunk_start;
        }
        leave_chunks(m, post, crew.n_spikes[last], 0, (unsigned int)w.step, chunk_start, &segments[w.segment].n_chunks, rows,
                     chunks);
    }
    if (n_run < n_windows && blockIdx.x == 0) {
        const Segment halted = {0, 0, crew.start[n_run & 1], crew.chunk_start, 1, 0};
        for (unsigned int i = n_run + me; i < n_windows; i += blockDim.x) segments[windows[i].segment] = halted;
    }
    if (!p.owns) return;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        static_cast<State<T>*>(states)[p.lane + h] = crew.state[p.member + h];
        anchors[p.lane + h] = crew.anchor[p.member + h];
        checks[p.lane + h] = crew.check[p.member + h];
        rates[p.lane + h] = crew.rate[p.member + h];
    }
    if ((me & 15) == 0) wakes[p.group] = crew.wake[p.mine];
}

template <typename T>
__device__ inline void
    reside(const Model& model, const void* propagators, const Window* windows, unsigned int n_windows, Segment* segments,
           const unsigned int* rows, const unsigned int* words, const unsigned int* heads, const unsigned int* tails,
           const unsigned int* tail_starts, const Source* sources, const unsigned long long* chances,
           const unsigned int* masks, const unsigned int* trains, const unsigned int* marks, const void* currents,
           void* states, unsigned int* anchors, unsigned int* checks, unsigned int* wakes, int* arrivals, unsigned int* spikes, Chunk* chunks, unsigned int* counters, unsigned int* gate,
           unsigned long long* posts, unsigned int first_tag, Average* rates, const float* fade) {
    extern __shared__ __align__(16) unsigned char shared[];
    Ensemble<T>& crew = *reinterpret_cast<Ensemble<T>*>(shared);
    const Model& m = crew.model;
    const Deal deal(model);
    const Dealt dealt(heads, tails, tail_starts);
    const unsigned int me = threadIdx.x, post_size = deal.post_size(model);
    const unsigned long long half = (unsigned long long)gridDim.x * post_size;
    unsigned long long* const own = posts + (unsigned long long)blockIdx.x * post_size;
    const Pair p = settle_in(crew, model, deal, propagators, windows, segments, sources, chances, masks, trains, marks, states,
                             anchors, checks, wakes, rates);
    __syncthreads();
    const Verdict first = begin(m, crew.plan[0], segments, nullptr, blockIdx.x == 0);
    if (!first.halted)
        deliver_chunks<false>(m, crew.plan[0], true, blockIdx.x, gridDim.x, segments, chunks, rows, words, nullptr, nullptr,
                              nullptr, arrivals, nullptr, counters);

    __syncthreads();
    if (me == 0) wait_at(gate, arrive(gate)); // for what was delivered
    __syncthreads();

    // Each turn: what the window before brought is exchanged, then the window at hand is run. After the last one there is
    // only the exchange.
    unsigned int index = 0;
    for (;; ++index) {
        const unsigned int side = index & 1, other = side ^ 1, tag = first_tag + index;
        const bool is_over = index == n_windows;
        const Window& w = crew.plan[side];
        // While others finish, kicks are drawn and the spikes of the window before the last are filed.
        if (me == 0) {
            if (index) put(&own[other * half], tag - 1, crew.n_spikes[other]);
            if (index && m.counts_active) {
                atomicAdd(&counters[crew.plan[other].slot * COUNTERS + COPIES * LONGEST], crew.looks);
                crew.looks = 0;
            }
            crew.n_work = 0;
        }
        if (p.owns && !is_over) draw(crew, p, w);
        if (index >= 2) {
            const Window& then = crew.plan[other];
            file(m, own + side * half, crew.n_spikes[side], crew.ring_at[side], then.steps, counters + then.slot * COUNTERS, rows,
                 spikes);
        }
        if (me <= LONGEST) crew.count[me] = 0;
        if (index) await_posts(crew, posts + other * half, post_size, tag - 1);
        __syncthreads();
        const unsigned int total = index ? spikes_before(crew, gridDim.x + 31) : 0, start = crew.start[other] + total;
        const unsigned long long taken = start - crew.unread;
        const bool has_room = taken + (unsigned long long)m.n * w.steps <= (unsigned long long)m.spike_mask + 1;
        const bool is_last = is_over || first.halted || !has_room;
        if (me == 0) {
            crew.drawn_block = (w.step + w.steps - 1) >> 6;
            crew.start[side] = start;
            if (index) {
                const unsigned int below = spikes_before(crew, blockIdx.x) + crew.until[blockIdx.x] - crew.n_spikes[other];
                crew.ring_at[other] = crew.start[other] + below;
                if (blockIdx.x == 0) {
                    Segment& run = segments[crew.segment[other]];
                    run.n_spikes = total;
                    run.spike_start = crew.start[other];
                }
            }
            if (!is_last) {
                crew.n_spikes[side] = 0;
                crew.segment[side] = w.segment;
                if (blockIdx.x == 0) segments[w.segment] = {0, 0, start, crew.chunk_start, 0, 1};
            }
        }
        if (is_last) break;
        if (me == 32 && index + 1 < n_windows) crew.plan[other] = windows[index + 1];
        if (total) {
            receive(crew, w.steps, total, posts + other * half, post_size, tag - 1, dealt);
            __syncthreads();
            work_off(crew, dealt.tails);
        } else if (index == 0 && p.owns) {
            fetch_arrivals(crew, p.member, p.lane, m, w.steps, arrivals);
        }
        __syncthreads();
        step_all(crew, p, deal, w, propagators, currents, dealt, own + side * half, tag, crew.n_spikes[side],
                 fade);
    }
    __syncthreads();
    if (me == 0) wait_at(gate, arrive(gate)); // for what the first block has written about segments
    __syncthreads();
    leave(crew, p, own, half, index, n_windows, windows, segments, rows, spikes, chunks, states, anchors, checks, wakes, gate,
          rates);
}

}  // namespace spiking
