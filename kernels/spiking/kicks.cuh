// Kicks (voltage pulses to the membrane): drawn at their Philox addresses, or listed.
#pragma once
#include "spiking/neuron.cuh"

namespace spiking {

// The inputs of a warp that draws or sums kicks.
struct KickInputs {
    const Model& model;
    const KickSource* sources;
    const unsigned long long* chances; // per source
    const unsigned int* masks;
    const Kick* kicks;
    unsigned int kick_from, kick_to;

    __device__ bool is_of(unsigned int source, unsigned int lane) const {
        return masks[source * model.n_warps + (lane >> 5)] >> (lane & 31) & 1;
    }

    // The Poisson events of a window, one bit per step.
    __device__ unsigned int draw_window(unsigned long long step, unsigned int steps, unsigned int lane) const {
        unsigned int bits = 0;
        for (unsigned int s = 0; s < model.n_sources; ++s) {
            // Masks are 0 for sources whose rate is 0.
            if (masks[s * model.n_warps + (lane >> 5)] >> (lane & 31) & 1)
                bits |= events_of_steps(model.seed, sources[s].address, chances + s * TRAIN_STEPS, step, steps, lane);
        }
        return bits;
    }

    // The sum of all kicks of one neuron in one step, in the order of the sources, manual kicks last.
    template <typename T> __device__ T sum(unsigned long long step, unsigned int lane) const {
        unsigned int at = kick_from, end = kick_to;
        while (at < end) { // lower bound of (step, lane)
            const unsigned int mid = (at + end) / 2;
            const Kick k = kicks[mid];
            if (k.step < step || (k.step == step && k.lane < lane)) at = mid + 1; else end = mid;
        }
        bool any = false;
        T kick = T(0);
        for (unsigned int s = 0; s <= model.n_sources; ++s) {
            if (s < model.n_sources && sources[s].draws && is_of(s, lane) &&
                events_of_steps(model.seed, sources[s].address, chances + s * TRAIN_STEPS, step, 1, lane)) {
                kick = any ? kick + (T)sources[s].weight : (T)sources[s].weight;
                any = true;
            }
            for (; at < kick_to && kicks[at].step == step && kicks[at].lane == lane && kicks[at].source == s; ++at) {
                kick = any ? kick + (T)kicks[at].weight : (T)kicks[at].weight;
                any = true;
            }
        }
        return kick;
    }
};

// Marks the listed kicks of a window per neuron and step.
__device__ inline void mark_kicks(const Window& w, const Segment& segment, const Kick* kicks, unsigned int* kick_bits,
                                  unsigned char* touched) {
    if (segment.halted) return;
    for (unsigned int i = w.kick_from + thread_index(); i < w.kick_to; i += gridDim.x * blockDim.x) {
        const Kick kick = kicks[i];
        atomicOr(&kick_bits[kick.lane], 1u << (unsigned int)(kick.step - w.step));
        touched[kick.lane >> 5] = 1;
    }
}

}  // namespace spiking
