// Noisy leaky units; the CUDA twin of src/kinds/spiking/leaky.rs, which is the definition. Delivery, listed kicks and the
// order of spikes are those of the exponential neurons; the delay is one step, so a window is one step.
#include "gen/spiking-leaky.cuh"
#include "spiking/advance.cuh"

extern "C" __global__ void leak(const Model* __restrict__ model, const Units* __restrict__ units,
                                const Window* __restrict__ windows, unsigned int index, const Segment* __restrict__ now,
                                Segment* __restrict__ segments, const unsigned int* __restrict__ rows,
                                const Source* __restrict__ sources,
        const unsigned long long* __restrict__ chances, const unsigned int* __restrict__ masks,
                                const unsigned int* __restrict__ trains, const Kick* __restrict__ kicks,
                                const unsigned int* __restrict__ marks, const unsigned int* __restrict__ currents,
                                unsigned int* __restrict__ states, int* __restrict__ arrivals,
                                unsigned int* __restrict__ kick_bits, unsigned int* __restrict__ spikes,
                                Chunk* __restrict__ chunks, Average* __restrict__ rates,
                                const float* __restrict__ fade) {
    const Window w = windows[index];
    const Segment segment = now[index];
    if (segment.halted) return;
    const Model& m = *model;
    const unsigned int lane = spiking::thread_index();
    unsigned int fired = 0;
    if (lane < m.n) {
        const Units u = *units;
        const bool closed = marks[lane] & spiking::CLOSED, listed = w.kick_from < w.kick_to;
        int sum = arrivals[lane];
        if (sum) arrivals[lane] = 0;
        if (closed) sum = 0;
        float kick = 0.0f;
        if ((trains[lane >> 5] || listed) && kick_bits[lane]) {
            kick_bits[lane] = 0;
            const spiking::Drive drive = {m, sources, chances, masks, kicks, w.kick_from, w.kick_to};
            if (!closed) kick = drive.sum<float>(w.step, lane);
        }
        const float current = __int_as_float((int)currents[lane]);
        const unsigned int word = draw_of_step(m.seed, u.noise, w.step, lane);
        const float unit = (float)(int)(word >> 8) * 0x1p-23f - 1.0f;
        float c = u.w_unit * (float)sum;
        c = c + (current + kick);
        c = c + unit * u.amplitude;
        float v = u.decay * __int_as_float((int)states[lane]) + c;
        if (v >= 1.0f) {
            v = 0.0f;
            fired = 1;
            rates[lane] = spiking::average(m, fade, rates[lane], (unsigned int)w.step, 1);
        }
        states[lane] = (unsigned int)__float_as_int(v);
    }
    __syncwarp();
    spiking::append(m, w, segment, &segments[w.segment], fired, lane, rows, spikes, chunks);
}

extern "C" __global__ void trace_units(const Window* __restrict__ windows, unsigned int index,
                                       const Segment* __restrict__ now, const unsigned int* __restrict__ states,
                                       unsigned int n_traced, const unsigned int* __restrict__ traced,
                                       float* __restrict__ samples) {
    const unsigned int at = spiking::thread_index();
    if (at >= n_traced || now[index].halted) return;
    float* out = samples + 2 * ((unsigned long long)windows[index].slot * spiking::LONGEST * n_traced + at);
    out[0] = __int_as_float((int)states[traced[at]]);
    out[1] = 0.0f;
}
