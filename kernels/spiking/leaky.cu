// Noisy leaky units: the CUDA counterpart of src/kinds/spiking/leaky.rs, which defines the step. Spike delivery,
// listed kicks and spike sorting are shared with the LIF neurons. The delay is one step, so a window is one step.
// `step_leaky_persistent` takes many steps per launch when all units fit into shared memory; otherwise each step
// takes two launches, `deliver_spikes` and `step_leaky`.
#include "gen/spiking-leaky.cuh"
#include "spiking/step_lif.cuh"
#include "spiking/run_windows.cuh"

namespace spiking {

// Load that stays where it is written: without `volatile` the compiler moves it after branches that may make it
// unnecessary.
__device__ inline unsigned int load_volatile(const unsigned int* at) {
    unsigned int word;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(word) : "l"(at) : "memory");
    return word;
}

// Appends the spikes of a block with one atomic: in a busy network nearly every warp has a spike, and atomics to one
// address serialise. With five blocks per multiprocessor (below), `step_leaky` of fastfly takes 8.2 us with its two
// events instead of 9.8.
__device__ inline void append_block_spikes(const RingLayout& l, const Window& w, Segment* segment, unsigned int fired,
                                       unsigned int lane, const unsigned int* rows, unsigned int* spikes, Chunk* chunks) {
    constexpr unsigned int WARPS = BLOCK / 32, WARP_MASK = (1u << WARPS) - 1;
    __shared__ unsigned long long batches[WARPS];
    __shared__ uint2 places[WARPS]; // offsets in the ring buffers
    const unsigned int me = threadIdx.x, warp = me >> 5;
    const SpikeBatch batch(fired, lane, rows);
    if ((me & 31) == 31) batches[warp] = batch.both();
    __syncthreads();
    if (me < WARPS) {
        const unsigned long long mine = batches[me];
        unsigned long long to = mine, base = 0;
        for (unsigned int d = 1; d < WARPS; d *= 2) {
            const unsigned long long below = __shfl_up_sync(WARP_MASK, to, d);
            if (me >= d) to += below;
        }
        if (me == WARPS - 1 && to) base = SpikeBatch::claim(segment, to);
        base = __shfl_sync(WARP_MASK, base, WARPS - 1) + to - mine;
        places[me] = make_uint2(segment->spike_start + (unsigned int)base, segment->chunk_start + (unsigned int)(base >> 32));
    }
    __syncthreads();
    batch.write(l, w, places[warp].x, places[warp].y, spikes, chunks);
}

}  // namespace spiking

// Five blocks per multiprocessor, so that all units of a fly brain are resident at once.
extern "C" __global__ void __launch_bounds__(256, 5)
    step_leaky(RingLayout layout, unsigned int n, unsigned long long seed, const Model* __restrict__ model,
         const LeakyConstants* __restrict__ units, const Window* __restrict__ windows, unsigned int index,
         Segment* __restrict__ live, const Segment* __restrict__ segments,
         const unsigned int* __restrict__ rows, const KickSource* __restrict__ sources,
         const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
         const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks,
         const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents,
         const unsigned short* __restrict__ gain_of, const WeightGain* __restrict__ gains,
         unsigned int* __restrict__ states, int* __restrict__ arrivals,
         unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes,
         Chunk* __restrict__ chunks, unsigned int* __restrict__ counters,
         DeviceRate* __restrict__ rates, const float* __restrict__ fade) {
    const unsigned int stepping = gridDim.x - COPIES; // the last blocks count synaptic events
    if (blockIdx.x >= stepping) {
        if (!live[index + 1].halted)
            spiking::count_synaptic_events(*model, windows[index], blockIdx.x - stepping, segments, chunks, rows, gain_of, gains, counters);
        return;
    }
    // Per-neuron arrays are as long as the grid, so these loads need no bounds check.
    const unsigned int lane = spiking::thread_index();
    const bool closed = spiking::load_volatile(&marks[lane]) & CLOSED;
    const bool trained = spiking::load_volatile(&trains[lane >> 5]);
    const float before = __int_as_float((int)spiking::load_volatile(&states[lane]));
    const float current = __int_as_float((int)spiking::load_volatile(&currents[lane]));
    const int arrived = (int)spiking::load_volatile(reinterpret_cast<const unsigned int*>(&arrivals[lane]));
    const Window w = windows[index];
    if (live[index + 1].halted) return;
    unsigned int fired = 0;
    if (lane < n) {
        if (arrived) arrivals[lane] = 0;
        float c = units->w_unit * (float)(closed ? 0 : arrived), kick = 0.0f;
        if ((trained || w.kick_from < w.kick_to) && kick_bits[lane]) {
            kick_bits[lane] = 0;
            const spiking::KickInputs drive = {*model, sources, chances, masks, kicks, w.kick_from, w.kick_to};
            if (!closed) kick = drive.sum<float>(w.step, lane);
        }
        const LeakyConstants u = *units; // loaded again: keeping it costs registers
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
            spiking::record_non_finite(counters, w, 0, lane);
        }
        states[lane] = (unsigned int)__float_as_int(v);
    }
    __syncwarp();
    spiking::append_block_spikes(layout, w, &live[index + 1], fired, lane, rows, spikes, chunks);
}

