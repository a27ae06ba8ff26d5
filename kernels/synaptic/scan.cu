// Release of vesicles along a sequence: the recurrence of src/kinds/synaptic/presynaptic, which is the definition, in f32. A
// thread has one key of one head, a warp 32 neighbouring ones, which walk the queries together, so that rows of edges are read and
// written whole. State is in registers. `scan_all_edges` is for the default delay: the queue is in registers, and with the default
// slopes exponentials are powers of one. Measured on an H200, µs, of 64 sequences with 8 heads of 256 and of 512 tokens, with derivatives, at
// 16 warps of a multiprocessor unless said; in turns of 256 tokens with what was before (72, f32 81), least of 12:
//   scan_sequences, derivatives in f16: the sum of the sensors is read from a table, blocks of four warps share it
//                                                             62
//     in f32                                                  78
//     blocks of two warps, of one                             64, 66
//     reciprocals by twos; 96 registers                       63; 66
//     queries and keys multiplied (tf32) within the walk      76, in place of 62 + 45 of the multiplication; not taken, as all of it
//                                                             would count as release: 14 % of the forward pass of small in bf16
// Before there was a table, scan_all_edges:
//   derivatives in f16                                        72  239  88 instructions, of them 8 special functions, per edge
//     in f32                                                  84  293
//     without derivatives                                     62  195  69 instructions, 8 special functions
//     64 registers and 8 groups of rows ahead, not 80 and 6   76  240; 4 groups 74 245, 5 73 241, 12 74 246; loop of two groups 74 237
//     derivatives by block of 32 keys in place of rows        78  260, as by rows (77, 260; f32 85, 294 and 83, 295): no gain
//     logits in f16, too                                      78  247: arithmetic is what is left
//     blocks of keys by twos of equal length (64 registers)   76  256
//     two keys per lane                                       97  257, with 12 warps 97 271, f32 102 278
//     reciprocals not shared by twos                          74  249; of fuel and slope alone 75 250, of Doc2 and synaptotagmin 7
//                                                             alone 74 245, one for all four sensors 77 243
//     rows copied by itself, no arithmetic                    55  215, f32 75 282, without derivatives 42 168
//   before, f32: 88 instructions, 12 special functions        83  295, with f16 77 260
//   before that, f32, as many warps as registers allow, 32   102  303; 28 96 299, 24 92 300, 20 88 298, 12 88 292
//     48 registers; streaming stores                         105, 104  305, 303
//   rows loaded to registers, 4 ahead                         99  300; 8 ahead with 80 registers 90, 299; 3 104, 316; 6 103, 306
//     rows of constant length                                100  307; blocks of 128 threads 106 313
//     quarters of a block in the opposite order               96  301
//   before: 103 instructions, 12 special functions           108  326; ncu: 64 registers, 31 warps of 64 (38 % at work), 58 % of
//     issue slots, special functions 51 %, DRAM 36 %, L2 44 %; cycles of a warp per instruction 9.0, of which 3.1 wait for
//     loads from memory, 2.0 not selected, 1.1 queues of shared memory and special functions full, 0.9 fixed latency
//   scan_release                                             121  413
//   each lane from its own query on: 32 sectors per access   520 2025
#include "gen/synaptic-scan.cuh"
#include "common/philox.cuh"

typedef float T;
#include "nn/rows.cuh"
#include "nn/shared_memory.cuh"
#include "synaptic/scan_key.cuh"

// Queries whose edges are read before those of the ones before them are computed.
constexpr unsigned int AHEAD = 4;

// Vesicles under endocytosis, in shared memory: those of this thread are at multiples of the size of a block.
struct SharedQueue {
    float* slots;
    unsigned int delay, cursor;
    __device__ __forceinline__ float take() const { return delay > 0 ? slots[cursor * blockDim.x] : 0.0f; }
    __device__ __forceinline__ void put(float entering) {
        if (delay == 0) return;
        slots[cursor * blockDim.x] = entering;
        cursor = cursor + 1 == delay ? 0 : cursor + 1;
    }
    // Slot i from the one that returns next.
    __device__ __forceinline__ float& at(unsigned int i) { return slots[(cursor + i < delay ? cursor + i : cursor + i - delay) * blockDim.x]; }
};

