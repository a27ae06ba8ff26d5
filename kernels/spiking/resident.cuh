// Many windows in one launch: neurons live in the shared memory of their multiprocessor, blocks wait for each other once
// per window. Groups of 32 neurons are dealt to the blocks in turn, so that neighbours, who are often active together,
// burden different ones. A block pushes the spikes of its neurons at once into the arrivals of the next window, of which
// there are two tables; the chunks of their rows are noted as well, because the spikes of the last window, which nobody
// pushes, are on their way when the launch ends: the first window of the next launch begins with a delivery.
//
// For the plain case only: at most one source of kicks and none listed, weights as they are, nobody traced. Everything
// else is done in two launches per window, which may take over whenever a launch has ended. Code for rare cases would
// cost registers here, and with them the loads that are in flight together.
#pragma once
#include "spiking/advance.cuh"
#include "spiking/deliver.cuh"

namespace spiking {

// Neurons of a block at most, and spikes it pushes together.
constexpr unsigned int MOST = 1088, VOLLEY = 384;
// Events of a window from which on a neuron is looked at in every step.
constexpr int MUCH = 3;
// Steps whose arrivals are read together.
constexpr unsigned int BATCH = 18;

// What a block knows of its neurons for as long as the launch lasts.
template <typename T> struct Ensemble {
    Near<T> near;
    State<T> state[MOST];
    unsigned int anchor[MOST], check[MOST], kicked[MOST];
    unsigned int summed[MOST]; // steps with arrivals; later the spikes that found no room in the volley; else 0
    short sums[STAGED][MOST]; // TOO_LARGE where it does not fit: it is read from the table then
    unsigned short who[MOST];
    unsigned char marks[MOST];
    unsigned int count[LONGEST + 1];
    int wait[MOST / 32];
    unsigned int wake[MOST / 32];
    // The volley: keys of spikes, their rows, and how many chunks there are up to and with each.
    unsigned int key[VOLLEY], from[VOLLEY], len[VOLLEY], until[VOLLEY];
    unsigned int n_spikes, n_left, next_chunk, looks, before;
    // What is read again and again: the first level of the cache is emptied whenever the blocks meet.
    Model model;
    Window plan[2];
    Segment now;
    unsigned long long place;       // of the volley in the rings
    unsigned long long drawn_block; // whose events lie in `ahead`
    double weight; // of the only source of kicks
};

// A multiprocessor of compute capability 8.6 has 101,376.
static_assert(sizeof(Ensemble<double>) == 101264 && sizeof(Ensemble<float>) == 90504, "what the host asks for");

// All blocks meet. The top bit of the gate turns over when the last one has arrived; nothing is ever reset.
__device__ inline unsigned int arrive(unsigned int* gate) {
    const unsigned int mine = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
    unsigned int before;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(gate), "r"(mine) : "memory");
    return before;
}

__device__ inline void wait_at(unsigned int* gate, unsigned int before) {
    unsigned int now;
    do {
        asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(gate) : "memory");
    } while (((now ^ before) & 0x80000000u) == 0);
    asm volatile("fence.acq_rel.gpu;" ::: "memory"); // once: it empties the first level of the cache
}

// The neurons of this block: groups b, b + B, b + 2 B, … of 32.
struct Deal {
    unsigned int n_groups, mine;

    __device__ explicit Deal(const Model& m)
        : n_groups(m.stride >> 5), mine(n_groups > blockIdx.x ? (n_groups - 1 - blockIdx.x) / gridDim.x + 1 : 0) {}
    __device__ unsigned int group(unsigned int member) const { return (member >> 5) * gridDim.x + blockIdx.x; }
    __device__ unsigned int lane(unsigned int member) const { return group(member) << 5 | (member & 31); }
    __device__ bool owns(unsigned int lane) const { return (lane >> 5) % gridDim.x == blockIdx.x; }
    __device__ unsigned int member(unsigned int lane) const { return (lane >> 5) / gridDim.x << 5 | (lane & 31); }
};

// Notes the spikes of a neuron in the volley; returns those that find no room.
template <typename T>
__device__ inline unsigned int enlist(Ensemble<T>& crew, unsigned int lane, unsigned int fired) {
    unsigned int at = atomicAdd(&crew.n_spikes, __popc(fired));
    for (; fired && at < VOLLEY; fired &= fired - 1) crew.key[at++] = (__ffs(fired) - 1) << LANE_BITS | lane;
    if (fired) crew.n_left = 1;
    return fired;
}

