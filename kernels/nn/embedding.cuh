// Embedding of tokens and positions, and its gradient. `T` is defined by the file that includes this.
//
// Backward without atomics on floats: the positions of the batch are sorted by token (stable, so positions ascend
// within a token), then each run of equal tokens is summed in chunks of CHUNK positions that start with the run;
// partial sums of longer runs are added in a second kernel. The order is that of nn::embedding::cpu.
//
// 65,536 x 768 of bf16 with positions, on an H200, microseconds; tokens as in a text (uniform); copying reaches 3,935
// GB/s:
//   all                                                137 (157), before 227 -> 109.8 (152.2) -> this, in a graph: 103.3 (150.7):
//     3,050 (3,430) GB/s
//   counts of both digits, two sorts, then positions     60 (60) -> 40 (40): positions beside counts and sorts, second digit
//     counted by the first sort, 32 counts at once instead of 8; without positions 20
//     positions beside the sorts only, with four loads at a time instead of eight   47
//     16 loads of positions at a time 40.2 (8: 41.2), with a branch per load 159 registers, so that one block is left per
//     multiprocessor: all 129; evicted first, 16 as a ring: no faster; a quarter of the positions beside the partial sums: all 112
//   gradients of chunks, rare tokens first and one block less per multiprocessor 57.5 (109), before 61.6 (109); halves of the columns
//     per block 66 (108)
//   before that, with other memory                       59 to 64 (86) with four loads at a time and old values loaded first;
//     rows copied to shared memory ahead (cp.async), 4 and 8: 58, 57 (88, 90); six blocks per multiprocessor in 40 registers: 81 (93)
//     eight and 16 loads, more registers: 82, 111; blocks of 128 and 192 instead of 256 threads: 91, 76
//   sums of frequent tokens with threads of four instead of eight columns 29 -> 9 (4)
#pragma once
#include "nn/groups.cuh"

constexpr unsigned int WARP_MASK = 0xffffffffu;
// Position whose token was out of range and which adds nothing.
constexpr unsigned int NO_PLACE = 0xffffffffu;

__device__ inline unsigned int columns_of(const EmbeddingArgs& g, unsigned int group) {
    const unsigned int left = g.features - group * Group<T>::N;
    return left < Group<T>::N ? left : Group<T>::N;
}

