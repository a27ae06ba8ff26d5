// How blocks of resident neurons tell each other who fired. Each writes the keys of its spikes to its post, and how many
// there are; each reads the posts of all, and looks up what the rows of these neurons hold for it: the wiring is dealt to
// blocks (src/kinds/spiking/cuda/dealt.rs), so what arrives is added in shared memory.
//
// A key has 16 bits: the neuron within its block, and the step of the window. Every word of a post holds three of them and
// the tag of its window, so that whoever reads it knows whether it is there yet: no fence, no meeting. The first word holds
// the number of spikes and two keys. There are two posts per block. A block writes to one again when it has read all
// others' posts of the window in between, which they wrote when they had read this one.
#pragma once
#include "spiking/deliver.cuh"
#include "spiking/meeting.cuh"

namespace spiking {

// What is connected to whom, by presynaptic neuron and block. A head is 0 for nothing; a word with its lowest bit set for
// one connection; else the place of the first of several quads of connections (from bit 6) and their number (bits 1 to 5;
// 0: the first quad tells how many there are). Words with the lowest bit unset are no connections.
struct Dealt {
    const unsigned int* heads;
    const uint4* quads;

    __device__ Dealt(const unsigned int* heads, const unsigned int* tails, const unsigned int* starts)
        : heads(heads + blockIdx.x), quads(reinterpret_cast<const uint4*>(tails + starts[blockIdx.x])) {}
    __device__ unsigned int head(unsigned int lane) const {
        return __ldg(&heads[(unsigned long long)lane * gridDim.x]);
    }
    __device__ uint4 quad(unsigned int place) const { return __ldg(&quads[place]); }
    // Brings the heads of a neuron for all blocks near: they will look them up soon.
    __device__ void announce(unsigned int lane) const {
        const unsigned int* row = heads - blockIdx.x + (unsigned long long)lane * gridDim.x;
        for (unsigned int at = 0; at < gridDim.x; at += 32) asm volatile("prefetch.global.L2 [%0];" ::"l"(row + at));
    }
};

// A connection is its count (20 bits), the target within the block (11 bits), and a bit that is set.
template <typename C> __device__ inline void add(C& crew, unsigned int i, unsigned int word) {
    if (word & 1) crew.arrive(i, word >> 1 & 2047, (int)word >> 12);
}

template <typename C> __device__ inline void add(C& crew, unsigned int i, const uint4& quad) {
    add(crew, i, quad.x);
    add(crew, i, quad.y);
    add(crew, i, quad.z);
    add(crew, i, quad.w);
}

// Notes quads `from` to `end` for whoever will take them: neurons with many would hold up their reader.
template <typename C>
__device__ inline void note(C& crew, unsigned int i, unsigned int from, unsigned int end, const Dealt& dealt) {
    unsigned int to = atomicAdd(&crew.n_work, end - from);
#pragma unroll 1
    for (; from < end && to < WORK; ++from) crew.work[to++] = make_uint2(i, from);
#pragma unroll 1
    for (; from < end; ++from) add(crew, i, dealt.quad(from)); // no room left
}

// The same for all quads of a head.
template <typename C> __device__ inline void note_all(C& crew, unsigned int i, unsigned int head, const Dealt& dealt) {
    const unsigned int place = head >> 6, told = head >> 1 & 31;
    if (told) return note(crew, i, place, place + told, dealt);
    note(crew, i, place + 1, place + 1 + (dealt.quad(place).x >> 1), dealt);
}

// Takes what was noted: four lanes each, loads of several rounds in flight together.
template <typename C> __device__ inline void work_off(C& crew, const Dealt& dealt) {
    constexpr unsigned int AT_ONCE = 8;
    const unsigned int n = min(crew.n_work, WORK), k = threadIdx.x & 3, stride = blockDim.x >> 2;
    const unsigned int* tails = reinterpret_cast<const unsigned int*>(dealt.quads) + k;
#pragma unroll 1
    for (unsigned int first = threadIdx.x >> 2; first < n; first += AT_ONCE * stride) {
        unsigned int i[AT_ONCE], word[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int at = first + j * stride;
            const uint2 item = at < n ? crew.work[at] : make_uint2(0, 0);
            i[j] = item.x;
            word[j] = at < n ? __ldg(&tails[4 * item.y]) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) add(crew, i[j], word[j]);
    }
}

__device__ inline void put(unsigned long long* at, unsigned int tag, unsigned int high, unsigned int low) {
    const unsigned long long word = (unsigned long long)(tag << 16 | high) << 32 | low;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

__device__ inline unsigned long long look(const unsigned long long* at) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

__device__ inline bool has_tag(unsigned long long word, unsigned int tag) {
    return (unsigned int)(word >> 48) == (tag & 0xffffu);
}

// Writes the first word of a post: how many spikes there are, and the first two.
template <typename C>
__device__ inline void put_first(const C& crew, unsigned long long* post, unsigned int n, unsigned int tag) {
    put(post, tag, n, (n > 1 ? crew.own[1] : 0u) << 16 | (n ? crew.own[0] : 0u));
}

// Writes the others.
template <typename C>
__device__ inline void put_rest(const C& crew, unsigned long long* post, const unsigned int* list, unsigned int n,
                                unsigned int tag) {
    for (unsigned int word = threadIdx.x; 3 * word + 2 < n; word += blockDim.x) {
        unsigned int key[3];
#pragma unroll
        for (unsigned int k = 0; k < 3; ++k) {
            const unsigned int at = 3 * word + 2 + k;
            key[k] = at < n ? at < OWN ? crew.own[at] : short_key(__ldcg(&list[at])) : 0;
        }
        put(&post[1 + word], tag, key[2], key[1] << 16 | key[0]);
    }
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
            while (!has_tag(header, tag));
        }
        unsigned int until = (unsigned int)(header >> 32) & 0xffff;
        for (unsigned int d = 1; d < 32; d *= 2) {
            const unsigned int below = __shfl_up_sync(WHOLE, until, d);
            if (at >= d) until += below;
        }
        crew.until[post] = until;
        crew.first[post] = (unsigned int)header;
        if (at == 31) crew.sum[base >> 5] = until;
    }
}

