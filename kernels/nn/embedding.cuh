// Embedding of tokens and positions, and its gradient. `T` is defined by the file that includes this.
//
// Backward without atomics on floats: the places of the batch are sorted by token (stable, so places ascend within a token),
// then each run of equal tokens is summed in chunks of CHUNK places that start with the run; partial sums of longer runs are
// added in a second kernel. The order is that of nn::embedding::cpu.
#pragma once
#include "nn/groups.cuh"

constexpr unsigned int WARP_MASK = 0xffffffffu;
// A place whose token was out of range: it adds nothing.
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

// The key of a place, at most `last`.
__device__ inline unsigned int key_at(const SortArgs& s, const unsigned int* keys, unsigned long long i) {
    const unsigned int key = keys[i];
    return key < s.keys ? key : s.keys - 1;
}

// Occurrences of each digit in each segment: one warp per segment.
extern "C" __global__ void count_digits(SortArgs s, const unsigned int* __restrict__ keys, unsigned int* __restrict__ counts, unsigned int* __restrict__ flag) {
    __shared__ unsigned int histogram[8][256];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x & 31, segment = blockIdx.x * 8 + warp;
    for (unsigned int d = lane; d < 256; d += 32) histogram[warp][d] = 0;
    __syncwarp();
    if (segment >= s.segments) return;
    const unsigned long long start = (unsigned long long)segment * s.length, end = min(start + s.length, s.n);
    for (unsigned long long i = start + lane; i < end; i += 32) {
        if (keys[i] >= s.keys) raise_flag(flag, i);
        atomicAdd(&histogram[warp][key_at(s, keys, i) >> s.shift & 255u], 1u);
    }
    __syncwarp();
    for (unsigned int d = lane; d < 256; d += 32) counts[d * s.segments + segment] = histogram[warp][d];
}

// Exclusive prefix sums in place, by one block of 1024 threads.
extern "C" __global__ void sum_counts(SortArgs s, unsigned int* __restrict__ counts) {
    __shared__ unsigned int warp_sums[32];
    const unsigned int n = 256 * s.segments, lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    unsigned int before = 0;
    for (unsigned int start = 0; start < n; start += 1024) {
        const unsigned int i = start + threadIdx.x, own = i < n ? counts[i] : 0;
        unsigned int sum = own;
        for (unsigned int step = 1; step < 32; step *= 2) {
            const unsigned int other = __shfl_up_sync(WARP_MASK, sum, step);
            if (lane >= step) sum += other;
        }
        if (lane == 31) warp_sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            unsigned int all = warp_sums[lane];
            for (unsigned int step = 1; step < 32; step *= 2) {
                const unsigned int other = __shfl_up_sync(WARP_MASK, all, step);
                if (lane >= step) all += other;
            }
            warp_sums[lane] = all;
        }
        __syncthreads();
        const unsigned int earlier = before + (warp > 0 ? warp_sums[warp - 1] : 0);
        if (i < n) counts[i] = earlier + sum - own;
        before += warp_sums[31];
        __syncthreads();
    }
}

// Places in the order of a digit, stable: one warp per segment, 32 places at a time.
extern "C" __global__ void sort_places(SortArgs s, const unsigned int* __restrict__ keys, const void* places, const unsigned int* __restrict__ counts,
                                       unsigned int* __restrict__ sorted_keys, unsigned int* __restrict__ sorted_places) {
    __shared__ unsigned int next[8][256];
    const unsigned int warp = threadIdx.x / 32, lane = threadIdx.x & 31, segment = blockIdx.x * 8 + warp;
    if (segment >= s.segments) return;
    for (unsigned int d = lane; d < 256; d += 32) next[warp][d] = counts[d * s.segments + segment];
    __syncwarp();
    const unsigned long long start = (unsigned long long)segment * s.length, end = min(start + s.length, s.n);
    for (unsigned long long first = start; first < end; first += 32) {
        const unsigned long long i = first + lane;
        const bool is_in = i < end;
        const unsigned int key = is_in ? key_at(s, keys, i) : 0;
        // 256 is no digit: lanes beyond the end match each other only.
        const unsigned int digit = is_in ? key >> s.shift & 255u : 256u;
        const unsigned int same = __match_any_sync(WARP_MASK, digit), rank = __popc(same & ((1u << lane) - 1));
        if (is_in) {
            const unsigned int to = next[warp][digit] + rank;
            sorted_keys[to] = key;
            const unsigned int place = places != nullptr ? ((const unsigned int*)places)[i] : (unsigned int)i;
            sorted_places[to] = keys[i] < s.keys ? place : NO_PLACE;
        }
        __syncwarp();
        if (is_in && rank == 0) next[warp][digit] += __popc(same);
        __syncwarp();
    }
}

// First of the sorted places `from..to` whose key is at least (`after`: more than) `key`.
__device__ inline unsigned int bound(const unsigned int* keys, unsigned int from, unsigned int to, unsigned int key, bool after) {
    while (from < to) {
        const unsigned int middle = from + (to - from) / 2;
        if (keys[middle] < key || (after && keys[middle] == key)) from = middle + 1;
        else to = middle;
    }
    return from;
}

// Chunks that begin in a window of CHUNK sorted places.
struct Chunks {
    unsigned int n;
    unsigned int row[CHUNK]; // first sorted place
    unsigned int rows[CHUNK]; // of the chunk; in the second kernel of all chunks of the run
    bool is_whole[CHUNK]; // the chunk is all of its run
    bool is_first[CHUNK];
};

