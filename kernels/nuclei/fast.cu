// Exact coupling sums (see couple.cu) in O(N log N): J is a Laplacian kernel in (x, H), x = f / T.
//
// The nuclei in order of x are halved recursively. For p in the lower and q in the upper half of one pair of halves,
// x_q - x_p = (x_q - m) + (m - x_p) with m the smallest x of the upper half: the x part of the weight is a product. The H
// part depends on the order of H: e^-(H_p - H_q) for q before p in H, e^-(H_q - H_p) for q after p. So p needs one prefix
// sum of e^(H_q - |x_q - m|) z_q over the *other* half in order of H, read at p's rank there, and one suffix sum of
// e^(-H_q - |x_q - m|) z_q. H is an entropy, at most ln D, so sums of e^H do not overflow; x is not bounded, and no
// exponent in x is positive.
//
// Halves of 256 and more use this method; within 256 sites all pairs are summed directly (`sum_near`), which takes as long
// as the two or three levels it replaces. Sort orders and ranks depend on f and H only and are computed once per
// generation. A step of the phases then takes `permute_sites`, `sum_near` and three launches for all levels.
//
//  sort_blocks, merge_by_x     sort by x: merges in shared memory up to 1024, then one launch per doubling, each element
//                              finding its rank in the other half by bisection
//  sort_blocks_by_h, merge_by_h  the same by H within each half, storing ranks and orders of every level
//  scan_far                    prefix and suffix sums of 1024 elements of one level per block
//  scan_far_offsets            sums of whole blocks of 1024 before and after each
//  gather_far                  every element reads its two sums at every level
//
// Measured on an H200 at N = 262,144: both orders 139 us, then 97 us per sum over all pairs, where couple_tiled takes
// 21,957 us; error over the largest d 1.2e-7. N = 65,536: 68 and 25 us (1361). N = 16,384: 46 and 18 us (93).
// N = 4096: 29 and 16 us (13). Kernels at N = 262,144 with 2 us of events: sum_near 27, scan_far 55,
// scan_far_offsets 8, gather_far 45, each of eight merge_by_x 8 and merge_by_h 11.
//
// Tried and dropped: scan_far with four rows per warp (95 registers) and stores of half records, 73 us; scan_far_offsets
// with one thread per half and component, 26 us; two merges per launch with three interleaved bisections: both orders 167,
// 75, 49 and 31 us for the four sizes.
#include "gen/nuclei-fast.cuh"
#include "nuclei/math.cuh"
#include "nuclei/pairs.cuh"

constexpr unsigned int NEAR_BITS = 8, NEAR = 256, CHUNK_BITS = 10, CHUNK = 1024;

// Number of `keys` before a key: keys not above it if they belong to the lower half, keys below it otherwise.
__device__ inline unsigned int rank_among(const unsigned int* keys, unsigned int n, unsigned int key, bool lower) {
    unsigned int from = 0, to = n;
    while (from < to) {
        const unsigned int middle = (from + to) / 2, k = keys[middle];
        if (k < key || (lower && k == key)) from = middle + 1;
        else to = middle;
    }
    return from;
}

// One merge of all halves of a sorted sequence: rank in the other half, and position in the merged sequence.
struct Merged { unsigned int rank, build_sites; };

__device__ inline Merged merge(const unsigned int* keys, unsigned int n, unsigned int bits, unsigned int i) {
    const unsigned int half = 1u << bits, own = i >> bits, other = own ^ 1, start = other << bits;
    const unsigned int length = start < n ? min(half, n - start) : 0;
    const unsigned int rank = rank_among(keys + start, length, keys[i], other < own);
    return {rank, ((own >> 1) << (bits + 1)) + (i & (half - 1)) + rank};
}

// Sorts 1024 keys in shared memory with their thread indices; calls `at` before every merge.
template <typename At>
__device__ inline void sort_chunk(unsigned int (*keys)[CHUNK], unsigned int (*index)[CHUNK], At at) {
    const unsigned int t = threadIdx.x;
    int now = 0;
    for (unsigned int bits = 0; bits < 10; ++bits, now ^= 1) {
        __syncthreads();
        const Merged merged = merge(keys[now], CHUNK, bits, t);
        at(bits, index[now][t], merged.rank);
        keys[now ^ 1][merged.build_sites] = keys[now][t];
        index[now ^ 1][merged.build_sites] = index[now][t];
    }
    __syncthreads();
}

