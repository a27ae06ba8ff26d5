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

// Notes the connections of a head that has several, four at a time, for whoever will take them: neurons with many would
// hold up their reader.
template <typename T>
__device__ inline void note(Ensemble<T>& crew, unsigned int i, unsigned int head, const unsigned int* tails) {
    unsigned int from = head >> 6, len = head >> 1 & 31;
    if (!len) len = __ldg(&tails[from++]);
    unsigned int to = atomicAdd(&crew.n_work, (len + 3) >> 2);
#pragma unroll 1
    for (; len && to < WORK; ++to) {
        const unsigned int now = min(len, 4u);
        crew.work[to] = make_uint2(i | now << 8, from);
        from += now;
        len -= now;
    }
    for (; len; --len) add(crew, i, __ldg(&tails[from++])); // no room left
}

// Takes what was noted: four lanes each, loads of four rounds in flight together.
template <typename T> __device__ inline void work_off(Ensemble<T>& crew, const unsigned int* tails) {
    constexpr unsigned int AT_ONCE = 4;
    const unsigned int n = min(crew.n_work, WORK), k = threadIdx.x & 3, stride = blockDim.x >> 2;
#pragma unroll 1
    for (unsigned int first = threadIdx.x >> 2; first < n; first += AT_ONCE * stride) {
        unsigned int i[AT_ONCE], word[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int at = first + j * stride;
            const uint2 item = at < n ? crew.work[at] : make_uint2(0, 0);
            i[j] = item.x & 255;
            word[j] = k < item.x >> 8 ? __ldg(&tails[item.y + k]) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j)
            if (word[j]) add(crew, i[j], word[j]);
    }
}

// Reads the spikes of all posts: those of the first `steps` steps, whose effects fall into this window. How posts are read
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
        unsigned int n[AT_ONCE], most = 0, from = 0;
        do {
            unsigned int key[AT_ONCE], head[AT_ONCE];
#pragma unroll
            for (unsigned int j = 0; j < AT_ONCE; ++j) { // loads in flight together
                const unsigned int post = base + j * stride + (at >> shift);
                const bool there = post < n_posts && (from == 0 || from + place <= n[j]);
                key[j] = there ? __ldcg(&posts[(unsigned long long)post * post_size + from + place]) : 0;
            }
            if (from == 0) {
#pragma unroll
                for (unsigned int j = 0; j < AT_ONCE; ++j) {
                    n[j] = __shfl_sync(WHOLE, key[j], at & ~(size - 1));
                    most = max(most, n[j]);
                    if (place == 0 && n[j] && turn == 0) {
                        atomicAdd(&crew.total, n[j]);
                        if (base + j * stride + (at >> shift) < blockIdx.x) atomicAdd(&crew.below, n[j]);
                    }
                }
            }
#pragma unroll
            for (unsigned int j = 0; j < AT_ONCE; ++j) {
                const bool mine = from + place && from + place <= n[j] && (from || turn == 0);
                head[j] = mine && key[j] >> LANE_BITS < steps ? dealt.head(key[j] & lane_mask) : 0;
            }
#pragma unroll
            for (unsigned int j = 0; j < AT_ONCE; ++j) {
                if (head[j] & 1) add(crew, key[j] >> LANE_BITS, head[j]);
                else if (head[j]) note(crew, key[j] >> LANE_BITS, head[j], dealt.tails);
            }
            from = from ? from + size * share : size * (1 + turn);
        } while (__any_sync(WHOLE, most >= from));
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
