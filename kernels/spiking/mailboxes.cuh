// Spike exchange between persistent blocks. Each block writes the number and keys of its spikes to its mailbox; each
// reads all mailboxes and looks up the connections of these neurons to its own: connections are partitioned by target
// block (src/kinds/spiking/cuda/block_csr.rs), so arrivals are summed in shared memory.
//
// A 16-bit key holds the neuron within its block and the step of the window. Every 64-bit word of a mailbox holds
// three keys and the tag of its window, so that a reader knows whether the word is current: no fence, no barrier. The
// first word holds the number of spikes and two keys. Mailboxes are double-buffered. A block reuses one after it has
// read all mailboxes of the window in between, which other blocks write after reading this one.
#pragma once
#include "spiking/deliver_spikes.cuh"
#include "spiking/grid_barrier.cuh"

namespace spiking {

// Connections by presynaptic neuron and target block. A head is 0 for none; a word with its lowest bit set for one
// connection; otherwise the offset of the first of several quads of connections (from bit 6) and their number (bits 1
// to 5; 0: the first quad holds the number). Words with the lowest bit unset are padding.
struct BlockCsr {
    const unsigned int* heads;
    const uint4* quads;

    __device__ BlockCsr(const unsigned int* heads, const unsigned int* tails, const unsigned int* starts)
        : heads(heads + blockIdx.x), quads(reinterpret_cast<const uint4*>(tails + starts[blockIdx.x])) {}
    __device__ unsigned int head(unsigned int lane) const {
        return __ldg(&heads[(unsigned long long)lane * gridDim.x]);
    }
    __device__ uint4 quad(unsigned int place) const { return __ldg(&quads[place]); }
    // Prefetches the heads of a neuron for all blocks into L2.
    __device__ void prefetch_heads(unsigned int lane) const {
        const unsigned int* row = heads - blockIdx.x + (unsigned long long)lane * gridDim.x;
        for (unsigned int at = 0; at < gridDim.x; at += 32) asm volatile("prefetch.global.L2 [%0];" ::"l"(row + at));
    }
};

// A connection: its count (20 bits), the target within the block (11 bits), and a set bit.
template <typename C> __device__ inline void add(C& smem, unsigned int i, unsigned int word) {
    if (word & 1) smem.add_arrival(i, word >> 1 & 2047, (int)word >> 12);
}

template <typename C> __device__ inline void add(C& smem, unsigned int i, const uint4& quad) {
    add(smem, i, quad.x);
    add(smem, i, quad.y);
    add(smem, i, quad.z);
    add(smem, i, quad.w);
}

// Queues quads `from` to `end` for the whole block: long lists would delay their thread.
template <typename C>
__device__ inline void enqueue_quads(C& smem, unsigned int i, unsigned int from, unsigned int end, const BlockCsr& csr) {
    unsigned int to = atomicAdd(&smem.n_pending, end - from);
#pragma unroll 1
    for (; from < end && to < MAX_PENDING_QUADS; ++from) smem.pending_quads[to++] = make_uint2(i, from);
#pragma unroll 1
    for (; from < end; ++from) add(smem, i, csr.quad(from)); // the queue is full
}

// Queues all quads of a head.
template <typename C> __device__ inline void enqueue_head(C& smem, unsigned int i, unsigned int head, const BlockCsr& csr) {
    const unsigned int place = head >> 6, n_quads = head >> 1 & 31;
    if (n_quads) return enqueue_quads(smem, i, place, place + n_quads, csr);
    enqueue_quads(smem, i, place + 1, place + 1 + (csr.quad(place).x >> 1), csr);
}

// Adds the queued quads: four lanes each, loads of several rounds in flight.
template <typename C> __device__ inline void add_pending(C& smem, const BlockCsr& csr) {
    constexpr unsigned int AT_ONCE = 8;
    const unsigned int n = min(smem.n_pending, MAX_PENDING_QUADS), k = threadIdx.x & 3, stride = blockDim.x >> 2;
    const unsigned int* tails = reinterpret_cast<const unsigned int*>(csr.quads) + k;
#pragma unroll 1
    for (unsigned int first = threadIdx.x >> 2; first < n; first += AT_ONCE * stride) {
        unsigned int i[AT_ONCE], word[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int at = first + j * stride;
            const uint2 item = at < n ? smem.pending_quads[at] : make_uint2(0, 0);
            i[j] = item.x;
            word[j] = at < n ? __ldg(&tails[4 * item.y]) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) add(smem, i[j], word[j]);
    }
}

__device__ inline void store_tagged(unsigned long long* at, unsigned int tag, unsigned int high, unsigned int low) {
    const unsigned long long word = (unsigned long long)(tag << 16 | high) << 32 | low;
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

__device__ inline unsigned long long load_tagged(const unsigned long long* at) {
    unsigned long long word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
    return word;
}

__device__ inline bool has_tag(unsigned long long word, unsigned int tag) {
    return (unsigned int)(word >> 48) == (tag & 0xffffu);
}

// Writes the first word of a mailbox: the number of spikes and the first two keys.
template <typename C>
__device__ inline void post_header(const C& smem, unsigned long long* mailbox, unsigned int n, unsigned int tag) {
    store_tagged(mailbox, tag, n, (n > 1 ? smem.local_spikes[1] : 0u) << 16 | (n ? smem.local_spikes[0] : 0u));
}

// Writes the other keys.
template <typename C>
__device__ inline void post_spikes(const C& smem, unsigned long long* mailbox, const unsigned int* list, unsigned int n,
                                unsigned int tag) {
    for (unsigned int word = threadIdx.x; 3 * word + 2 < n; word += blockDim.x) {
        unsigned int key[3];
#pragma unroll
        for (unsigned int k = 0; k < 3; ++k) {
            const unsigned int at = 3 * word + 2 + k;
            key[k] = at < n ? at < MAX_LOCAL_SPIKES ? smem.local_spikes[at] : short_key(__ldcg(&list[at])) : 0;
        }
        store_tagged(&mailbox[1 + word], tag, key[2], key[1] << 16 | key[0]);
    }
}

// Waits for the headers of all mailboxes and sums their counts, 32 mailboxes at a time.
template <typename C>
__device__ inline void wait_for_mailboxes(C& smem, const unsigned long long* mailboxes, unsigned int mailbox_size, unsigned int tag) {
    const unsigned int at = threadIdx.x & 31;
    for (unsigned int base = threadIdx.x & ~31u; base < gridDim.x; base += blockDim.x) {
        const unsigned int mailbox = base + at;
        unsigned long long header = 0;
        if (mailbox < gridDim.x) {
            do header = load_tagged(&mailboxes[(unsigned long long)mailbox * mailbox_size]);
            while (!has_tag(header, tag));
        }
        unsigned int until = (unsigned int)(header >> 32) & 0xffff;
        for (unsigned int d = 1; d < 32; d *= 2) {
            const unsigned int below = __shfl_up_sync(FULL_MASK, until, d);
            if (at >= d) until += below;
        }
        smem.cumulative[mailbox] = until;
        smem.first_keys[mailbox] = (unsigned int)header;
        if (at == 31) smem.group_sum[base >> 5] = until;
    }
}

// Spikes of all mailboxes before the group of 32 that holds the given one.
template <typename C> __device__ inline unsigned int spikes_before(const C& smem, unsigned int mailbox) {
    unsigned int sum = 0;
    for (unsigned int s = 0; s < mailbox >> 5; ++s) sum += smem.group_sum[s];
    return sum;
}

// The mailbox of spike number `item`, and its index there.
template <typename C> __device__ inline uint2 locate_spike(const C& smem, unsigned int item) {
    unsigned int s = 0;
    for (; item >= smem.group_sum[s]; ++s) item -= smem.group_sum[s];
    const unsigned int* until = &smem.cumulative[32 * s];
    unsigned int mailbox = 0; // the number of mailboxes that end before it
#pragma unroll
    for (unsigned int d = 16; d; d /= 2)
        if (until[mailbox + d - 1] <= item) mailbox += d;
    return make_uint2(32 * s + mailbox, item - (mailbox ? until[mailbox - 1] : 0));
}

// Reads the spikes of all mailboxes that arrive in the first `steps` steps of this window. FEW: at most one per
// thread, which adds its connections at once; otherwise they are queued.
template <bool FEW, typename C>
__device__ inline void receive(C& smem, unsigned int steps, unsigned int total, const unsigned long long* mailboxes,
                               unsigned int mailbox_size, unsigned int tag, const BlockCsr& csr) {
    constexpr unsigned int AT_ONCE = FEW ? 1 : 4;
#pragma unroll 1
    for (unsigned int first = threadIdx.x; first < total; first += AT_ONCE * blockDim.x) {
        const unsigned long long* from[AT_ONCE];
        unsigned long long word[AT_ONCE];
        unsigned int key[AT_ONCE], mailbox[AT_ONCE], shift[AT_ONCE], head[AT_ONCE];
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int item = first + j * blockDim.x;
            const uint2 place = item < total ? locate_spike(smem, item) : make_uint2(0, 0); // out of range: any valid address
            const unsigned int rest = place.y - 2, at = place.y < 2 ? 0 : 1 + rest / 3;
            mailbox[j] = place.x;
            shift[j] = 16 * (at ? rest % 3 : place.y);
            from[j] = &mailboxes[(unsigned long long)place.x * mailbox_size + at];
            word[j] = at ? load_tagged(from[j]) : (unsigned long long)tag << 48 | smem.first_keys[place.x];
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            while (!has_tag(word[j], tag)) word[j] = load_tagged(from[j]);
            key[j] = (unsigned int)(word[j] >> shift[j]) & 0xffff;
            const bool counts = first + j * blockDim.x < total && key[j] >> MEMBER_BITS < steps;
            head[j] = counts ? csr.head(BlockPartition::lane_of(key[j] & MEMBERS, mailbox[j])) : 0;
        }
#pragma unroll
        for (unsigned int j = 0; j < AT_ONCE; ++j) {
            const unsigned int i = key[j] >> MEMBER_BITS;
            if (head[j] & 1) {
                add(smem, i, head[j]);
            } else if (head[j] && FEW) {
                const uint4 quad = csr.quad(head[j] >> 6);
                const unsigned int n_quads = head[j] >> 1 & 31, rest = n_quads ? n_quads - 1 : quad.x >> 1;
                add(smem, i, quad);
                if (rest) enqueue_quads(smem, i, (head[j] >> 6) + 1, (head[j] >> 6) + 1 + rest, csr);
            } else if (head[j]) {
                enqueue_head(smem, i, head[j], csr);
            }
        }
    }
}

// Adds the arrivals from all mailboxes to this window. Ends with a barrier.
template <typename C>
__device__ inline void receive_all(C& smem, unsigned int steps, unsigned int total, const unsigned long long* mailboxes,
                                   unsigned int mailbox_size, unsigned int tag, const BlockCsr& csr) {
    if (total <= blockDim.x) receive<true>(smem, steps, total, mailboxes, mailbox_size, tag, csr);
    else receive<false>(smem, steps, total, mailboxes, mailbox_size, tag, csr);
    __syncthreads();
    if (smem.n_pending) {
        add_pending(smem, csr);
        __syncthreads();
    }
}

// Writes the spikes of this block to the ring buffer for the host and adds them to the hash of their window, which
// began at `start`. Synaptic events of the first `steps` steps are counted in `counters`, those of the window they
// arrive in.
__device__ inline void publish_spikes(const Model& m, const unsigned int* list, unsigned int n, unsigned int ring_at,
                            unsigned int start, unsigned int* own_counters, unsigned int steps, unsigned int* counters,
                            const unsigned int* rows, unsigned int* spikes) {
    unsigned long long sum = 0;
    // From the last warp on: the first warps wait for mailboxes.
    for (unsigned int j = blockDim.x - 1 - threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&list[j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        spikes[(ring_at + j) & m.layout.spike_mask] = key;
        sum += spike_hash(start + i, lane);
        if (i >= steps) continue;
        const unsigned int len = rows[lane + 1] - rows[lane];
        if (len) atomicAdd(&counters[(blockIdx.x % COPIES) * MAX_WINDOW_STEPS + i], len);
    }
    add_hash(own_counters, sum);
}

// Appends the chunks of spikes that arrive after this launch: those of step `from` and later, counted from step
// `start`.
__device__ inline void queue_chunks(const Model& m, const unsigned int* list, unsigned int n, unsigned int from,
                                    unsigned int start, unsigned int chunk_start, unsigned int* n_chunks,
                                    const unsigned int* rows, Chunk* chunks) {
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
        const unsigned int key = __ldcg(&list[j]), lane = key & ((1u << LANE_BITS) - 1), i = key >> LANE_BITS;
        const unsigned int word = rows[lane], len = rows[lane + 1] - word;
        if (i < from || !len) continue;
        unsigned int chunk = chunk_start + atomicAdd(n_chunks, (len + 127) >> 7);
        for (unsigned int at = 0; at < len; at += CHUNK)
            chunks[chunk++ & m.layout.chunk_mask] = {word + at, (start + i) << 7 | (min(len - at, CHUNK) - 1)};
    }
}

}  // namespace spiking
