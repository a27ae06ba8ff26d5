// Fitness f_j = (1/B) sum_b (x_b . w_j - y_b)^2, entropy of the weights, and their statistics over the population.
//
// Predictions are never stored: a block evaluates TN nuclei on all rows, 32 rows at a time, and sums squares. The rows are
// the samples, or, exact and fewer, the triangle R of X = QR with z = Q'y, computed by the host. Rows and columns are
// zero-padded to multiples of 32 and 16. A nucleus belongs to one block, and its rows are assigned to the same warps for
// any TN, so all three sizes give the same bits; small sizes fill a device with few nuclei.
//
// Measured on an H200, error relative to f: 1.3e-7 sample by sample, 1.8e-7 compressed; entropy 2.6e-7. With 2 us of
// events, 259,645 nuclei of 32 weights: evaluate_fitness_128 44 us compressed, 903 us for 1024 samples (28 % of 67 TFLOP/s); entropy
// 19 us. 64,914 nuclei of 128 weights, 1024 samples: evaluate_fitness_64 1148 us (22 %); entropy 12 us (65 % of 4.3 TB/s).
#include "gen/nuclei-fitness.cuh"
#include "nuclei/math.cuh"
#include "nuclei/storage.cuh"
#include "nuclei/table.cuh"

constexpr unsigned int ROWS = 32, COLUMNS = 16;

template <int TN>
__device__ inline void measure(const PopulationCounts* population, const TaskEquations* of, const unsigned int* idx, const float* x, const float* y, const float* w, float* fields) {
    constexpr int Q = TN / 32;
    __shared__ float weights[COLUMNS][TN], inputs[COLUMNS][ROWS], errors[8][TN];
    const unsigned int n = population->n, first = blockIdx.x * TN, t = threadIdx.x, lane = t & 31, warp = t >> 5;
    if (first >= n) return;
    float total[Q] = {};
    for (unsigned int row = 0; row < of->rows; row += ROWS) {
        float answer[4][Q] = {};
        // A triangular matrix is zero before its diagonal.
        for (unsigned int column = of->triangular ? row / COLUMNS * COLUMNS : 0; column < of->columns; column += COLUMNS) {
            __syncthreads();
            for (unsigned int i = t; i < TN * COLUMNS / 4; i += 256) {
                const unsigned int nucleus = i % TN, c = i / TN * 4;
                const unsigned int slot = idx[min(first + nucleus, n - 1)];
                float4 four = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                if (column + c < of->stride) four = *(const float4*)(w + (size_t)slot * of->stride + column + c);
                weights[c][nucleus] = stored(four.x, of->storage);
                weights[c + 1][nucleus] = stored(four.y, of->storage);
                weights[c + 2][nucleus] = stored(four.z, of->storage);
                weights[c + 3][nucleus] = stored(four.w, of->storage);
            }
            for (unsigned int i = t; i < ROWS * COLUMNS; i += 256)
                inputs[i / ROWS][i % ROWS] = x[(size_t)(column + i / ROWS) * of->rows + row + i % ROWS];
            __syncthreads();
#pragma unroll
            for (int c = 0; c < COLUMNS; ++c) {
                const float4 in = *(const float4*)&inputs[c][4 * warp];
#pragma unroll
                for (int q = 0; q < Q; ++q) {
                    const float weight = weights[c][lane + 32 * q];
                    answer[0][q] = fmaf(in.x, weight, answer[0][q]);
                    answer[1][q] = fmaf(in.y, weight, answer[1][q]);
                    answer[2][q] = fmaf(in.z, weight, answer[2][q]);
                    answer[3][q] = fmaf(in.w, weight, answer[3][q]);
                }
            }
        }
        for (int r = 0; r < 4; ++r) {
            const float target = y[row + 4 * warp + r];
            for (int q = 0; q < Q; ++q) {
                const float p = of->saturating ? tanhf(answer[r][q] / 1000.0f) * 1000.0f : answer[r][q];
                total[q] = fmaf(p - target, p - target, total[q]);
            }
        }
    }
    for (int q = 0; q < Q; ++q) errors[warp][lane + 32 * q] = total[q];
    __syncthreads();
    if (t < TN && first + t < n) {
        double sum = of->rest;
        for (int v = 0; v < 8; ++v) sum += errors[v][t];
        fields[F * of->n_slots + idx[first + t]] = (float)(sum / of->samples);
    }
}

