// Noisy leaky units; the CUDA twin of src/kinds/spiking/leaky.rs, which is the definition. Delivery, listed kicks and the
// order of spikes are those of the exponential neurons; the delay is one step, so a window is one step. Units are taken
// through many steps in one launch by `board`, where they find room in shared memory; else two launches a step, `deliver`
// and `leak`.
#include "gen/spiking-leaky.cuh"
#include "spiking/advance.cuh"
#include "spiking/turns.cuh"

namespace spiking {

// A load that stays where it is written: left to itself, the compiler moves it behind whatever may make it needless.
__device__ inline unsigned int load_here(const unsigned int* at) {
    unsigned int word;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    return word;
}

// Appends the spikes of a block: in a busy network nearly every warp has one, and additions to one place wait
// for each other. With the bound of five blocks below, fastfly's `leak` takes 8.2 us with its events instead of 9.8.
__device__ inline void append_together(const Layout& l, const Window& w, Segment* segment, unsigned int fired,
                                       unsigned int lane, const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
    constexpr unsigned int WARPS = BLOCK / 32, THEY = (1u << WARPS) - 1;
    __shared__ unsigned long long hauls[WARPS];
    __shared__ uint2 places[WARPS]; // in the rings
    const unsigned int me = threadIdx.x, warp = me >> 5;
    const Haul haul(fired, lane, rows);
    if ((me & 31) == 31) hauls[warp] = haul.both();
    __syncthreads();
    if (me < WARPS) {
        const unsigned long long mine = hauls[me];
        unsigned long long to = mine, base = 0;
        for (unsigned int d = 1; d < WARPS; d *= 2) {
            const unsigned long long below = __shfl_up_sync(THEY, to, d);
            if (me >= d) to += below;
        }
        if (me == WARPS - 1 && to) base = Haul::claim(segment, to);
        base = __shfl_sync(THEY, base, WARPS - 1) + to - mine;
        places[me] = make_uint2(segment->spike_start + (unsigned int)base, segment->chunk_start + (unsigned int)(base >> 32));
    }
    __syncthreads();
    haul.write(l, w, places[warp].x, places[warp].y, spikes, chunks);
}

}  // namespace spiking

// Five blocks find room on a multiprocessor, so that all units of a brain are at work at once.
extern "C" __global__ void __launch_bounds__(256, 5)
    leak(Layout layout, unsigned int n, unsigned long long seed, const Model* __restrict__ model,
         const Units* __restrict__ units, const Window* __restrict__ windows, unsigned int index,
         Segment* __restrict__ live, const Segment* __restrict__ segments,
         const unsigned int* __restrict__ rows, const Source* __restrict__ sources,
         const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
         const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks,
         const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents,
         const unsigned short* __restrict__ gain_of, const Gain* __restrict__ gains,
         unsigned int* __restrict__ states, int* __restrict__ arrivals,
         unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes,
         Chunk* __restrict__ chunks, unsigned int* __restrict__ counters,
         Average* __restrict__ rates, const float* __restrict__ fade) {
    const unsigned int stepping = gridDim.x - spiking::COPIES; // the last blocks count
    if (blockIdx.x >= stepping) {
        if (!live[index + 1].halted)
            spiking::tally(*model, windows[index], blockIdx.x - stepping, segments, chunks, rows, gain_of, gains, counters);
        return;
    }
    // Arrays of neurons are as long as the grid, so that these loads wait for nothing.
    const unsigned int lane = spiking::thread_index();
    const bool closed = spiking::load_here(&marks[lane]) & spiking::CLOSED;
    const bool trained = spiking::load_here(&trains[lane >> 5]);
    const float before = __int_as_float((int)spiking::load_here(&states[lane]));
    const float current = __int_as_float((int)spiking::load_here(&currents[lane]));
    const int arrived = (int)spiking::load_here(reinterpret_cast<const unsigned int*>(&arrivals[lane]));
    const Window w = windows[index];
    if (live[index + 1].halted) return;
    unsigned int fired = 0;
    if (lane < n) {
        if (arrived) arrivals[lane] = 0;
        float c = units->w_unit * (float)(closed ? 0 : arrived), kick = 0.0f;
        if ((trained || w.kick_from < w.kick_to) && kick_bits[lane]) {
            kick_bits[lane] = 0;
            const spiking::Drive drive = {*model, sources, chances, masks, kicks, w.kick_from, w.kick_to};
            if (!closed) kick = drive.sum<float>(w.step, lane);
        }
        const Units u = *units; // again: kept all the time, it costs registers
        const unsigned int word = draw_of_step(seed, u.noise, w.step, lane);
        const float unit = (float)(int)(word >> 8) * 0x1p-23f - 1.0f;
        c = c + (current + kick);
        c = c + unit * u.amplitude;
        float v = u.decay * before + c;
        if (v >= 1.0f) {
            v = 0.0f;
            fired = 1;
            rates[lane] = spiking::average(*model, fade, rates[lane], (unsigned int)w.step, 1);
        } else if (!isfinite(v)) {
            spiking::note_lost(counters, w, 0, lane);
        }
        states[lane] = (unsigned int)__float_as_int(v);
    }
    __syncwarp();
    spiking::append_together(layout, w, &live[index + 1], fired, lane, rows, spikes, chunks);
}