namespace spiking {

// v of a traced unit after the step; g is 0.
__device__ inline void write_sample(float* samples, unsigned int n_traced, const Window& w, unsigned int at, float v) {
    *reinterpret_cast<float2*>(samples + 2 * ((unsigned long long)w.slot * MAX_WINDOW_STEPS * n_traced + at)) = make_float2(v, 0.0f);
}

// Shared memory of a persistent block of units.
struct LeakyHotState : ExchangeState {
    int sums[MAX_NEURONS_PER_BLOCK]; // arrived synapse counts

    __device__ void add_arrival(unsigned int, unsigned int member, int count) { atomicAdd(&sums[member], count); }
};

// The units of a block, two per thread, in registers; without stimuli.
struct PersistentUnits {
    LeakyHotState& smem;
    const BlockPartition& partition;
    const BlockCsr& csr;
    const LeakyConstants u;
    const float* fade;
    unsigned int member, lane;
    bool owns, closed[2], fired[2] = {false, false};
    unsigned int last_step = 0;
    float v[2], current[2], unit[2];
    DeviceRate rate[2];
    float* const samples;
    const unsigned int n_traced;

    __device__ PersistentUnits(LeakyHotState& smem, const BlockPartition& partition, const BlockCsr& csr, const LeakyConstants& units, const float* fade,
                               float* samples, unsigned int n_traced)
        : smem(smem), partition(partition), csr(csr), u(units), fade(fade), member(2 * threadIdx.x),
          owns(threadIdx.x >> 4 < partition.mine), samples(samples), n_traced(n_traced) {
        lane = owns ? partition.lane(member) : 0;
    }

    __device__ void enter(const unsigned int* marks, const unsigned int* currents, const unsigned int* states,
                          const DeviceRate* rates) {
        if (!owns) return;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            closed[h] = marks[lane + h] & CLOSED;
            current[h] = __int_as_float((int)currents[lane + h]);
            v[h] = __int_as_float((int)states[lane + h]);
            rate[h] = rates[lane + h];
            smem.sums[member + h] = 0;
        }
    }