// Vesicles under endocytosis of FAST_DELAY steps, in registers.
struct RegisterQueue {
    float slots[FAST_DELAY];
    __device__ __forceinline__ float take() const { return slots[0]; }
    __device__ __forceinline__ void put(float entering) {
#pragma unroll
        for (unsigned int i = 1; i < FAST_DELAY; ++i) slots[i - 1] = slots[i];
        slots[FAST_DELAY - 1] = entering;
    }
    __device__ __forceinline__ float& at(unsigned int i) { return slots[i]; }
};

// Walks the queries that see a key of the warp. A key begins at its own query.
template <unsigned int MODE, Form FORM, class Queue>
__device__ __forceinline__ void walk(const ScanConstants& c, const Column& col, Key& k, Queue& queue) {
    const ScanArgs& a = col.a;
    const unsigned int first = col.key / 32 * 32, from = first > a.first_query ? first - a.first_query : 0;
    const u64 stride = a.n_keys, first_row = (u64)col.head * a.n_queries + from;
    float* edge = col.edges + first_row * stride + col.key;
    float* factor = col.factor + first_row * stride + col.key;
    const bool has_factor = col.factor;
    float distance = (float)(int)(a.first_query + from - col.key);
    auto one = [&](unsigned int t, float drive, bool is_visible) {
        if (is_visible) {
            float slot = MODE == SCAN ? queue.take() : 0.0f, bias = 0.0f, slope;
            if (FORM != GENERAL) {
                step_short<FORM>(c, drive, k, slot, bias, slope);
                *edge = drive - c.bias.barrier * distance + c.bias.lambda_log2 * bias;
            } else {
                const u64 row = first_row + (t - from);
                const bool is_selected = !col.selected || (col.selected[row * words_of_row(a) + col.key / 32] >> col.key % 32 & 1u);
                step_key<MODE>(c, col, a.first_query + t, is_selected, drive, k, slot, bias, slope);
                // Edges that are not selected get the bias of the last one that is, in fill_unselected.
                if (col.selected && col.last[row] == col.key) col.row_bias[row] = bias;
                *edge = drive + (is_selected ? bias : 0.0f) - c.bias.barrier * distance;
            }
            if (MODE == SCAN) queue.put(slot);
            if (has_factor) *factor = slope;
        }
        edge += stride;
        factor += stride;
        distance += 1.0f;
    };
    unsigned int t = from;
    float next[AHEAD], drive[AHEAD];
    auto read = [&](unsigned int first) {
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) next[i] = edge[(first + i) * stride];
    };
    auto group = [&](bool is_checked) {
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) drive[i] = next[i];
        if (t + 2 * AHEAD <= a.n_queries) read(AHEAD);
#pragma unroll
        for (unsigned int i = 0; i < AHEAD; ++i) one(t + i, drive[i], !is_checked || distance >= 0.0f);
        t += AHEAD;
    };
    if (t + AHEAD <= a.n_queries) read(0);
    // Until the query of the last key of the warp.
    while (t + AHEAD <= a.n_queries && a.first_query + t < first + 31) group(true);
    while (t + AHEAD <= a.n_queries) group(false);
#pragma unroll 1
    for (; t < a.n_queries; ++t) one(t, *edge, distance >= 0.0f);
}

// Reads the position of the first query and the number of known keys if they are in memory.
__device__ __forceinline__ void read_first(ScanArgs& a, const void* first) {
    if (first) a.first_query = a.known = *(const unsigned int*)first;
}

// Place of a number of the state: quantities, heads, keys.
__device__ __forceinline__ u64 place(const ScanArgs& a, unsigned int quantity, unsigned int head, unsigned int key) {
    return ((u64)quantity * a.n_heads + head) * a.capacity + key;
}