// One warp per token.
extern "C" __global__ void embed_tokens(EmbeddingArgs g, const unsigned int* __restrict__ tokens, const void* table, const void* positions,
                                        const void* position_ids, void* y, unsigned int* __restrict__ flag) {
    const unsigned int lane = threadIdx.x & 31, groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    const unsigned long long warps = (unsigned long long)gridDim.x * (blockDim.x / 32);
    for (unsigned long long i = (unsigned long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < g.tokens; i += warps) {
        const unsigned int token = tokens[i];
        unsigned long long position = 0;
        if (positions != nullptr)
            position = position_ids != nullptr ? ((const unsigned int*)position_ids)[i] : g.offset + i % g.seq_len;
        const bool is_valid = token < g.vocab && (positions == nullptr || position < g.context);
        if (!is_valid && lane == 0) raise_flag(flag, i);
        const T* from = (const T*)table + (unsigned long long)token * g.features;
        const T* at = (const T*)positions + position * g.features;
        T* to = (T*)y + i * g.features;
        for (unsigned int group = lane; group < groups; group += 32) {
            const unsigned int n = columns_of(g, group), column = group * Group<T>::N;
            Group<T> x;
            x.clear();
            if (is_valid) {
                x = Group<T>::load(from + column, n, g.aligned);
                if (positions != nullptr) x.add(Group<T>::load(at + column, n, g.aligned));
            }
            x.store(to + column, n, g.aligned);
        }
    }
}

// Group as stored in memory: four registers, so that the thread waits for the load only when it widens them.
struct RawGroup {
    uint4 bits;

    __device__ static __forceinline__ RawGroup none() { return {make_uint4(0, 0, 0, 0)}; }
    __device__ static __forceinline__ RawGroup load(const T* from, unsigned int n, bool aligned) {
        if (aligned) return {*(const uint4*)from};
        union { uint4 bits; T x[Group<T>::N]; } all;
        all.bits = make_uint4(0, 0, 0, 0);
#pragma unroll
        for (unsigned int i = 0; i < Group<T>::N; ++i) if (i < n) all.x[i] = from[i];
        return {all.bits};
    }
    __device__ __forceinline__ Group<T> widen() const {
        union { uint4 bits; T x[Group<T>::N]; } all;
        all.bits = bits;
        Group<T> g;
#pragma unroll
        for (unsigned int i = 0; i < Group<T>::N; ++i) g.x[i] = to_float(all.x[i]);
        return g;
    }
};

// Number of loads in flight per thread: of gradients in chunks, of gradients of positions, of partial sums.
constexpr unsigned int BATCH = 4, POSITIONS_BATCH = 16, PARTIAL_BATCH = 8;

__device__ __forceinline__ unsigned int key_in(const SortArgs& s, unsigned int key) { return key < s.keys ? key : s.keys - 1; }

// Histograms of the digits of a pass per segment. There are three tables: of this pass, of the next one, and of the one
// after it, which this pass clears.
__device__ __forceinline__ unsigned int* counts_of(const SortArgs& s, unsigned int* counts, unsigned int ahead) {
    return counts + (unsigned long long)((s.pass + ahead) % 3) * s.segments * 256;
}

// One block: histogram of the first digit in a segment. Later digits are counted while positions are sorted.
__device__ __forceinline__ void count_segment(const SortArgs& s, const unsigned int* keys, unsigned int* counts, unsigned int* flag) {
    __shared__ unsigned int histogram[256];
    const unsigned int segment = blockIdx.x, at = segment * 256 + threadIdx.x;
    histogram[threadIdx.x] = 0;
    __syncthreads();
    const unsigned long long start = (unsigned long long)segment * s.length, end = min(start + s.length, s.n);
#pragma unroll 2
    for (unsigned long long i = start + threadIdx.x; i < end; i += 256) {
        const unsigned int key = keys[i];
        if (key >= s.keys) raise_flag(flag, i);
        atomicAdd(&histogram[key_in(s, key) >> s.shift & 255u], 1u);
    }
    __syncthreads();
    counts_of(s, counts, 0)[at] = histogram[threadIdx.x];
    counts_of(s, counts, 1)[at] = 0;
}

// Maximum number of segments, as in src/nn/embedding/cuda.rs, and number of counts that a thread loads at a time.
constexpr unsigned int MAX_SEGMENTS = 128, COUNTS_AT_ONCE = 32;

// Stable sort of positions by a digit: one block of 256 threads per segment. Each thread finds the start of its digit,
// after smaller digits and earlier segments. Then one warp sorts, 512 positions at a time.
__device__ __forceinline__ void sort_segment(const SortArgs& s, const unsigned int* keys, const unsigned int* places, unsigned int* counts,
                                             unsigned int* sorted_keys, unsigned int* sorted_places) {
    constexpr unsigned int AT_ONCE = 8; // groups of 32 places
    __shared__ unsigned int next[256], warp_sums[8];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x & 31, segment = blockIdx.x;
    const unsigned int* own_counts = counts_of(s, counts, 0) + threadIdx.x;
    unsigned int all = 0, earlier = 0;
#pragma unroll 1
    for (unsigned int first = 0; first < MAX_SEGMENTS; first += COUNTS_AT_ONCE) {
        unsigned int count[COUNTS_AT_ONCE];
#pragma unroll
        for (unsigned int i = 0; i < COUNTS_AT_ONCE; ++i) count[i] = first + i < s.segments ? own_counts[(first + i) * 256] : 0;
#pragma unroll
        for (unsigned int i = 0; i < COUNTS_AT_ONCE; ++i) all += count[i], earlier += first + i < segment ? count[i] : 0;
    }
    counts_of(s, counts, 2)[segment * 256 + threadIdx.x] = 0;
    unsigned int sum = all;
    for (unsigned int step = 1; step < 32; step *= 2) {
        const unsigned int other = __shfl_up_sync(WARP_MASK, sum, step);
        if (lane >= step) sum += other;
    }
    if (lane == 31) warp_sums[warp] = sum;
    __syncthreads();
    for (unsigned int w = 0; w < warp; ++w) sum += warp_sums[w];
    next[threadIdx.x] = sum - all + earlier;
    __syncthreads();
    if (warp > 0) return;
    const unsigned int start = segment * (unsigned int)s.length, end = (unsigned int)min(start + s.length, s.n), next_shift = s.shift + 8;
    const bool counts_next = s.pass + 1 < s.passes;
    for (unsigned int base = start; base < end; base += 32 * AT_ONCE) {
        unsigned int key[AT_ONCE], place[AT_ONCE];
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b) {
            const unsigned int i = base + b * 32 + lane;
            key[b] = i < end ? keys[i] : 0;
            place[b] = places == nullptr ? i : i < end ? places[i] : 0;
        }
#pragma unroll
        for (int b = 0; b < AT_ONCE; ++b) {
            if (base + b * 32 >= end) break;
            const bool is_in = base + b * 32 + lane < end;
            // 256 is not a digit: lanes beyond the end match only each other.
            const unsigned int own = key_in(s, key[b]), digit = is_in ? own >> s.shift & 255u : 256u;
            const unsigned int same = __match_any_sync(WARP_MASK, digit), rank = __popc(same & ((1u << lane) - 1));
            if (is_in) {
                const unsigned int to = next[digit] + rank;
                sorted_keys[to] = own;
                sorted_places[to] = key[b] < s.keys ? place[b] : NO_PLACE;
                if (counts_next) atomicAdd(counts_of(s, counts, 1) + to / (unsigned int)s.length * 256 + (own >> next_shift & 255u), 1u);
            }
            __syncwarp();
            if (is_in && rank == 0) next[digit] += __popc(same);
            __syncwarp();
        }
    }
}

