// The largest of many keys, ties to the lower slot: radix selection by 11, 11 and 10 bits, then a list of what lies
// above the threshold and of as many ties as are wanted. Counts are integers, so no order of threads matters; `decide`
// (turnover.cu) sorts the list.
//
// Choice 0 are those to fuse, choice 1 those to decay, choice 2 is the median. Before there is anyone to fuse, choice 0
// are the fittest, who answer together while their weights are still there; the marks this leaves are wiped by
// `key_fusion`.
#include "gen/nuclei-select.cuh"
#include "nuclei/math.cuh"
#include "nuclei/blocks.cuh"
#include "nuclei/table.cuh"

constexpr unsigned int KEYS = 2048, BINS = 2048, MOST = 4096;

__device__ inline void want(Choice* choice, unsigned int count) { *choice = {count, 0, 0, 0, 0, 0}; }

extern "C" __global__ void key_fusion(const Census* __restrict__ census, const Climate* __restrict__ climate, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, Choice* __restrict__ choices) {
    const unsigned int i = thread_index(), n = census->n;
    if (i == 0) want(&choices[0], min(rules->m_fuse, n));
    if (i >= n) return;
    const unsigned int slot = idx[i], places = rules->places;
    const float f = fields[F * places + slot], h = fields[H * places + slot];
    const double novel = (double)h - ((double)f - climate->mean_f) / climate->t;
    keys[i] = ordered(rules->fuse_key == 0 ? (float)novel : rules->fuse_key == 1 ? h : -f);
    tags[MARK * places + slot] = 0;
}

extern "C" __global__ void key_decay(const Census* __restrict__ census, const Rules* __restrict__ rules, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const unsigned int* __restrict__ tags, unsigned int* __restrict__ keys, Choice* __restrict__ choices) {
    const unsigned int i = thread_index(), n = census->n;
    if (i == 0) {
        const unsigned int share = (unsigned int)ceil(rules->worst_share * n);
        want(&choices[1], min(max(rules->k_worst, share), n - choices[0].want));
        want(&choices[2], n - n / 2); // the key of this rank from above is that of rank n / 2 from below
    }
    if (i >= n) return;
    const unsigned int slot = idx[i], places = rules->places;
    keys[i] = tags[MARK * places + slot] ? 0 : ordered(fields[F * places + slot]);
}

extern "C" __global__ void key_fitness(const Census* __restrict__ census, unsigned int places, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys) {
    const unsigned int i = thread_index();
    if (i < census->n) keys[i] = ordered(fields[F * places + idx[i]]);
}

extern "C" __global__ void count_digits(const Census* __restrict__ census, unsigned int which, unsigned int digit, const unsigned int* __restrict__ keys, unsigned int* __restrict__ histogram, Choice* __restrict__ choices) {
    __shared__ unsigned int bins[BINS], warps[8];
    __shared__ bool is_last;
    const unsigned int n = census->n, t = threadIdx.x, first = blockIdx.x * KEYS;
    if (first >= n && blockIdx.x > 0) return;
    const unsigned int shift = digit == 0 ? 21 : digit == 1 ? 10 : 0, above_shift = digit == 1 ? 21 : 10;
    const unsigned int width = digit == 2 ? 1024 : 2048, prefix = choices[which].prefix;
    for (unsigned int b = t; b < BINS; b += 256) bins[b] = 0;
    __syncthreads();
    for (unsigned int i = first + t; i < min(first + KEYS, n); i += 256) {
        const unsigned int key = keys[i];
        if (digit == 0 || key >> above_shift == prefix) atomicAdd(&bins[key >> shift & (width - 1)], 1u);
    }
    __syncthreads();
    for (unsigned int b = t; b < width; b += 256)
        if (bins[b]) atomicAdd(&histogram[b], bins[b]);
    __threadfence();
    __syncthreads();
    if (t == 0) is_last = atomicAdd(&choices[which].done, 1u) == max((n + KEYS - 1) / KEYS, 1u) - 1;
    __syncthreads();
    if (!is_last) return;
    // Whoever comes last has all counts: it finds the bin of the threshold, from the top, and clears up.
    const unsigned int each = width / 256, wanted = choices[which].want - choices[which].above;
    unsigned int own[8], sum = 0;
    for (unsigned int e = 0; e < each; ++e) {
        own[e] = atomicExch(&histogram[width - 1 - (t * each + e)], 0u);
        sum += own[e];
    }
    Scan scan = scan_block(sum, warps);
    if (wanted == 0) {
        if (t == 0) choices[which].prefix = 0xffffffffu, choices[which].done = 0; // nothing lies above that
        return;
    }
    for (unsigned int e = 0; e < each; ++e) {
        if (scan.before < wanted && wanted <= scan.before + own[e]) {
            choices[which].prefix = prefix << (digit == 2 ? 10 : 11) | (width - 1 - (t * each + e));
            choices[which].above += scan.before;
            choices[which].ties = wanted - scan.before;
            choices[which].done = 0;
        }
        scan.before += own[e];
    }
}