extern "C" __global__ void sort_blocks(const PopulationCounts* __restrict__ population, const float* __restrict__ sites, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x) {
    __shared__ unsigned int key[2][CHUNK], index[2][CHUNK];
    const unsigned int n = population->n, t = threadIdx.x, base = blockIdx.x * CHUNK;
    if (base >= n) return;
    // Padding keys sort last, because the merge is stable.
    key[0][t] = base + t < n ? ordered(sites[4 * (base + t)]) : 0xffffffffu;
    index[0][t] = t;
    sort_chunk(key, index, [](unsigned int, unsigned int, unsigned int) {});
    if (base + t >= n) return;
    keys[base + t] = key[0][t];
    by_x[base + t] = base + index[0][t];
}

extern "C" __global__ void merge_by_x(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int bits, unsigned int from, unsigned int* __restrict__ keys, unsigned int* __restrict__ by_x) {
    const unsigned int n = population->n, i = thread_index();
    if (i >= n) return;
    const unsigned int source = from * room, target = (from ^ 1) * room;
    const Merged merged = merge(keys + source, n, bits, i);
    keys[target + merged.build_sites] = keys[source + i];
    by_x[target + merged.build_sites] = by_x[source + i];
}

extern "C" __global__ void permute_sites(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sites, float* __restrict__ sorted) {
    const unsigned int p = thread_index();
    if (p < population->n) ((float4*)sorted)[p] = ((const float4*)sites)[by_x[from * room + p]];
}

extern "C" __global__ void sort_blocks_by_h(const PopulationCounts* __restrict__ population, unsigned int room, const float* __restrict__ sorted, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks) {
    __shared__ unsigned int key[2][CHUNK], index[2][CHUNK];
    const unsigned int n = population->n, t = threadIdx.x, base = blockIdx.x * CHUNK;
    if (base >= n) return;
    key[0][t] = base + t < n ? ordered(sorted[4 * (base + t) + 1]) : 0xffffffffu;
    index[0][t] = t;
    sort_chunk(key, index, [=](unsigned int bits, unsigned int p, unsigned int rank) {
        if (bits < NEAR_BITS || base + t >= n) return;
        const unsigned int level = bits - NEAR_BITS;
        orders[level * room + base + t] = base + p;
        ranks[level * room + base + p] = rank;
    });
    if (base + t >= n) return;
    keys[base + t] = key[0][t];
    orders[2 * room + base + t] = base + index[0][t];
}

extern "C" __global__ void merge_by_h(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int level, unsigned int* __restrict__ keys, unsigned int* __restrict__ orders, unsigned int* __restrict__ ranks) {
    const unsigned int n = population->n, i = thread_index();
    if (i >= n) return;
    const unsigned int source = (level & 1) * room, target = (~level & 1) * room;
    const Merged merged = merge(keys + source, n, NEAR_BITS + level, i);
    const unsigned int p = orders[level * room + i];
    ranks[level * room + p] = merged.rank;
    keys[target + merged.build_sites] = keys[source + i];
    orders[(level + 1) * room + merged.build_sites] = p;
}

extern "C" __global__ void sum_near(const PopulationCounts* __restrict__ population, const float* __restrict__ sorted, float* __restrict__ near_sums) {
    __shared__ float4 tile[NEAR];
    const unsigned int n = population->n, t = threadIdx.x, base = blockIdx.x * NEAR;
    if (base >= n) return;
    for (unsigned int i = t; i < NEAR; i += 64) tile[i] = base + i < n ? ((const float4*)sorted)[base + i] : empty_site();
    __syncthreads();
    float x[4], h[4];
    Four sum = {};
    for (int q = 0; q < 4; ++q) {
        const float4 site = tile[t + q * 64];
        x[q] = base + t + q * 64 < n ? site.x : 0.0f; // inf - inf is NaN
        h[q] = site.y;
    }
    add_pairs(tile, NEAR, x, h, sum);
    for (int q = 0; q < 4; ++q)
        if (base + t + q * 64 < n) ((float4*)near_sums)[base + t + q * 64] = make_float4(sum.re[q], sum.im[q], sum.d[q], 0.0f);
}

// Layout of the sums over whole units of a level. A unit is 1024 elements, or a half if that is smaller; each half has
// one entry per unit and one after the last, two float4 each: sums before the unit, and after it.
struct Level { unsigned int bits, unit_bits, units, halves, first; };

__device__ inline Level next_level(Level l, unsigned int room) {
    const unsigned int bits = l.bits + 1, first = l.first + l.halves * (l.units + 1);
    return {bits, min(bits, CHUNK_BITS), bits > CHUNK_BITS ? 1u << (bits - CHUNK_BITS) : 1u, room >> bits, first};
}

__device__ inline Level level_of(unsigned int level, unsigned int room) {
    Level l = {NEAR_BITS, NEAR_BITS, 1, room >> NEAR_BITS, 0};
    while (level--) l = next_level(l, room);
    return l;
}