// Start (or end) of `key` among the sorted positions from..to, found by a warp.
__device__ __forceinline__ unsigned int find(const unsigned int* keys, unsigned int from, unsigned int to, unsigned int key, bool after) {
    const unsigned int lane = threadIdx.x & 31;
    while (from < to) {
        const unsigned int step = (to - from + 31) / 32, at = from + lane * step;
        // Lanes with positions before the bound; they are the first lanes.
        const bool is_before = at < to && (keys[at] < key || (after && keys[at] == key));
        const unsigned int n = __popc(__ballot_sync(WARP_MASK, is_before));
        if (n == 0) return from;
        to = min(to, from + n * step);
        from += (n - 1) * step + 1;
    }
    return from;
}
// Partial sum of the chunk that begins at a sorted position. At most two chunks of longer runs begin in one window: the
// last of a run, and the first of another.
__device__ inline unsigned long long slot(unsigned int row, bool is_first) { return 2ull * (row / CHUNK) + is_first; }

// Chunks of a window: their first positions in it, and their lengths with two flags: whether the chunk is the whole
// run, and whether it is the first of its run.
struct Window {
    unsigned int places[2 * CHUNK], keys[2 * CHUNK], begin[CHUNK], counts[CHUNK], n_chunks;
};

template <bool IS_ALIGNED>
__device__ __forceinline__ void add_chunks(const EmbeddingArgs& g, const Window& w, unsigned int base, const T* dy, float* partial, float* dtable) {
    constexpr unsigned int AT_ONCE = IS_ALIGNED ? BATCH : 1;
    const unsigned int groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    for (unsigned int item = threadIdx.x; item < w.n_chunks * groups; item += blockDim.x) {
        const unsigned int chunk = item / groups, group = item % groups, row = w.begin[chunk], rows = w.counts[chunk] & 0x3fffffffu;
        const unsigned int columns = columns_of(g, group), column = group * Group<T>::N;
        const unsigned int* at = w.places + row;
        // Loads the table's row of a whole run before the sum, which would wait twice otherwise.
        const bool is_whole = w.counts[chunk] >> 30 & 1;
        float* to = is_whole ? dtable + (unsigned long long)w.keys[row] * g.features + column
                             : partial + slot(base + row, w.counts[chunk] >> 31) * g.features + column;
        Group<T> old;
        old.clear();
        if (is_whole) old = Group<T>::read(to, columns, IS_ALIGNED);
        Group<T> sum;
        sum.clear();
        for (unsigned int i = 0; i < rows; i += AT_ONCE) {
            RawGroup x[AT_ONCE];
#pragma unroll
            for (unsigned int j = 0; j < AT_ONCE; ++j) {
                x[j] = RawGroup::none();
                const unsigned int place = i + j < rows ? at[i + j] : NO_PLACE;
                if (place != NO_PLACE) x[j] = RawGroup::load(dy + (unsigned long long)place * g.features + column, columns, IS_ALIGNED);
            }
#pragma unroll
            for (unsigned int j = 0; j < AT_ONCE; ++j) sum.add(x[j].widen()); // zeros change no bit: a sum is never -0
        }
        if (is_whole) old.add(sum), old.write(to, columns, IS_ALIGNED);
        else sum.write(to, columns, IS_ALIGNED);
    }
}