    // Adds the spikes of the previous step to the running rates.
    __device__ void update_rates() {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (fired[h]) rate[h] = average(smem.model, fade, rate[h], last_step, 1);
            fired[h] = false;
        }
    }

    // Draws the noise of the step.
    __device__ void prepare(const Window& w) {
        if (!owns) return;
        update_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const unsigned int word = draw_of_step(smem.model.seed, u.noise, w.step, lane + h);
            unit[h] = (float)(int)(word >> 8) * 0x1p-23f - 1.0f;
        }
    }

    __device__ void load_arrivals(const Window&, int* arrivals) {
        if (!owns) return;
        int2& pair = *reinterpret_cast<int2*>(&arrivals[lane]);
        smem.sums[member] = pair.x;
        smem.sums[member + 1] = pair.y;
        pair = make_int2(0, 0);
    }

    __device__ void step(const Window& w, unsigned int* list, unsigned int& n_spikes) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (!owns || lane + h >= smem.model.n) continue;
            const int sum = smem.sums[member + h];
            smem.sums[member + h] = 0;
            float c = u.w_unit * (float)(closed[h] ? 0 : sum);
            c = c + (current[h] + 0.0f); // no kicks
            c = c + unit[h] * u.amplitude;
            v[h] = u.decay * v[h] + c;
            if (!(v[h] >= 1.0f)) {
                if (!isfinite(v[h])) atomicMax(&smem.non_finite, non_finite_key(0, lane + h));
                continue;
            }
            v[h] = 0.0f;
            csr.prefetch_heads(lane + h);
            smem.record_spike(list, atomicAdd(&n_spikes, 1), 0, member + h, lane + h);
            fired[h] = true;
        }
        last_step = (unsigned int)w.step;
        for (unsigned int i = 0; i < smem.n_traced; ++i) {
            const unsigned int of = ExchangeState::member_of(smem.traced[i]);
            if (of >> 1 == threadIdx.x) write_sample(samples, n_traced, w, ExchangeState::index_of(smem.traced[i]), of & 1 ? v[1] : v[0]);
        }
        __syncthreads();
    }

    __device__ void store(unsigned int* states, DeviceRate* rates) {
        if (!owns) return;
        update_rates();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            states[lane + h] = (unsigned int)__float_as_int(v[h]);
            rates[lane + h] = rate[h];
        }
    }
};

}  // namespace spiking

// `step_lif_persistent` for leaky units.
extern "C" __global__ void
    step_leaky_persistent(const Model* __restrict__ model, const LeakyConstants* __restrict__ units, const Window* __restrict__ windows,
          unsigned int n_windows, Segment* __restrict__ segments, const unsigned int* __restrict__ rows,
          const unsigned int* __restrict__ words, const unsigned int* __restrict__ heads,
          const unsigned int* __restrict__ tails, const unsigned int* __restrict__ tail_starts,
          const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents,
          unsigned int* __restrict__ states, int* __restrict__ arrivals, unsigned int* __restrict__ spikes,
          Chunk* __restrict__ chunks, unsigned int* __restrict__ counters, unsigned int* __restrict__ barrier,
          unsigned long long* __restrict__ mailboxes, unsigned int first_tag, DeviceRate* __restrict__ rates,
          const float* __restrict__ fade, unsigned int n_traced, const unsigned int* __restrict__ traced,
          float* __restrict__ samples) {
    __shared__ spiking::LeakyHotState smem;
    const spiking::BlockPartition partition(*model);
    const spiking::BlockCsr csr(heads, tails, tail_starts);
    if (threadIdx.x == 0) smem.init(*model, windows, segments);
    spiking::PersistentUnits neurons(smem, partition, csr, *units, fade, samples, n_traced);
    smem.find_traced(n_traced, traced);
    neurons.enter(marks, currents, states, rates);
    __syncthreads();
    spiking::run_windows(smem, neurons, partition,
                    {windows, n_windows, segments, rows, words, arrivals, spikes, chunks, counters, barrier, mailboxes, first_tag},
                    csr);
    neurons.store(states, rates);
}

extern "C" __global__ void sample_traces_leaky(const Window* __restrict__ windows, unsigned int index,
                                       const Segment* __restrict__ live, const unsigned int* __restrict__ states,
                                       unsigned int n_traced, const unsigned int* __restrict__ traced,
                                       float* __restrict__ samples) {
    const unsigned int at = spiking::thread_index();
    if (at >= n_traced || live[index + 1].halted) return;
    spiking::write_sample(samples, n_traced, windows[index], at, __int_as_float((int)states[traced[at]]));
}