extern "C" __global__ void evaluate_fitness_32(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<32>(population, of, idx, x, y, w, fields);
}

extern "C" __global__ void evaluate_fitness_64(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<64>(population, of, idx, x, y, w, fields);
}

extern "C" __global__ void evaluate_fitness_128(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<128>(population, of, idx, x, y, w, fields);
}

extern "C" __global__ void zero_fitness(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, float* __restrict__ fields) {
    const unsigned int i = thread_index();
    if (i < population->n) fields[F * n_slots + idx[i]] = fields[H * n_slots + idx[i]] = 0.0f;
}

// One warp per nucleus, one lane per row: w -= (2 rate / B) X'(X w - y). Weights and gradient are in shared memory.
extern "C" __global__ void step_gradient(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ w) {
    __shared__ float weights[8][MAX_LEARNING], slopes[8][MAX_LEARNING];
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, i = blockIdx.x * 8 + warp, d = of->inputs;
    if (i >= population->n) return;
    float *row = w + (size_t)idx[i] * of->stride, *weight = weights[warp], *slope = slopes[warp];
    for (unsigned int c = lane; c < d; c += 32) weight[c] = row[c], slope[c] = 0.0f;
    __syncwarp();
    for (unsigned int first = 0; first < of->rows; first += 32) {
        const float* samples = x + first + lane;
        const unsigned int from = of->triangular ? first : 0;
        float p = 0.0f;
        for (unsigned int c = from; c < d; ++c) p = fmaf(samples[(size_t)c * of->rows], weight[c], p);
        const float t = of->saturating ? tanhf(p / 1000.0f) : 0.0f, target = y[first + lane];
        const float miss = of->saturating ? (t * 1000.0f - target) * (1.0f - t * t) : p - target;
        for (unsigned int c = from; c < d; ++c) {
            float term = samples[(size_t)c * of->rows] * miss;
            for (int o = 16; o > 0; o >>= 1) term += __shfl_xor_sync(ALL_LANES, term, o);
            if (lane == 0) slope[c] += term;
        }
    }
    __syncwarp();
    for (unsigned int c = lane; c < d; c += 32) row[c] = weight[c] - of->step * slope[c];
}

// Eight lanes read a row, 128 bytes at a time; the second pass hits the L1 cache.
extern "C" __global__ void evaluate_entropy(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const float* __restrict__ w, float* __restrict__ fields) {
    const unsigned int i = thread_index() / 8, lane = threadIdx.x & 7, n = population->n;
    if (n == 0) return;
    const unsigned int slot = idx[min(i, n - 1)], d = of->inputs;
    const float* row = w + (size_t)slot * of->stride;
    float top = -__int_as_float(0x7f800000);
    for (unsigned int c = 4 * lane; c < d; c += 32) {
        const float4 four = *(const float4*)(row + c);
        top = fmaxf(top, four.x);
        if (c + 1 < d) top = fmaxf(top, four.y);
        if (c + 2 < d) top = fmaxf(top, four.z);
        if (c + 3 < d) top = fmaxf(top, four.w);
    }
    for (int o = 4; o > 0; o >>= 1) top = fmaxf(top, __shfl_xor_sync(ALL_LANES, top, o));
    float z = 0.0f, sum = 0.0f;
    for (unsigned int c = 4 * lane; c < d; c += 32) {
        const float4 four = *(const float4*)(row + c);
        const float below[4] = {four.x - top, four.y - top, four.z - top, four.w - top};
        for (int e = 0; e < 4; ++e) {
            const float grown = c + e < d ? ex2(below[e] * LOG2_E) : 0.0f;
            z += grown;
            sum = fmaf(grown, c + e < d ? below[e] : 0.0f, sum);
        }
    }
    for (int o = 4; o > 0; o >>= 1) {
        z += __shfl_xor_sync(ALL_LANES, z, o);
        sum += __shfl_xor_sync(ALL_LANES, sum, o);
    }
    if (lane == 0 && i < n) fields[H * of->n_slots + slot] = fmaxf(logf(z) - sum / z, 0.0f);
}