// Walks from the state in memory, or from the first one, and leaves it there.
template <unsigned int MODE, Form FORM, class Queue>
__device__ __forceinline__ void walk_from(const ScanConstants& c, const Column& col, Queue& queue, float* memory) {
    constexpr bool SHORT = FORM != GENERAL;
    const ScanArgs& a = col.a;
    const unsigned int delay = SHORT ? FAST_DELAY : a.delay;
    const bool is_known = memory && col.key < a.known;
    Key k = fresh(c);
    float* const all[QUANTITIES] = {&k.calcium, &k.rrp, &k.reserve, &k.primed, &k.clamp, &k.amplitude, &k.energy, &k.x, &k.u};
    if (is_known) {
#pragma unroll
        for (unsigned int i = 0; i < QUANTITIES; ++i) *all[i] = memory[place(a, i, col.head, col.key)];
    }
    // Reserve and queue in the form of step_short.
    const float queued = SHORT ? QUEUED : 0.0f;
    k.reserve -= queued;
#pragma unroll SHORT ? FAST_DELAY : 1
    for (unsigned int i = 0; i < delay; ++i) queue.at(i) = queued + (is_known ? memory[place(a, QUANTITIES + i, col.head, col.key)] : 0.0f);
    walk<MODE, FORM>(c, col, k, queue);
    if (!memory) return;
    k.reserve += queued;
#pragma unroll
    for (unsigned int i = 0; i < QUANTITIES; ++i) memory[place(a, i, col.head, col.key)] = *all[i];
#pragma unroll SHORT ? FAST_DELAY : 1
    for (unsigned int i = 0; i < delay; ++i) memory[place(a, QUANTITIES + i, col.head, col.key)] = queue.at(i) - queued;
}

extern "C" __global__ void scan_release(ScanArgs a, ScanConstants c, const void* first, const void* step, const void* selected, const void* last, float* __restrict__ edges, void* factor, void* row_bias, void* state) {
    extern __shared__ float queues[]; // [delay, threads]
    // The longest walks, those of the first keys, begin first.
    const unsigned int head = blockIdx.x % a.n_heads, key = blockIdx.x / a.n_heads * blockDim.x + threadIdx.x;
    if (key >= a.n_keys) return;
    read_first(a, first);
    ReleaseStep at = {};
    if (step) at = *(const ReleaseStep*)step;
    const Column col = {a, at.seed, step_of_head(a, at, head), (const unsigned int*)selected, (const unsigned int*)last, edges, (float*)factor, (float*)row_bias, head, key};
    SharedQueue queue = {queues + threadIdx.x, a.delay, 0};
    switch (a.mode) {
        case SCAN: walk_from<SCAN, GENERAL>(c, col, queue, (float*)state); break;
        case STATIC: walk_from<STATIC, GENERAL>(c, col, queue, (float*)state); break;
        case TSODYKS_MARKRAM: walk_from<TSODYKS_MARKRAM, GENERAL>(c, col, queue, (float*)state); break;
        default: walk_from<OFF, GENERAL>(c, col, queue, (float*)state); break;
    }
}

extern "C" __global__ void scan_all_edges(ScanArgs a, ScanConstants c, const void* first, float* __restrict__ edges, void* factor, void* state) {
    const unsigned int head = blockIdx.x % a.n_heads, key = blockIdx.x / a.n_heads * blockDim.x + threadIdx.x;
    if (key >= a.n_keys) return;
    read_first(a, first);
    const Column col = {a, 0, 0, nullptr, nullptr, edges, (float*)factor, nullptr, head, key};
    RegisterQueue queue;
    if (c.has_default_slopes) walk_from<SCAN, POWERS>(c, col, queue, (float*)state);
    else walk_from<SCAN, EXPONENTIALS>(c, col, queue, (float*)state);
}

#include "synaptic/scan_sequence.cuh" // the same of whole sequences

// Larger for larger logits (f32 total order), then for earlier keys: 48 bits.
__device__ __forceinline__ u64 rank_of(float x, unsigned int key) {
    const unsigned int bits = (unsigned int)__float_as_int(x);
    return (u64)(bits >> 31 ? ~bits : bits | 0x80000000u) << 16 | (0xffffu - key);
}

