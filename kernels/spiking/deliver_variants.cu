// Other methods of spike delivery, timed against `deliver_spikes`. The measurements are in deliver_spikes.cuh. All
// variants read the first segment.
#include "gen/spiking-deliver_variants.cuh"
#include "spiking/deliver_spikes.cuh"

namespace spiking {

constexpr unsigned int WARPS = 32; // of a block of deliver_pull
// Neurons whose spike bits fit into shared memory; larger networks read them from global memory.
constexpr unsigned int MAX_CACHED_BITS = 1 << 18;

__device__ inline unsigned int warp_index() { return (blockIdx.x * blockDim.x + threadIdx.x) >> 5; }
__device__ inline unsigned int warps() { return (gridDim.x * blockDim.x) >> 5; }

}  // namespace spiking

// The push of FastFly: one warp per spike, 8-bit levels with a scale per neuron, single-precision sums.
extern "C" __global__ void deliver_push_rows(const Model* __restrict__ model, const Segment* __restrict__ segments,
                                     const unsigned int* __restrict__ spikes, const unsigned int* __restrict__ rows,
                                     const unsigned int* __restrict__ words, const unsigned char* __restrict__ levels,
                                     const float* __restrict__ scales, float* __restrict__ sums) {
    const Model& m = *model;
    const spiking::Packing packing(m.layout);
    const Segment fired = *segments;
    for (unsigned int i = spiking::warp_index(); i < fired.n_spikes; i += spiking::warps()) {
        const unsigned int key = spikes[(fired.spike_start + i) & m.layout.spike_mask];
        const unsigned int lane = key & ((1u << LANE_BITS) - 1), end = rows[lane + 1];
        float* row = sums + (key >> LANE_BITS) * spiking::ROW;
        const float scale = scales[lane];
        for (unsigned int at = rows[lane] + (threadIdx.x & 31); at < end; at += 32)
            atomicAdd(&row[packing.column(packing.target(words[at]))], (float)(signed char)levels[at] * scale);
    }
}

extern "C" __global__ void mark_spiked(const Model* __restrict__ model, const Segment* __restrict__ segments,
                                      const unsigned int* __restrict__ spikes, unsigned int* __restrict__ fired,
                                      unsigned int* __restrict__ when) {
    const Segment all = *segments;
    for (unsigned int i = spiking::thread_index(); i < all.n_spikes; i += gridDim.x * blockDim.x) {
        const unsigned int key = spikes[(all.spike_start + i) & model->layout.spike_mask];
        const unsigned int lane = key & ((1u << LANE_BITS) - 1);
        atomicOr(&fired[lane >> 5], 1u << (lane & 31));
        atomicOr(&when[lane], 1u << (key >> LANE_BITS));
    }
}

extern "C" __global__ void deliver_pull(const Model* __restrict__ model, unsigned int n_pieces, const Chunk* __restrict__ pieces,
                                const unsigned int* __restrict__ sources, const unsigned int* __restrict__ fired,
                                const unsigned int* __restrict__ when, int* __restrict__ arrivals) {
    __shared__ int sums[spiking::WARPS][MAX_WINDOW_STEPS];
    __shared__ unsigned int bits[spiking::MAX_CACHED_BITS / 32];
    const spiking::Packing packing(model->layout);
    const bool is_cached = model->n <= spiking::MAX_CACHED_BITS;
    if (is_cached)
        for (unsigned int i = threadIdx.x; i < model->n_warps; i += blockDim.x) bits[i] = fired[i];
    const unsigned int me = threadIdx.x & 31;
    int* mine = sums[threadIdx.x >> 5];
    mine[me] = 0;
    __syncthreads();
    for (unsigned int p = spiking::warp_index(); p < n_pieces; p += spiking::warps()) {
        const Chunk piece = pieces[p];
        const unsigned int len = (piece.meta & 127) + 1, target = piece.meta >> 7;
        unsigned int word[4];
        bool any = false;
#pragma unroll
        for (int j = 0; j < 4; ++j) word[j] = me + 32 * j < len ? __ldcs(&sources[piece.word + me + 32 * j]) : 0;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const unsigned int source = packing.target(word[j]);
            const unsigned int of_32 = is_cached ? bits[source >> 5] : __ldg(&fired[source >> 5]);
            if (me + 32 * j >= len || !(of_32 >> (source & 31) & 1)) continue;
            any = true;
            for (unsigned int steps = when[source]; steps; steps &= steps - 1)
                atomicAdd(&mine[__ffs(steps) - 1], packing.count(word[j]));
        }
        if (!__any_sync(spiking::FULL_MASK, any)) continue;
        __syncwarp();
        if (mine[me]) atomicAdd(&arrivals[packing.column(target) + me * spiking::ROW], mine[me]);
        mine[me] = 0;
        __syncwarp();
    }
}