// Minimum over a block of 256; valid in thread 0.
__device__ inline unsigned long long least_of(unsigned long long key, unsigned long long* warps) {
    for (int d = 16; d > 0; d >>= 1) key = min(key, __shfl_down_sync(ALL_LANES, key, d));
    if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = key;
    __syncthreads();
    for (int v = 1; v < 8; ++v) key = min(key, warps[v]);
    return key;
}

// Mean and sum of squared deviations of f, sum of h, and fittest nucleus of 1024 nuclei per block. The key of f is in the
// upper word and the slot in the lower, so that the minimum is the lowest slot of the lowest f.
extern "C" __global__ void sum_stats(const PopulationCounts* __restrict__ population, unsigned int n_slots, const unsigned int* __restrict__ idx, const float* __restrict__ fields, double* __restrict__ parts, unsigned long long* __restrict__ least) {
    __shared__ double warps[8];
    __shared__ unsigned long long best[8];
    const unsigned int n = population->n, first = blockIdx.x * 1024, t = threadIdx.x;
    if (first >= n) return;
    const unsigned int count = min(1024u, n - first);
    double sum_f = 0.0, sum_h = 0.0;
    unsigned long long key = ~0ull;
    float own[4];
    for (int q = 0; q < 4; ++q) {
        const unsigned int i = t + 256 * q;
        own[q] = 0.0f;
        if (i >= count) continue;
        const unsigned int slot = idx[first + i];
        own[q] = fields[F * n_slots + slot];
        sum_f += own[q];
        sum_h += fields[H * n_slots + slot];
        key = min(key, (unsigned long long)ordered(own[q]) << 32 | slot);
    }
    const double mean = block_total(sum_f, warps) / count;
    double spread = 0.0;
    for (int q = 0; q < 4; ++q)
        if (t + 256 * q < count) spread += (own[q] - mean) * (own[q] - mean);
    spread = block_sum(spread, warps);
    sum_h = block_sum(sum_h, warps);
    key = least_of(key, best);
    if (t != 0) return;
    parts[3 * blockIdx.x] = mean;
    parts[3 * blockIdx.x + 1] = spread;
    parts[3 * blockIdx.x + 2] = sum_h;
    least[blockIdx.x] = key;
}

extern "C" __global__ void reduce_stats(const PopulationCounts* __restrict__ population, unsigned int n_slots, const float* __restrict__ fields, const double* __restrict__ parts, const unsigned long long* __restrict__ least, DeviceStats* __restrict__ stats) {
    __shared__ double warps[8];
    __shared__ unsigned long long best[8];
    const unsigned int n = population->n, blocks = (n + 1023) / 1024, t = threadIdx.x;
    double sum_f = 0.0, sum_h = 0.0;
    unsigned long long key = ~0ull;
    for (unsigned int b = t; b < blocks; b += 256) {
        sum_f += parts[3 * b] * min(1024u, n - b * 1024);
        sum_h += parts[3 * b + 2];
        key = min(key, least[b]);
    }
    const double mean = block_total(sum_f, warps) / n;
    double spread = 0.0;
    for (unsigned int b = t; b < blocks; b += 256) {
        const double off = parts[3 * b] - mean;
        spread += parts[3 * b + 1] + off * off * min(1024u, n - b * 1024);
    }
    spread = block_sum(spread, warps);
    sum_h = block_sum(sum_h, warps);
    key = least_of(key, best);
    if (t != 0) return;
    stats->mean_f = n ? mean : 0.0;
    stats->std_f = n > 1 ? sqrt(spread / (n - 1)) : 0.0;
    stats->t = 1.0 + stats->std_f;
    stats->per_t = 1.4426950408889634 / stats->t;
    stats->mean_h = n ? sum_h / n : 0.0;
    stats->best = n ? (unsigned int)key : 0;
    stats->min_f = n ? fields[F * n_slots + (unsigned int)key] : __int_as_float(0x7f800000);
}