// Sums chunks: one block per window of CHUNK sorted positions, one thread per chunk and group of columns. Chunks begin
// with their run and may extend into the next window. The last windows start first: rare tokens have large numbers in
// most vocabularies, and windows with many short chunks take longest.
extern "C" __global__ void add_gradients(EmbeddingArgs g, const unsigned int* __restrict__ keys, const unsigned int* __restrict__ places, const void* dy,
                                         float* __restrict__ partial, float* __restrict__ dtable) {
    __shared__ Window w;
    __shared__ unsigned int differs[4], first_start, half;
    const unsigned int n = (unsigned int)g.tokens, base = (gridDim.x - 1 - blockIdx.x) * CHUNK;
    for (unsigned int i = threadIdx.x; i < 2 * CHUNK; i += blockDim.x) {
        const bool is_in = base + i < n;
        w.places[i] = is_in ? places[base + i] : NO_PLACE;
        w.keys[i] = is_in ? keys[base + i] : NO_PLACE; // no key is that large
    }
    if (threadIdx.x < 32) {
        const unsigned int key = keys[base];
        const unsigned int start = base > 0 && keys[base - 1] == key ? find(keys, 0, base, key, false) : base;
        if (threadIdx.x == 0) first_start = start;
    }
    __syncthreads();
    if (threadIdx.x < 2 * CHUNK) {
        const unsigned int bits = __ballot_sync(WARP_MASK, threadIdx.x > 0 && w.keys[threadIdx.x] != w.keys[threadIdx.x - 1]);
        if (threadIdx.x % 32 == 0) differs[threadIdx.x / 32] = bits;
    }
    __syncthreads();
    // One thread per position of the window: whether a chunk begins there, and its length.
    unsigned int count = 0, mask = 0;
    if (threadIdx.x < CHUNK) {
        const unsigned int i = threadIdx.x, row = base + i, word = i / 32, bit = i % 32;
        unsigned int before = differs[word] & (2u << bit) - 1, start = 32 * word;
        if (before == 0 && word > 0) before = differs[0], start = 0;
        const unsigned int since = before == 0 ? row - first_start : i - (start + 31 - __clz(before));
        if (row < n && since % CHUNK == 0) {
            unsigned int after = differs[word] >> bit >> 1, end = i;
            if (after == 0) after = differs[word + 1], end = 32 * word + 31;
            if (after == 0) after = differs[word + 2], end = 32 * word + 63;
            end = after == 0 ? 2 * CHUNK : end + __ffs(after);
            const bool is_first = since == 0, is_whole = is_first && end - i <= CHUNK;
            count = min(end - i, CHUNK) | (unsigned int)is_whole << 30 | (unsigned int)is_first << 31;
        }
        mask = __ballot_sync(WARP_MASK, count != 0);
        if (threadIdx.x == 0) half = __popc(mask);
    }
    __syncthreads();
    if (threadIdx.x < CHUNK) {
        const unsigned int to = __popc(mask & ((1u << (threadIdx.x & 31)) - 1)) + (threadIdx.x >= 32 ? half : 0);
        if (count != 0) w.begin[to] = threadIdx.x, w.counts[to] = count;
        if (threadIdx.x == 32) w.n_chunks = half + __popc(mask);
    }
    __syncthreads();
    if (g.aligned) add_chunks<true>(g, w, base, (const T*)dy, partial, dtable);
    else add_chunks<false>(g, w, base, (const T*)dy, partial, dtable);
}

// Adds the partial sums of runs with several chunks in order. At most one such run begins in a window: its last.
extern "C" __global__ void add_partial_sums(EmbeddingArgs g, const unsigned int* __restrict__ keys, const float* __restrict__ partial, float* __restrict__ dtable) {
    const unsigned int n = (unsigned int)g.tokens, base = blockIdx.x * CHUNK, last = min(base + CHUNK, n) - 1, key = keys[last], lane = threadIdx.x & 31;
    if (last + 1 == n || keys[last + 1] != key) return;
    if (base > 0 && keys[base - 1] == key) return;
    unsigned int start = base;
    for (unsigned int i = base + lane; i < base + CHUNK; i += 32) start += __popc(__ballot_sync(WARP_MASK, keys[i] != key));
    if (start + CHUNK >= n || keys[start + CHUNK] != key) return;
    const unsigned int end = find(keys, start + CHUNK, n, key, true);
    for (unsigned int column = threadIdx.x * 4; column < g.features; column += blockDim.x * 4) {
        const unsigned int columns = min(g.features - column, 4u);
        Group<float> total;
        total.clear();
        for (unsigned int i = start; i < end; i += CHUNK * PARTIAL_BATCH) {
            Group<float> x[PARTIAL_BATCH];
#pragma unroll
            for (unsigned int j = 0; j < PARTIAL_BATCH; ++j) {
                const unsigned int row = i + j * CHUNK;
                x[j].clear();
                if (row < end) x[j] = Group<float>::read(partial + slot(row, row == start) * g.features + column, columns, g.aligned);
            }
#pragma unroll
            for (unsigned int j = 0; j < PARTIAL_BATCH; ++j) total.add(x[j]);
        }
        total.add_to(dtable + (unsigned long long)key * g.features + column, columns, g.aligned);
    }
}