namespace spiking {

// What a block of resident units keeps.
struct Company : Turns {
    int sums[MOST]; // arrivals

    __device__ void arrive(unsigned int, unsigned int member, int count) { atomicAdd(&sums[member], count); }
};

// Units of a block, two to a thread, in registers; nobody drives them.
struct Boarders {
    Company& crew;
    const Deal& deal;
    const Dealt& dealt;
    const Units u;
    const float* fade;
    unsigned int member, lane;
    bool owns, closed[2], fired[2] = {false, false};
    unsigned int last_step = 0;
    float v[2], current[2], unit[2];
    Average rate[2];

    __device__ Boarders(Company& crew, const Deal& deal, const Dealt& dealt, const Units& units, const float* fade)
        : crew(crew), deal(deal), dealt(dealt), u(units), fade(fade), member(2 * threadIdx.x),
          owns(threadIdx.x >> 4 < deal.mine) {
        lane = owns ? deal.lane(member) : 0;
    }

    __device__ void enter(const unsigned int* marks, const unsigned int* currents, const unsigned int* states,
                          const Average* rates) {
        if (!owns) return;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            closed[h] = marks[lane + h] & CLOSED;
            current[h] = __int_as_float((int)currents[lane + h]);
            v[h] = __int_as_float((int)states[lane + h]);
            rate[h] = rates[lane + h];
            crew.sums[member + h] = 0;
        }
    }

    // Takes the spikes of the step before into the running rates.
    __device__ void take_rates() {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (fired[h]) rate[h] = average(crew.model, fade, rate[h], last_step, 1);
            fired[h] = false;
        }
    }

    // Draws noise.
    __device__ void prepare(const Window& w) {
        if (!owns) return;
        take_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned int word = draw_of_step(crew.model.seed, u.noise, w.step, lane + h);
            unit[h] = (float)(int)(word >> 8) * 0x1p-23f - 1.0f;
        }
    }

    __device__ void fetch(const Window&, int* arrivals) {
        if (!owns) return;
        int2& pair = *reinterpret_cast<int2*>(&arrivals[lane]);
        crew.sums[member] = pair.x;
        crew.sums[member + 1] = pair.y;
        pair = make_int2(0, 0);
    }

    __device__ void step(const Window& w, unsigned int* list, unsigned int& n_spikes) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (!owns || lane + h >= crew.model.n) continue;
            const int sum = crew.sums[member + h];
            crew.sums[member + h] = 0;
            float c = u.w_unit * (float)(closed[h] ? 0 : sum);
            c = c + (current[h] + 0.0f); // no kicks
            c = c + unit[h] * u.amplitude;
            v[h] = u.decay * v[h] + c;
            if (!(v[h] >= 1.0f)) {
                if (!isfinite(v[h])) atomicMax(&crew.lost, lost_in(0, lane + h));
                continue;
            }
            v[h] = 0.0f;
            dealt.announce(lane + h);
            crew.tell(list, atomicAdd(&n_spikes, 1), 0, member + h, lane + h);
            fired[h] = true;
        }
        last_step = (unsigned int)w.step;
        __syncthreads();
    }

    __device__ void store(unsigned int* states, Average* rates) {
        if (!owns) return;
        take_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            states[lane + h] = (unsigned int)__float_as_int(v[h]);
            rates[lane + h] = rate[h];
        }
    }
};

}  // namespace spiking

// The same as `reside` for units.
extern "C" __global__ void
    board(const Model* __restrict__ model, const Units* __restrict__ units, const Window* __restrict__ windows,
          unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows,
          const unsigned int* __restrict__ words, const unsigned int* __restrict__ heads,
          const unsigned int* __restrict__ tails, const unsigned int* __restrict__ tail_starts,
          const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents,
          unsigned int* __restrict__ states, int* __restrict__ arrivals, unsigned int* __restrict__ spikes,
          Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, unsigned int* __restrict__ gate,
          unsigned long long* __restrict__ posts, unsigned int first_tag, Average* __restrict__ rates,
          const float* __restrict__ fade) {
    __shared__ spiking::Company crew;
    const spiking::Deal deal(*model);
    const spiking::Dealt dealt(heads, tails, tail_starts);
    if (threadIdx.x == 0) crew.open(*model, windows, segments);
    spiking::Boarders boarders(crew, deal, dealt, *units, fade);
    boarders.enter(marks, currents, states, rates);
    __syncthreads();
    spiking::travel(crew, boarders, deal,
                    {windows, n_windows, segments, rows, words, arrivals, spikes, chunks, counters, gate, posts, first_tag},
                    dealt);
    boarders.store(states, rates);
}

extern "C" __global__ void trace_units(const Window* __restrict__ windows, unsigned int index,
                                       const Segment* __restrict__ live, const unsigned int* __restrict__ states,
                                       unsigned int n_traced, const unsigned int* __restrict__ traced,
                                       float* __restrict__ samples) {
    const unsigned int at = spiking::thread_index();
    if (at >= n_traced || live[index + 1].halted) return;
    float* out = samples + 2 * ((unsigned long long)windows[index].slot * spiking::LONGEST * n_traced + at);
    out[0] = __int_as_float((int)states[traced[at]]);
    out[1] = 0.0f;
}