// Spikes of all posts before the 32 with the given one.
template <typename C> __device__ inline unsigned int spikes_before(const C& crew, unsigned int post) {
    unsigned int sum = 0;
    for (unsigned int s = 0; s < post >> 5; ++s) sum += crew.sum[s];
    return sum;
}

// Where the `item`th of all spikes lies: its post, and its place there.
template <typename C> __device__ inline uint2 place_of(const C& crew, unsigned int item) {
    unsigned int s = 0;
    for (; item >= crew.sum[s]; ++s) item -= crew.sum[s];
    const unsigned int* until = &crew.until[32 * s];
    unsigned int post = 0; // the number of those that end before it
#pragma unroll
    for (unsigned int d = 16; d; d /= 2)
        if (until[post + d - 1] <= item) post += d;
    return make_uint2(32 * s + post, item - (post ? until[post - 1] : 0));
}

// Reads the spikes of all posts: those of the first `steps` steps, whose effects fall into this window. FEW: at most one for
// each thread, which takes what is connected at once; else that is noted.
template <bool FEW, typename C>
__device__ inline void receive(C& crew, unsigned int steps, unsigned int total, const unsigned long long* posts,
                               unsigned int post_size, unsigned int tag, const Dealt& dealt) {
    constexpr unsigned int AT_ONCE = FEW ? 1 : 4;
#pragma unroll 1
    for (unsigned int first = threadIdx.x; first < total; first += AT_ONCE * blockDim.x) {
        const unsigned long long* from[AT_ONCE];
        unsigned long long word[AT_ONCE];
        unsigned int key[AT_ONCE], post[AT_ONCE], shift[AT_ONCE], head[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int item = first + j * blockDim.x;
            const uint2 place = item < total ? place_of(crew, item) : make_uint2(0, 0); // beyond: whatever is there
            const unsigned int rest = place.y - 2, at = place.y < 2 ? 0 : 1 + rest / 3;
            post[j] = place.x;
            shift[j] = 16 * (at ? rest % 3 : place.y);
            from[j] = &posts[(unsigned long long)place.x * post_size + at];
            word[j] = at ? look(from[j]) : (unsigned long long)tag << 48 | crew.first[place.x];
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            while (!has_tag(word[j], tag)) word[j] = look(from[j]);
            key[j] = (unsigned int)(word[j] >> shift[j]) & 0xffff;
            const bool counts = first + j * blockDim.x < total && key[j] >> MEMBER_BITS < steps;
            head[j] = counts ? dealt.head(Deal::lane_of(key[j] & MEMBERS, post[j])) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int i = key[j] >> MEMBER_BITS;
            if (head[j] & 1) {
                add(crew, i, head[j]);
            } else if (head[j] && FEW) {
                const uint4 quad = dealt.quad(head[j] >> 6);
                const unsigned int told = head[j] >> 1 & 31, rest = told ? told - 1 : quad.x >> 1;
                add(crew, i, quad);
                if (rest) note(crew, i, (head[j] >> 6) + 1, (head[j] >> 6) + 1 + rest, dealt);
            } else if (head[j]) {
                note_all(crew, i, head[j], dealt);
            }
        }
    }
}

