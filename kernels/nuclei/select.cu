// Selection of the largest keys, ties to the lower slot: radix selection by 11, 11 and 10 bits, then a list of the keys
// above the threshold and of the required ties. Counts are integers, so results do not depend on the order of threads;
// `decide_events` (turnover.cu) sorts the list.
//
// Selection 0 is for fusion, selection 1 for decay, selection 2 is the median. Before the fusion keys are made, selection
// 0 is the ensemble of the fittest nuclei; `make_fusion_keys` clears the marks it leaves.
#include "gen/nuclei-select.cuh"
#include "nuclei/math.cuh"
#include "nuclei/block_scan.cuh"
#include "nuclei/table.cuh"

constexpr unsigned int KEYS = 2048, BINS = 2048;

__device__ inline void want(TopK* choice, unsigned int count) { *choice = {count, 0, 0, 0, 0, 0}; }

extern "C" __global__ void make_fusion_keys(const PopulationCounts* __restrict__ population, const DeviceStats* __restrict__ stats, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, TopK* __restrict__ top_k) {
    const unsigned int i = thread_index(), n = population->n;
    if (i == 0) want(&top_k[0], min(params->m_fuse, n));
    if (i >= n) return;
    const unsigned int slot = idx[i], n_slots = params->n_slots;
    const float f = fields[F * n_slots + slot], h = fields[H * n_slots + slot];
    const double novel = (double)h - ((double)f - stats->mean_f) / stats->t;
    keys[i] = ordered(params->fuse_key == 0 ? (float)novel : params->fuse_key == 1 ? h : -f);
    tags[MARK * n_slots + slot] = 0;
}

extern "C" __global__ void make_decay_keys(const PopulationCounts* __restrict__ population, const KernelParams* __restrict__ params, const unsigned int* __restrict__ idx, const float* __restrict__ fields, const unsigned int* __restrict__ tags, unsigned int* __restrict__ keys, TopK* __restrict__ top_k) {
    const unsigned int i = thread_index(), n = population->n;
    if (i == 0) {
        const unsigned int share = (unsigned int)ceil(params->worst_share * n);
        want(&top_k[1], min(max(params->k_worst, share), n - top_k[0].want));
        want(&top_k[2], n - n / 2); // the key of this rank from above is that of rank n / 2 from below
    }
    if (i >= n) return;
    const unsigned int slot = idx[i], n_slots = params->n_slots;
    keys[i] = tags[MARK * n_slots + slot] ? 0 : ordered(fields[F * n_slots + slot]);
}

extern "C" __global__ void make_fitness_keys(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys) {
    const unsigned int i = thread_index();
    if (i < population->n) keys[i] = ordered(fields[F * n_slots + idx[i]]);
}

extern "C" __global__ void count_digits(const PopulationCounts* __restrict__ population, unsigned int which, unsigned int digit, const unsigned int* __restrict__ keys, unsigned int* __restrict__ histogram, TopK* __restrict__ top_k) {
    __shared__ unsigned int bins[BINS], warps[8];
    __shared__ bool is_last;
    const unsigned int n = population->n, t = threadIdx.x, first = blockIdx.x * KEYS;
    if (first >= n && blockIdx.x > 0) return;
    const unsigned int shift = digit == 0 ? 21 : digit == 1 ? 10 : 0, above_shift = digit == 1 ? 21 : 10;
    const unsigned int width = digit == 2 ? 1024 : 2048, prefix = top_k[which].prefix;
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
    if (t == 0) is_last = atomicAdd(&top_k[which].done, 1u) == max((n + KEYS - 1) / KEYS, 1u) - 1;
    __syncthreads();
    if (!is_last) return;
    // The last block has all counts: it finds the bin of the threshold from the top, and clears the histogram.
    const unsigned int each = width / 256, wanted = top_k[which].want - top_k[which].above;
    unsigned int own[8], sum = 0;
    for (unsigned int e = 0; e < each; ++e) {
        own[e] = atomicExch(&histogram[width - 1 - (t * each + e)], 0u);
        sum += own[e];
    }
    Scan scan = scan_block(sum, warps);
    if (wanted == 0) {
        if (t == 0) top_k[which].prefix = 0xffffffffu, top_k[which].done = 0; // no key is above this
        return;
    }
    for (unsigned int e = 0; e < each; ++e) {
        if (scan.before < wanted && wanted <= scan.before + own[e]) {
            top_k[which].prefix = prefix << (digit == 2 ? 10 : 11) | (width - 1 - (t * each + e));
            top_k[which].above += scan.before;
            top_k[which].ties = wanted - scan.before;
            top_k[which].done = 0;
        }
        scan.before += own[e];
    }
}