// A block per row: bits of the k largest edges that the query sees, and the last of them. Counts are integers: their order does
// not matter.
extern "C" __global__ void select_edges(ScanArgs a, const void* first, unsigned int k, const float* __restrict__ edges, unsigned int* __restrict__ selected, unsigned int* __restrict__ last) {
    __shared__ unsigned int bins[256];
    __shared__ u64 chosen;
    __shared__ unsigned int left;
    const u64 row = blockIdx.x;
    read_first(a, first);
    const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
    const float* of_row = edges + row * a.n_keys;
    const bool is_whole = n <= k;
    if (threadIdx.x == 0) {
        chosen = 0;
        left = k;
    }
    // The k-th largest rank, a byte at a time.
    for (int shift = 40; shift >= 0 && !is_whole; shift -= 8) {
        bins[threadIdx.x] = 0;
        __syncthreads();
        const u64 prefix = chosen;
        for (unsigned int j = threadIdx.x; j < n; j += blockDim.x) {
            const u64 rank = rank_of(of_row[j], j);
            if (rank >> (shift + 8) == prefix) atomicAdd(&bins[rank >> shift & 0xffu], 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            unsigned int byte = 255, wanted = left;
            while (byte > 0 && bins[byte] < wanted) wanted -= bins[byte--];
            chosen = prefix << 8 | byte;
            left = wanted;
        }
        __syncthreads();
    }
    __syncthreads();
    const u64 least = is_whole ? 0 : chosen;
    if (threadIdx.x == 0) last[row] = is_whole ? NONE : 0xffffu - (unsigned int)(least & 0xffffu);
    const unsigned int words = words_of_row(a);
    for (unsigned int word = threadIdx.x / 32; word < words; word += blockDim.x / 32) {
        const unsigned int j = 32 * word + threadIdx.x % 32;
        const unsigned int bits = __ballot_sync(ALL_LANES, j < n && rank_of(of_row[j < n ? j : 0], j) >= least);
        if (threadIdx.x % 32 == 0) selected[row * words + word] = bits;
    }
}

// A block per row: edges that are not selected get the bias of the last one that is.
extern "C" __global__ void fill_unselected(ScanArgs a, const void* first, const unsigned int* __restrict__ selected, const unsigned int* __restrict__ last, const float* __restrict__ row_bias, float* __restrict__ edges) {
    const u64 row = blockIdx.x;
    if (last[row] == NONE) return;
    read_first(a, first);
    const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
    const float bias = row_bias[row];
    const unsigned int* bits = selected + row * words_of_row(a);
    for (unsigned int j = threadIdx.x; j < n; j += blockDim.x)
        if (!(bits[j / 32] >> j % 32 & 1u)) edges[row * a.n_keys + j] += bias;
}

// A warp or a block per row: in place of the gradients of probabilities those of the logits before release,
// p (d - Σ p d) (1 + factor); 0 where invisible. `is_packed`: factors as a Walker writes them; rows are then aligned.
extern "C" __global__ void release_backward(ScanArgs a, unsigned int is_aligned, unsigned int is_packed, const float* __restrict__ p, const void* factor, float* d) {
    __shared__ float slots[1][MAX_WARPS];
    for (u64 row = first_row(); row < (u64)a.n_heads * a.n_queries; row += row_step()) {
        const unsigned int n = min(a.first_query + (unsigned int)(row % a.n_queries) + 1, a.n_keys);
        const u64 at = row * a.n_keys;
        float y[KEPT + 1][PACK], dy[KEPT + 1][PACK];
        auto read = [&](unsigned int c, unsigned int i) {
            read_pack(p + at, i, n, is_aligned, y[c]);
            read_pack(d + at, i, n, is_aligned, dy[c]);
        };
        float mean[1] = {0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) mean[0] += y[c][e] * dy[c][e];
        });
        reduce_row<Sum>(mean, slots);
        each_pack(a.n_keys, [&](unsigned int c, unsigned int i) {
            float out[PACK] = {};
            if (i < n) {
                if (c == KEPT) read(c, i);
                float f[PACK] = {};
                if (is_packed) {
                    const uint4 both = *(const uint4*)((const unsigned int*)factor + row / 2 * a.n_keys + i);
                    const unsigned int words[PACK] = {both.x, both.y, both.z, both.w};
#pragma unroll
                    for (unsigned int e = 0; e < PACK; ++e) f[e] = to_float(f16{(unsigned short)(row % 2 ? words[e] >> 16 : words[e])});
                } else if (factor) {
                    read_pack((const float*)factor + at, i, n, is_aligned, f);
                }
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) out[e] = i + e < n ? y[c][e] * (dy[c][e] - mean[0]) * (1.0f + f[e]) : 0.0f;
            }
            write_pack(d + at, i, a.n_keys, is_aligned, out);
        });
    }
}