// Adds what the spikes of all posts bring into this window. Ends with a barrier.
template <typename C>
__device__ inline void receive_all(C& crew, unsigned int steps, unsigned int total, const unsigned long long* posts,
                                   unsigned int post_size, unsigned int tag, const Dealt& dealt) {
    if (total <= blockDim.x) receive<true>(crew, steps, total, posts, post_size, tag, dealt);
    else receive<false>(crew, steps, total, posts, post_size, tag, dealt);
    __syncthreads();
    if (crew.n_work) {
        work_off(crew, dealt);
        __syncthreads();
    }
}

// Writes spikes of this block to the ring, where the host finds them, and adds them to the fingerprint of their window,
// which began at `start`. What they bring in the first `steps` steps is counted as of the window they arrive in, whose
// counters these are.
__device__ inline void file(const Model& m, const unsigned int* list, unsigned int n, unsigned int ring_at,
                            unsigned int start, unsigned int* own_counters, unsigned int steps, unsigned int* counters,
                            const unsigned int* rows, unsigned int* spikes) {
    unsigned long long sum = 0;
    // From the last warp on: the first ones wait for posts.
    for (unsigned int j = blockDim.x - 1 - threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&list[j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        spikes[(ring_at + j) & m.layout.spike_mask] = key;
        sum += scrambled(start + i, lane);
        if (i >= steps) continue;
        const unsigned int len = rows[lane + 1] - rows[lane];
        if (len) atomicAdd(&counters[(blockIdx.x % COPIES) * LONGEST + i], len);
    }
    add_fingerprint(own_counters, sum);
}

// Notes the chunks of the rows of spikes that will arrive after this launch: those of step `from` and later, counted from
// step `start`.
__device__ inline void leave_chunks(const Model& m, const unsigned int* list, unsigned int n, unsigned int from,
                                    unsigned int start, unsigned int chunk_start, unsigned int* n_chunks,
                                    const unsigned int* rows, Chunk* chunks) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&list[j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        const unsigned int word = rows[lane], len = rows[lane + 1] - word;
        if (i < from || !len) continue;
        unsigned int chunk = chunk_start + atomicAdd(n_chunks, (len + 127) >> 7);
        for (unsigned int at = 0; at < len; at += 128)
            chunks[chunk++ & m.layout.chunk_mask] = {word + at, (start + i) << 7 | (min(len - at, 128u) - 1)};
    }
}

}  // namespace spiking