struct Three { float x, y, z; };

__device__ inline Three operator+(Three a, Three b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }

__device__ inline Three shift_up(Three v, int d) {
    return {__shfl_up_sync(ALL_LANES, v.x, d), __shfl_up_sync(ALL_LANES, v.y, d), __shfl_up_sync(ALL_LANES, v.z, d)};
}

__device__ inline Three shift_down(Three v, int d) {
    return {__shfl_down_sync(ALL_LANES, v.x, d), __shfl_down_sync(ALL_LANES, v.y, d), __shfl_down_sync(ALL_LANES, v.z, d)};
}

__device__ inline Three of_lane(Three v, int lane) {
    return {__shfl_sync(ALL_LANES, v.x, lane), __shfl_sync(ALL_LANES, v.y, lane), __shfl_sync(ALL_LANES, v.z, lane)};
}

// Two rows of 32 lanes per warp: enough warps to hide the latency of two dependent reads.
constexpr unsigned int SCAN_ROWS = 2, SCAN_WARPS = CHUNK / (32 * SCAN_ROWS);

extern "C" __global__ void scan_far(const PopulationCounts* __restrict__ population, unsigned int room, const float* __restrict__ sorted, const unsigned int* __restrict__ orders, float* __restrict__ records, float* __restrict__ offsets) {
    __shared__ Three before[SCAN_WARPS], behind[SCAN_WARPS];
    const unsigned int n = population->n, level = blockIdx.x / (room / CHUNK), start = blockIdx.x % (room / CHUNK) * CHUNK;
    const Level l = level_of(level, room);
    if (start >= n || (1u << l.bits) >= n) return;
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, first = start + warp * 32 * SCAN_ROWS;
    // Up: running sums of e^H; down: of e^-H.
    Three up[SCAN_ROWS], down[SCAN_ROWS];
    for (int row = 0; row < SCAN_ROWS; ++row) {
        const unsigned int i = first + row * 32 + lane;
        up[row] = down[row] = {0.0f, 0.0f, 0.0f};
        if (i >= n) continue;
        const unsigned int own = i >> l.bits, upper = (own | 1) << l.bits;
        if (upper >= n && (own & 1) == 0) continue; // a lower half without an upper one
        const float4 site = ((const float4*)sorted)[orders[level * room + i]];
        const float away = fabsf(site.x - sorted[4 * upper]);
        const float grown = ex2(site.y - away), shrunk = ex2(-site.y - away);
        up[row] = {grown * site.z, grown * site.w, grown};
        down[row] = {shrunk * site.z, shrunk * site.w, shrunk};
    }
    Three carry = {0.0f, 0.0f, 0.0f};
    for (int row = 0; row < SCAN_ROWS; ++row) {
        Three sum = up[row];
        for (int d = 1; d < 32; d *= 2) {
            const Three other = shift_up(sum, d);
            if (lane >= d) sum = sum + other;
        }
        const Three whole = of_lane(sum, 31), left = shift_up(sum, 1);
        up[row] = lane == 0 ? carry : carry + left; // exclusive
        carry = carry + whole;
    }
    if (lane == 0) before[warp] = carry;
    carry = {0.0f, 0.0f, 0.0f};
    for (int row = SCAN_ROWS - 1; row >= 0; --row) {
        Three sum = down[row];
        for (int d = 1; d < 32; d *= 2) {
            const Three other = shift_down(sum, d);
            if (lane + d < 32) sum = sum + other;
        }
        down[row] = carry + sum; // inclusive
        carry = carry + of_lane(sum, 0);
    }
    if (lane == 0) behind[warp] = carry;
    __syncthreads();
    const unsigned int warps = (1u << l.unit_bits) / (32 * SCAN_ROWS), from = warp / warps * warps;
    Three lower = {0.0f, 0.0f, 0.0f}, higher = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
    for (unsigned int w = from; w < warp; ++w) lower = lower + before[w];
#pragma unroll 1
    for (unsigned int w = from + warps - 1; w > warp; --w) higher = higher + behind[w];
    // A record is two float4. Neighbouring lanes write the halves of one, so that every store fills whole sectors.
    for (int row = 0; row < SCAN_ROWS; ++row) {
        const Three a = lower + up[row], b = higher + down[row];
        for (int half = 0; half < 2; ++half) {
            const int source = half * 16 + (lane >> 1);
            const Three low = of_lane(a, source), high = of_lane(b, source), mine = (lane & 1) ? high : low;
            const unsigned int i = first + row * 32 + source;
            if (i >= n) continue;
            float4* record = (float4*)records + 2 * ((size_t)level * room + i) + (lane & 1);
            *record = make_float4(mine.x, mine.y, mine.z, 0.0f);
        }
    }
    // The last warp of a unit has its total of the upward sums, the first warp that of the downward sums.
    const unsigned int half = first >> l.bits, unit = (first - (half << l.bits)) >> l.unit_bits;
    float4* entry = (float4*)offsets + 2 * (l.first + half * (l.units + 1) + unit);
    if (lane == 0 && warp == from + warps - 1) {
        const Three all = lower + before[warp];
        entry[0] = make_float4(all.x, all.y, all.z, 0.0f);
    }
    if (lane == 0 && warp == from) {
        const Three all = higher + behind[warp];
        entry[1] = make_float4(all.x, all.y, all.z, 0.0f);
    }
}