// Finds them; called by all threads. `of_runs`: only the first of each run of several chunks.
__device__ inline void find_chunks(const EmbeddingArgs& g, const unsigned int* keys, unsigned int window, bool of_runs, Chunks& chunks) {
    __shared__ unsigned int in_first_warp;
    const unsigned int n = (unsigned int)g.tokens, row = window * CHUNK + threadIdx.x, lane = threadIdx.x & 31;
    bool is_wanted = false, is_whole = false, is_first = false;
    unsigned int end = 0;
    if (threadIdx.x < CHUNK && row < n) {
        const unsigned int key = keys[row], start = bound(keys, 0, row, key, false);
        is_first = start == row;
        if ((row - start) % CHUNK == 0) {
            const unsigned int limit = n - row < CHUNK ? n : row + CHUNK;
            end = bound(keys, row, limit, key, true);
            is_whole = is_first && (end == n || keys[end] != key);
            is_wanted = !of_runs || (is_first && !is_whole);
            if (of_runs && is_wanted) end = bound(keys, row, n, key, true);
        }
    }
    // Compacted in order: the window is two warps.
    const unsigned int mask = __ballot_sync(WARP_MASK, is_wanted);
    if (threadIdx.x == 0) in_first_warp = __popc(mask);
    __syncthreads();
    if (threadIdx.x < CHUNK) {
        const unsigned int at = __popc(mask & ((1u << lane) - 1)) + (threadIdx.x >= 32 ? in_first_warp : 0);
        if (is_wanted) chunks.row[at] = row, chunks.rows[at] = end - row, chunks.is_whole[at] = is_whole, chunks.is_first[at] = is_first;
        if (threadIdx.x == 32) chunks.n = in_first_warp + __popc(mask);
    }
    __syncthreads();
}

// The partial sum of the chunk that begins at a sorted place. Two chunks of longer runs begin in one window at most: the
// last of a run, and the first of another.
__device__ inline unsigned long long slot(unsigned int row, bool is_first) { return 2ull * (row / CHUNK) + is_first; }

// Sums of chunks: one block per window of sorted places, one thread per chunk and group of columns.
extern "C" __global__ void add_gradients(EmbeddingArgs g, const unsigned int* __restrict__ keys, const unsigned int* __restrict__ places, const void* dy,
                                         float* __restrict__ partial, float* __restrict__ dtable) {
    __shared__ Chunks chunks;
    __shared__ unsigned int own[2 * CHUNK];
    const unsigned int n = (unsigned int)g.tokens, groups = (g.features + Group<T>::N - 1) / Group<T>::N, window = blockIdx.x;
    for (unsigned int i = threadIdx.x; i < 2 * CHUNK; i += blockDim.x)
        own[i] = (unsigned long long)window * CHUNK + i < n ? places[window * CHUNK + i] : NO_PLACE;
    find_chunks(g, keys, window, false, chunks);
    for (unsigned int item = threadIdx.x; item < chunks.n * groups; item += blockDim.x) {
        const unsigned int chunk = item / groups, group = item % groups, row = chunks.row[chunk];
        const unsigned int columns = columns_of(g, group), column = group * Group<T>::N;
        const unsigned int* at = own + (row - window * CHUNK);
        Group<T> sum;
        sum.clear();
#pragma unroll 4
        for (unsigned int i = 0; i < chunks.rows[chunk]; ++i) {
            if (at[i] != NO_PLACE)
                sum.add(Group<T>::load((const T*)dy + (unsigned long long)at[i] * g.features + column, columns, g.aligned));
        }
        if (chunks.is_whole[chunk])
            sum.add_to(dtable + (unsigned long long)keys[row] * g.features + column, columns, g.aligned);
        else
            sum.write(partial + slot(row, chunks.is_first[chunk]) * g.features + column, columns, g.aligned);
    }
}

// Runs of several chunks: their partial sums are added in order.
extern "C" __global__ void add_partial_sums(EmbeddingArgs g, const unsigned int* __restrict__ keys, const float* __restrict__ partial, float* __restrict__ dtable) {
    __shared__ Chunks runs;
    const unsigned int groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    find_chunks(g, keys, blockIdx.x, true, runs);
    for (unsigned int item = threadIdx.x; item < runs.n * groups; item += blockDim.x) {
        const unsigned int run = item / groups, group = item % groups, row = runs.row[run];
        const unsigned int columns = columns_of(g, group), column = group * Group<T>::N;
        Group<T> total;
        total.clear();
#pragma unroll 4
        for (unsigned int i = 0; i < runs.rows[run]; i += CHUNK)
            total.add(Group<T>::read(partial + slot(row + i, i == 0) * g.features + column, columns, g.aligned));
        total.add_to(dtable + (unsigned long long)keys[row] * g.features + column, columns, g.aligned);
    }
}

// Gradients of positions in sequences of one length: one thread per position and group of columns.
extern "C" __global__ void add_position_gradients(EmbeddingArgs g, const void* dy, float* __restrict__ dpositions) {
    const unsigned int groups = (g.features + Group<T>::N - 1) / Group<T>::N;
    const unsigned long long n = (g.tokens < g.seq_len ? g.tokens : g.seq_len) * groups;
    for (unsigned long long item = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x; item < n;
         item += (unsigned long long)gridDim.x * blockDim.x) {
        const unsigned long long position = item / groups;
        const unsigned int group = (unsigned int)(item % groups), columns = columns_of(g, group), column = group * Group<T>::N;
        Group<T> total;
        total.clear();
        for (unsigned long long i = position; i < g.tokens;) {
            Group<T> sum;
            sum.clear();
#pragma unroll 4
            for (unsigned int k = 0; k < CHUNK && i < g.tokens; ++k, i += g.seq_len)
                sum.add(Group<T>::load((const T*)dy + i * g.features + column, columns, g.aligned));
            total.add(sum);
        }
        total.add_to(dpositions + (g.offset + position) * g.features + column, columns, g.aligned);
    }
}