// Gradients of positions in sequences of equal length: items `first` to `end`, each a position and a group of columns,
// divided among `blocks` blocks. Alignment is a template parameter, because a branch per load costs registers.
template <bool IS_ALIGNED>
__device__ __forceinline__ void add_position_gradients(const EmbeddingArgs& g, const T* dy, float* dpositions, unsigned long long first, unsigned long long end, unsigned int block, unsigned int blocks) {
    constexpr unsigned int AT_ONCE = IS_ALIGNED ? POSITIONS_BATCH : 1;
    const unsigned int groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    for (unsigned long long item = first + (unsigned long long)block * blockDim.x + threadIdx.x; item < end; item += (unsigned long long)blocks * blockDim.x) {
        const unsigned long long position = item / groups;
        const unsigned int group = (unsigned int)(item % groups), columns = columns_of(g, group), column = group * Group<T>::N;
        const unsigned int rows = (unsigned int)((g.tokens - position + g.seq_len - 1) / g.seq_len);
        const T* from = dy + position * g.features + column;
        const unsigned long long step = g.seq_len * g.features;
        Group<T> total;
        total.clear();
        for (unsigned int start = 0; start < rows; start += CHUNK) {
            const unsigned int end_row = min(start + CHUNK, rows);
            Group<T> sum;
            sum.clear();
            for (unsigned int i = start; i < end_row; i += AT_ONCE) {
                RawGroup x[AT_ONCE];
#pragma unroll
                for (unsigned int j = 0; j < AT_ONCE; ++j) {
                    x[j] = RawGroup::none();
                    if (i + j < end_row) x[j] = RawGroup::load(from + (i + j) * step, columns, IS_ALIGNED);
                }
#pragma unroll
                for (unsigned int j = 0; j < AT_ONCE; ++j) sum.add(x[j].widen());
            }
            total.add(sum);
        }
        total.add_to(dpositions + (g.offset + position) * g.features + column, columns, IS_ALIGNED);
    }
}

// This launch's share of the gradients of positions, computed by the blocks after those of the segments; `dpositions`
// is null if there are none.
__device__ __forceinline__ void add_share_of_positions(const SortArgs& s, const EmbeddingArgs& g, const void* dy, void* dpositions, unsigned int share) {
    if (dpositions == nullptr) return;
    const unsigned int shares = s.passes + 1, groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    const unsigned long long n = (g.tokens < g.seq_len ? g.tokens : g.seq_len) * groups;
    const unsigned long long first = n * share / shares, end = n * (share + 1) / shares;
    const unsigned int block = blockIdx.x - s.segments, blocks = gridDim.x - s.segments;
    if (g.aligned) add_position_gradients<true>(g, (const T*)dy, (float*)dpositions, first, end, block, blocks);
    else add_position_gradients<false>(g, (const T*)dy, (float*)dpositions, first, end, block, blocks);
}

// Counting and sorting are bound by latency and the gradients of positions by memory, so they run concurrently in one
// launch.
extern "C" __global__ void count_digits(SortArgs s, const unsigned int* __restrict__ keys, unsigned int* counts, unsigned int* __restrict__ flag, EmbeddingArgs g, const void* dy, void* dpositions) {
    if (blockIdx.x < s.segments) count_segment(s, keys, counts, flag);
    else add_share_of_positions(s, g, dy, dpositions, 0);
}
extern "C" __global__ void sort_places(SortArgs s, const unsigned int* __restrict__ keys, const void* places, unsigned int* counts, unsigned int* __restrict__ sorted_keys,
                                       unsigned int* __restrict__ sorted_places, EmbeddingArgs g, const void* dy, void* dpositions) {
    if (blockIdx.x < s.segments) sort_segment(s, keys, (const unsigned int*)places, counts, sorted_keys, sorted_places);
    else add_share_of_positions(s, g, dy, dpositions, s.pass + 1);
}