__device__ inline unsigned long long listed(unsigned int key, unsigned int slot) {
    return (unsigned long long)~key << 32 | slot;
}

extern "C" __global__ void collect_above(const Census* __restrict__ census, unsigned int places, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, unsigned int* __restrict__ ties, Choice* __restrict__ choices) {
    __shared__ unsigned int warps[8];
    const unsigned int n = census->n, first = blockIdx.x * KEYS, threshold = choices[which].prefix;
    if (first >= n) return;
    unsigned int equal = 0;
    for (unsigned int i = first + threadIdx.x; i < min(first + KEYS, n); i += 256) {
        const unsigned int key = keys[i];
        if (key == threshold) ++equal;
        if (key <= threshold) continue;
        const unsigned int at = atomicAdd(&choices[which].count, 1u);
        if (at < MOST) chosen[which * MOST + at] = listed(key, idx[i]);
        tags[MARK * places + idx[i]] = 1;
    }
    const Scan scan = scan_block(equal, warps);
    if (threadIdx.x == 0) ties[blockIdx.x] = scan.all;
}

extern "C" __global__ void collect_ties(const Census* __restrict__ census, unsigned int places, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, const unsigned int* __restrict__ ties, const Choice* __restrict__ choices) {
    __shared__ unsigned int warps[8];
    const unsigned int n = census->n, first = blockIdx.x * KEYS, t = threadIdx.x;
    const Choice choice = choices[which];
    if (first >= n || choice.want == 0) return;
    unsigned int rank = sum_before(ties, blockIdx.x, warps), own = 0;
    if (rank >= choice.ties) return;
    for (unsigned int i = first + 8 * t; i < min(first + 8 * t + 8, n); ++i) own += keys[i] == choice.prefix;
    rank += scan_block(own, warps).before;
    for (unsigned int i = first + 8 * t; i < min(first + 8 * t + 8, n) && rank < choice.ties; ++i) {
        if (keys[i] != choice.prefix) continue;
        const unsigned int at = choice.above + rank++;
        if (at < MOST) chosen[which * MOST + at] = listed(keys[i], idx[i]);
        tags[MARK * places + idx[i]] = 1;
    }
}

extern "C" __global__ void take_median(const Census* __restrict__ census, const Choice* __restrict__ choices, Climate* __restrict__ climate) {
    const unsigned int key = choices[2].prefix;
    const unsigned int bits = key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu);
    climate->median_f = census->n ? __int_as_float((int)bits) : 0.0f;
}

extern "C" __global__ void key_fittest(const Census* __restrict__ census, unsigned int places, unsigned int most, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, Choice* __restrict__ choices) {
    const unsigned int i = thread_index(), n = census->n;
    if (i == 0) want(&choices[0], min(most, n));
    if (i < n) keys[i] = ordered(-fields[F * places + idx[i]]);
}

// The answers are added up by ascending key and slot, whatever order they were listed in: the same bits every time.
extern "C" __global__ void answer_together(const Equations* __restrict__ of, const Choice* __restrict__ choices, const unsigned long long* __restrict__ chosen, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, unsigned int* __restrict__ order, Climate* __restrict__ climate) {
    __shared__ double warps[8];
    const unsigned int k = choices[0].want, t = threadIdx.x;
    for (unsigned int e = t; e < k; e += 256) {
        unsigned int rank = 0;
        for (unsigned int other = 0; other < k; ++other) rank += chosen[other] < chosen[e];
        order[rank] = (unsigned int)chosen[e];
    }
    __syncthreads();
    double total = 0.0;
    for (unsigned int row = t; row < of->rows; row += 256) {
        double answers = 0.0;
        for (unsigned int e = 0; e < k; ++e) {
            const float* weights = w + (size_t)order[e] * of->stride;
            float p = 0.0f;
            for (unsigned int c = 0; c < of->inputs; ++c) p = fmaf(x[(size_t)c * of->rows + row], weights[c], p);
            answers += of->saturating ? tanhf(p / 1000.0f) * 1000.0f : p;
        }
        const double miss = answers / k - y[row];
        total += miss * miss;
    }
    total = block_sum(total, warps);
    if (t == 0) climate->together_f = (float)((of->rest + total) / of->samples);
}