// Appends a volley to the rings. Unless all blocks will share it out, it is pushed as well: into `table`, the arrivals of
// the next window.
template <typename T>
__device__ inline void fire(const Model& m, Ensemble<T>& crew, const Window& w, const Segment& now, Segment* segment,
                            const unsigned int* rows, const unsigned int* words, bool pushes, const Window& next, int* table, unsigned char* reach,
                            unsigned int* spikes, Chunk* chunks, unsigned int* counters) {
    const unsigned int n = min(crew.n_spikes, VOLLEY), me = threadIdx.x, at = me & 31, lane_mask = (1u << LANE_BITS) - 1;
    for (unsigned int j = me; j < n; j += blockDim.x) {
        const unsigned int lane = crew.key[j] & lane_mask, i = crew.key[j] >> LANE_BITS;
        const unsigned int from = rows[lane], len = rows[lane + 1] - from;
        crew.from[j] = from;
        crew.len[j] = len;
        if (pushes && i < next.steps && len)
            atomicAdd(&counters[next.slot * COUNTERS + (blockIdx.x % COPIES) * LONGEST + i], len);
    }
    __syncthreads();
    if (me < 32) {
        unsigned int total = 0;
        for (unsigned int j = me; (j & ~31u) < n; j += 32) {
            unsigned int until = j < n ? (crew.len[j] + 127) >> 7 : 0;
            for (unsigned int d = 1; d < 32; d *= 2) {
                const unsigned int below = __shfl_up_sync(WHOLE, until, d);
                if (me >= d) until += below;
            }
            until += total;
            if (j < n) crew.until[j] = until;
            total = __shfl_sync(WHOLE, until, 31);
        }
        if (me == 0) crew.next_chunk = 0;
    }
    __syncthreads();
    const unsigned int n_chunks = crew.until[n - 1];
    // n_spikes and n_chunks lie side by side: one atomic moves both.
    if (me == 0)
        crew.place = atomicAdd(reinterpret_cast<unsigned long long*>(&segment->n_spikes), n | (unsigned long long)n_chunks << 32);
    while (pushes) {
        unsigned int c = 0;
        if (at == 0) c = atomicAdd(&crew.next_chunk, 1);
        c = __shfl_sync(WHOLE, c, 0);
        if (c >= n_chunks) break;
        unsigned int j = 0;
        for (;; j += 32) { // the first spike whose chunks reach beyond c
            const unsigned int beyond = __ballot_sync(WHOLE, j + at < n && crew.until[j + at] > c);
            if (beyond) {
                j += __ffs(beyond) - 1;
                break;
            }
        }
        const unsigned int i = crew.key[j] >> LANE_BITS, skip = 128 * (c - (j ? crew.until[j - 1] : 0));
        if (i >= next.steps) continue; // of a later window
        const unsigned int from = crew.from[j] + skip, len = min(crew.len[j] - skip, 128u);
        int* row = table + i * ROW;
        add_chunk(m, from, len, row, words, reach);
    }
    __syncthreads();
    const unsigned int spike = now.spike_start + (unsigned int)crew.place, chunk = now.chunk_start + (unsigned int)(crew.place >> 32);
    for (unsigned int j = me; j < n; j += blockDim.x) spikes[(spike + j) & m.spike_mask] = crew.key[j];
    for (unsigned int c = me; c < n_chunks; c += blockDim.x) {
        unsigned int j = 0, end = n - 1;
        while (j < end) { // the first spike whose chunks reach beyond c
            const unsigned int mid = (j + end) / 2;
            if (crew.until[mid] > c) end = mid; else j = mid + 1;
        }
        const unsigned int skip = 128 * (c - (j ? crew.until[j - 1] : 0)), step = (unsigned int)w.step + (crew.key[j] >> LANE_BITS);
        chunks[(chunk + c) & m.chunk_mask] = {crew.from[j] + skip, step << 7 | (min(crew.len[j] - skip, 128u) - 1)};
    }
    __syncthreads();
}

// A load that stays where it is written: left to itself, the compiler moves each to its use, where it waits for the one
// before (measured: 6,000 cycles for the arrivals of a window instead of 1,500).
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