__device__ inline unsigned long long listed(unsigned int key, unsigned int slot) {
    return (unsigned long long)~key << 32 | slot;
}

extern "C" __global__ void collect_above(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, unsigned int* __restrict__ ties, TopK* __restrict__ top_k) {
    __shared__ unsigned int warps[8];
    const unsigned int n = population->n, first = blockIdx.x * KEYS, threshold = top_k[which].prefix;
    if (first >= n) return;
    unsigned int equal = 0;
    for (unsigned int i = first + threadIdx.x; i < min(first + KEYS, n); i += 256) {
        const unsigned int key = keys[i];
        if (key == threshold) ++equal;
        if (key <= threshold) continue;
        const unsigned int at = atomicAdd(&top_k[which].count, 1u);
        if (at < MAX_SELECTED) chosen[which * MAX_SELECTED + at] = listed(key, idx[i]);
        tags[MARK * n_slots + idx[i]] = 1;
    }
    const Scan scan = scan_block(equal, warps);
    if (threadIdx.x == 0) ties[blockIdx.x] = scan.all;
}

extern "C" __global__ void collect_ties(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int which, const unsigned int* __restrict__ idx, const unsigned int* __restrict__ keys, unsigned int* __restrict__ tags, unsigned long long* __restrict__ chosen, const unsigned int* __restrict__ ties, const TopK* __restrict__ top_k) {
    __shared__ unsigned int warps[8];
    const unsigned int n = population->n, first = blockIdx.x * KEYS, t = threadIdx.x;
    const TopK choice = top_k[which];
    if (first >= n || choice.want == 0) return;
    unsigned int rank = sum_before(ties, blockIdx.x, warps), own = 0;
    if (rank >= choice.ties) return;
    for (unsigned int i = first + 8 * t; i < min(first + 8 * t + 8, n); ++i) own += keys[i] == choice.prefix;
    rank += scan_block(own, warps).before;
    for (unsigned int i = first + 8 * t; i < min(first + 8 * t + 8, n) && rank < choice.ties; ++i) {
        if (keys[i] != choice.prefix) continue;
        const unsigned int at = choice.above + rank++;
        if (at < MAX_SELECTED) chosen[which * MAX_SELECTED + at] = listed(keys[i], idx[i]);
        tags[MARK * n_slots + idx[i]] = 1;
    }
}

extern "C" __global__ void store_median(const PopulationCounts* __restrict__ population, const TopK* __restrict__ top_k, DeviceStats* __restrict__ stats) {
    const unsigned int key = top_k[2].prefix;
    const unsigned int bits = key ^ ((key >> 31) ? 0x80000000u : 0xffffffffu);
    stats->median_f = population->n ? __int_as_float((int)bits) : 0.0f;
}

extern "C" __global__ void make_fittest_keys(const PopulationCounts* __restrict__ population, unsigned int n_slots, unsigned int most, const unsigned int* __restrict__ idx, const float* __restrict__ fields, unsigned int* __restrict__ keys, TopK* __restrict__ top_k) {
    const unsigned int i = thread_index(), n = population->n;
    if (i == 0) want(&top_k[0], min(most, n));
    if (i < n) keys[i] = ordered(-fields[F * n_slots + idx[i]]);
}

// Outputs are added by ascending key and slot, for any order of the list: the same bits every time.
extern "C" __global__ void evaluate_ensemble(const TaskEquations* __restrict__ of, const TopK* __restrict__ top_k, const unsigned long long* __restrict__ chosen, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, unsigned int* __restrict__ order, DeviceStats* __restrict__ stats) {
    __shared__ double warps[8];
    const unsigned int k = top_k[0].want, t = threadIdx.x;
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
    if (t == 0) stats->ensemble_f = (float)((of->rest + total) / of->samples);
}