// One warp per half and component, 32 units at a time.
extern "C" __global__ void scan_far_offsets(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int levels, float* __restrict__ offsets) {
    const unsigned int n = population->n, lane = threadIdx.x & 31, task = thread_index() / 32, component = task & 7;
    unsigned int half = task / 8, level = 0;
    Level l = level_of(0, room);
    for (; level < levels && half >= l.halves; ++level, l = next_level(l, room)) half -= l.halves;
    if (level == levels || (1u << l.bits) >= n || half << l.bits >= n || (component & 3) == 3) return;
    const unsigned int length = min(1u << l.bits, n - (half << l.bits));
    const unsigned int filled = (length + (1u << l.unit_bits) - 1) >> l.unit_bits;
    // Components 0 to 2 go up, from the first unit on; 4 to 6 go down, from the last.
    const bool down = component >= 4;
    float* entries = offsets + 8 * (size_t)(l.first + half * (l.units + 1)) + component;
    double carry = 0.0;
    for (unsigned int base = 0; base < filled; base += 32) {
        const unsigned int at = base + lane, unit = down ? filled - 1 - at : at;
        const double own = at < filled ? (double)entries[8 * unit] : 0.0;
        double sum = own;
        for (int d = 1; d < 32; d *= 2) {
            const double other = __shfl_up_sync(ALL_LANES, sum, d);
            if (lane >= d) sum += other;
        }
        if (at < filled) entries[8 * unit] = (float)(carry + (sum - own));
        carry += __shfl_sync(ALL_LANES, sum, 31);
    }
    if (lane == 0) entries[8 * l.units] = down ? 0.0f : (float)carry;
}

extern "C" __global__ void gather_far(const PopulationCounts* __restrict__ population, unsigned int room, unsigned int levels, unsigned int from, const unsigned int* __restrict__ by_x, const float* __restrict__ sorted, const unsigned int* __restrict__ ranks, const float* __restrict__ records, const float* __restrict__ offsets, const float* __restrict__ near_sums, float* __restrict__ sums) {
    const unsigned int n = population->n, p = thread_index();
    if (p >= n) return;
    const float4 site = ((const float4*)sorted)[p], close = ((const float4*)near_sums)[p];
    float re = close.x, im = close.y, d = close.z;
    Level l = level_of(0, room);
    for (unsigned int level = 0; level < levels && (1u << l.bits) < n; ++level, l = next_level(l, room)) {
        const unsigned int own = p >> l.bits, other = own ^ 1, start = other << l.bits;
        if (start >= n) continue;
        const unsigned int length = min(1u << l.bits, n - start), rank = ranks[level * room + p];
        const unsigned int unit = rank < length ? rank >> l.unit_bits : l.units;
        const float away = fabsf(site.x - sorted[4 * (max(own, other) << l.bits)]);
        const float shrunk = ex2(-site.y - away), grown = ex2(site.y - away);
        const float4* entry = (const float4*)offsets + 2 * (l.first + other * (l.units + 1) + unit);
        float4 low = entry[0], high = entry[1];
        if (rank < length) {
            const float4* record = (const float4*)records + 2 * ((size_t)level * room + start + rank);
            const float4 a = record[0], b = record[1];
            low = make_float4(low.x + a.x, low.y + a.y, low.z + a.z, 0.0f);
            high = make_float4(high.x + b.x, high.y + b.y, high.z + b.z, 0.0f);
        }
        re = fmaf(shrunk, low.x, fmaf(grown, high.x, re));
        im = fmaf(shrunk, low.y, fmaf(grown, high.y, im));
        d = fmaf(shrunk, low.z, fmaf(grown, high.z, d));
    }
    const float s_re = fmaf(site.z, re, site.w * im), s_im = fmaf(site.z, im, -(site.w * re));
    ((float4*)sums)[by_x[from * room + p]] = make_float4(s_re, s_im, d, sqrtf(fmaf(re, re, im * im)) / d);
}
