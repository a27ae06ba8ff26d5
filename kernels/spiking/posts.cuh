// How blocks of resident neurons tell each other who fired. Each writes the keys of its spikes to its post, and then how
// many there are; each reads the posts of all, and looks up what the rows of these neurons hold for it: the wiring is dealt
// to blocks (src/kinds/spiking/cuda/dealt.rs), so what arrives is added in shared memory.
//
// Every word of a post carries the tag of its window beside it, so that whoever reads it knows whether it is there yet: no
// fence, no meeting. There are two posts per block. A block writes to one again when it has read all others' posts of the
// window in between, which they wrote when they had read this one.
#pragma once
#include "spiking/deliver.cuh"
#include "spiking/meeting.cuh"

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
template <typename C> __device__ inline void add(C& crew, unsigned int i, unsigned int word) {
    crew.arrive(i, word >> 1 & 2047, (int)word >> 12);
}

// Notes the connections of a head that has several, four at a time, for whoever will take them: neurons with many would
// hold up their reader.
template <typename C>
__device__ inline void note(C& crew, unsigned int i, unsigned int head, const unsigned int* tails) {
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

// Takes what was noted: four lanes each, loads of several rounds in flight together.
template <typename C> __device__ inline void work_off(C& crew, const unsigned int* tails) {
    constexpr unsigned int AT_ONCE = 8;
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

__device__ inline void put(unsigned long long* at, unsigned int tag, unsigned int word) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"((unsigned long long)tag << 32 | word) : "memory");
}

__device__ inline unsigned long long look(const unsigned long long* at) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

// Waits until all posts tell how many spikes they hold, and adds up, 32 posts at a time.
template <typename C>
__device__ inline void await_posts(C& crew, const unsigned long long* posts, unsigned int post_size, unsigned int tag) {
    const unsigned int at = threadIdx.x & 31;
    for (unsigned int base = threadIdx.x & ~31u; base < gridDim.x; base += blockDim.x) {
        const unsigned int post = base + at;
        unsigned long long header = 0;
        if (post < gridDim.x) {
            do header = look(&posts[(unsigned long long)post * post_size]);
            while ((unsigned int)(header >> 32) != tag);
        }
        unsigned int until = (unsigned int)header;
        for (unsigned int d = 1; d < 32; d *= 2) {
            const unsigned int below = __shfl_up_sync(WHOLE, until, d);
            if (at >= d) until += below;
        }
        crew.until[post] = until;
        if (at == 31) crew.sum[base >> 5] = until;
    }
}

// Spikes of all posts before the 32 with the given one.
template <typename C> __device__ inline unsigned int spikes_before(const C& crew, unsigned int post) {
    unsigned int sum = 0;
    for (unsigned int s = 0; s < post >> 5; ++s) sum += crew.sum[s];
    return sum;
}

// Where the `item`th of all spikes lies.
template <typename C>
__device__ inline unsigned long long place_of(const C& crew, unsigned int item, unsigned int post_size) {
    unsigned int s = 0;
    for (; item >= crew.sum[s]; ++s) item -= crew.sum[s];
    const unsigned int* until = &crew.until[32 * s];
    unsigned int post = 0; // the number of those that end before it
#pragma unroll
    for (unsigned int d = 16; d; d /= 2)
        if (until[post + d - 1] <= item) post += d;
    return (unsigned long long)(32 * s + post) * post_size + 1 + item - (post ? until[post - 1] : 0);
}

// Reads the spikes of all posts: those of the first `steps` steps, whose effects fall into this window.
template <typename C>
__device__ inline void receive(C& crew, unsigned int steps, unsigned int total, const unsigned long long* posts,
                               unsigned int post_size, unsigned int tag, const Dealt& dealt) {
    constexpr unsigned int AT_ONCE = 4;
#pragma unroll 1
    for (unsigned int first = threadIdx.x; first < total; first += AT_ONCE * blockDim.x) {
        const unsigned long long* from[AT_ONCE];
        unsigned long long word[AT_ONCE];
        unsigned int head[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int item = first + j * blockDim.x;
            from[j] = posts + (item < total ? place_of(crew, item, post_size) : 0); // beyond: whatever is there
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) word[j] = look(from[j]);
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            while ((unsigned int)(word[j] >> 32) != tag) word[j] = look(from[j]);
            const unsigned int key = (unsigned int)word[j];
            const bool counts = first + j * blockDim.x < total && key >> LANE_BITS < steps;
            head[j] = counts ? dealt.head(key & ((1u << LANE_BITS) - 1)) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int i = (unsigned int)word[j] >> LANE_BITS;
            if (head[j] & 1) add(crew, i, head[j]);
            else if (head[j]) note(crew, i, head[j], dealt.tails);
        }
    }
}

// Writes spikes of this block to the ring, where the host finds them. What they bring in the first `steps` steps is
// counted as of the window they arrive in, whose counters these are.
__device__ inline void file(const Model& m, const unsigned long long* post, unsigned int n, unsigned int ring_at,
                            unsigned int steps, unsigned int* counters, const unsigned int* rows, unsigned int* spikes) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = (unsigned int)look(&post[1 + j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        spikes[(ring_at + j) & m.spike_mask] = key;
        if (i >= steps) continue;
        const unsigned int len = rows[lane + 1] - rows[lane];
        if (len) atomicAdd(&counters[(blockIdx.x % COPIES) * LONGEST + i], len);
    }
}

// Notes the chunks of the rows of spikes that will arrive after this launch: those of step `from` and later, counted from
// step `start`.
__device__ inline void leave_chunks(const Model& m, const unsigned long long* post, unsigned int n, unsigned int from,
                                    unsigned int start, unsigned int chunk_start, unsigned int* n_chunks,
                                    const unsigned int* rows, Chunk* chunks) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = (unsigned int)look(&post[1 + j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        const unsigned int word = rows[lane], len = rows[lane + 1] - word;
        if (i < from || !len) continue;
        unsigned int chunk = chunk_start + atomicAdd(n_chunks, (len + 127) >> 7);
        for (unsigned int at = 0; at < len; at += 128)
            chunks[chunk++ & m.chunk_mask] = {word + at, (start + i) << 7 | (min(len - at, 128u) - 1)};
    }
}

}  // namespace spiking
