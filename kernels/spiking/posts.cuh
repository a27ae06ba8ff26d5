// How blocks of resident neurons tell each other who fired. Each writes the keys of its spikes to its post, behind their
// number; when all have met, each reads the posts of all, and looks up what the rows of these neurons hold for it: the
// wiring is dealt to blocks (src/kinds/spiking/cuda/dealt.rs), so what arrives is added in shared memory.
#pragma once
#include "spiking/deliver.cuh"
#include "spiking/ensemble.cuh"

namespace spiking {

// What is connected to whom, by presynaptic neuron and block. A head is 0 for nothing; a word with its lowest bit set for
// one connection; else the number of connections (bits 1 to 5; 0: it stands before them) and their place among the tails.
struct Dealt {
    const unsigned int *heads, *tails;

    __device__ Dealt(const unsigned int* heads, const unsigned int* tails, const unsigned int* starts)
        : heads(heads + blockIdx.x), tails(tails + starts[blockIdx.x]) {}
    __device__ unsigned int head(unsigned int lane) const {
        return __ldg(&heads[(unsigned long long)lane * gridDim.x]);
    }
    // Brings the heads of a neuron for all blocks near: they will look them up soon.
    __device__ void announce(unsigned int lane) const {
        const unsigned int* row = heads - blockIdx.x + (unsigned long long)lane * gridDim.x;
        for (unsigned int at = 0; at < gridDim.x; at += 32) asm volatile("prefetch.global.L2 [%0];" ::"l"(row + at));
    }
};

// A connection is its count (20 bits), the target within the block (11 bits), and a bit that is set.
template <typename T> __device__ inline void add(Ensemble<T>& crew, unsigned int i, unsigned int word) {
    const unsigned int member = word >> 1 & 2047;
    atomicAdd(&crew.sums[i * crew.row + member], (int)word >> 12);
    atomicOr(&crew.summed[member], 1u << i);
}

template <typename T>
__device__ inline void take(Ensemble<T>& crew, unsigned int i, unsigned int head, const unsigned int* tails) {
    if (head & 1) return add(crew, i, head);
    unsigned int from = head >> 6, len = head >> 1 & 31;
    if (!len) len = tails[from++];
    for (unsigned int k = 0; k < len; k += 4) { // loads in flight together
        unsigned int words[4];
#pragma unroll
        for (unsigned int j = 0; j < 4; ++j) words[j] = k + j < len ? __ldg(&tails[from + k + j]) : 0;
#pragma unroll
        for (unsigned int j = 0; j < 4; ++j)
            if (words[j]) add(crew, i, words[j]);
    }
}

// Takes the spikes of all posts: those of the first `steps` steps, whose effects fall into this window. How posts are read
// depends on how many spikes are expected: 8 words of each at once, four posts per warp, or 32 (`wide`).
template <typename T>
__device__ inline void receive(Ensemble<T>& crew, unsigned int steps, const unsigned int* posts, unsigned int post_size,
                               bool wide, const Dealt& dealt) {
    constexpr unsigned int AT_ONCE = 4;
    const unsigned int warp = threadIdx.x >> 5, n_warps = blockDim.x >> 5, at = threadIdx.x & 31;
    const unsigned int n_posts = gridDim.x, lane_mask = (1u << LANE_BITS) - 1;
    // Fewer posts than warps: several warps share one.
    const unsigned int share = max(n_warps / n_posts, 1u), turn = share > 1 ? warp / n_posts : 0;
    if (turn >= share) return;
    const unsigned int shift = wide || share > 1 ? 5 : 3, size = 1u << shift, place = at & (size - 1);
    const unsigned int stride = (share > 1 ? n_posts : n_warps) << (5 - shift);
    const unsigned int first = share > 1 ? warp % n_posts : warp << (5 - shift);
    for (unsigned int base = first; base < n_posts; base += AT_ONCE * stride) {
        unsigned int word[AT_ONCE], head[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int post = base + j * stride + (at >> shift);
            word[j] = post < n_posts ? __ldcg(&posts[(unsigned long long)post * post_size + place]) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int n = __shfl_sync(WHOLE, word[j], at & ~(size - 1));
            const bool mine = place && place <= n && turn == 0;
            head[j] = mine && word[j] >> LANE_BITS < steps ? dealt.head(word[j] & lane_mask) : 0;
            if (place == 0 && n && turn == 0) {
                atomicAdd(&crew.total, n);
                if (base + j * stride + (at >> shift) < blockIdx.x) atomicAdd(&crew.below, n);
            }
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j)
            if (head[j]) take(crew, word[j] >> LANE_BITS, head[j], dealt.tails);
#pragma unroll 1
        for (unsigned int j = 0; j < AT_ONCE; ++j) { // posts with more
            if (!__any_sync(WHOLE, place == 0 && word[j] >= size)) continue;
#pragma unroll 1
            for (unsigned int part = 0; part < 32 >> shift; ++part) {
                const unsigned int post = base + j * stride + part, n = __shfl_sync(WHOLE, word[j], part << shift);
                if (post >= n_posts) break;
                const unsigned int* keys = posts + (unsigned long long)post * post_size;
                for (unsigned int k = size + turn * 32 + at; k <= n; k += 32 * share) {
                    const unsigned int key = __ldcg(&keys[k]);
                    if (key >> LANE_BITS >= steps) continue;
                    const unsigned int more = dealt.head(key & lane_mask);
                    if (more) take(crew, key >> LANE_BITS, more, dealt.tails);
                }
            }
        }
    }
}

// Writes spikes of this block to the ring, where the host finds them. What they bring in the first `steps` steps is
// counted as of the window they arrive in, whose counters these are.
__device__ inline void file(const Model& m, const unsigned int* post, unsigned int n, unsigned int ring_at,
                            unsigned int steps, unsigned int* counters, const unsigned int* rows, unsigned int* spikes) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&post[1 + j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        spikes[(ring_at + j) & m.spike_mask] = key;
        if (i >= steps) continue;
        const unsigned int len = rows[lane + 1] - rows[lane];
        if (len) atomicAdd(&counters[(blockIdx.x % COPIES) * LONGEST + i], len);
    }
}

// Notes the chunks of the rows of spikes that will arrive after this launch: those of step `from` and later, counted from
// step `start`.
__device__ inline void leave_chunks(const Model& m, const unsigned int* post, unsigned int n, unsigned int from,
                                    unsigned int start, unsigned int chunk_start, unsigned int* n_chunks,
                                    const unsigned int* rows, Chunk* chunks) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&post[1 + j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        const unsigned int word = rows[lane], len = rows[lane + 1] - word;
        if (i < from || !len) continue;
        unsigned int chunk = chunk_start + atomicAdd(n_chunks, (len + 127) >> 7);
        for (unsigned int at = 0; at < len; at += 128)
            chunks[chunk++ & m.chunk_mask] = {word + at, (start + i) << 7 | (min(len - at, 128u) - 1)};
    }
}

}  // namespace spiking
