// Weights of pairs from the losses of their members, with the arithmetic of src/kinds/evolution/strategy.rs: sums of f64 in the order
// of the pairs, so that weights have the same bits. Every operation is rounded once.
#include "gen/evolution-shaping.cuh"

typedef unsigned long long u64;
typedef long long i64;

constexpr unsigned int TILE = 256;

// Fitness of a pair: loss of - less loss of +.
__device__ inline i64 fitness_of(const u64* losses, unsigned int pair) { return (i64)losses[2 * pair + 1] - (i64)losses[2 * pair]; }

// A thread per pair: its rank in ascending order from -0.5 to 0.5, or its fitness. Equal values have ranks in the order of their
// pairs.
extern "C" __global__ void rank_pairs(unsigned int pairs, unsigned int shaping, const u64* __restrict__ losses, double* __restrict__ shaped) {
    __shared__ i64 others[TILE];
    const unsigned int pair = blockIdx.x * TILE + threadIdx.x;
    const i64 own = pair < pairs ? fitness_of(losses, pair) : 0;
    if (shaping != CENTRED_RANK) {
        if (pair < pairs) shaped[pair] = (double)own;
        return;
    }
    unsigned int rank = 0;
    for (unsigned int from = 0; from < pairs; from += TILE) {
        __syncthreads();
        if (from + threadIdx.x < pairs) others[threadIdx.x] = fitness_of(losses, from + threadIdx.x);
        __syncthreads();
        const unsigned int n = min(TILE, pairs - from);
        for (unsigned int j = 0; j < n; ++j) rank += others[j] < own || (others[j] == own && from + j < pair);
    }
    if (pair < pairs) shaped[pair] = pairs > 1 ? (double)rank / (double)(pairs - 1) - 0.5 : 0.0;
}

// Sum of `pairs` values in their order, in thread 0 of the block; the other threads read ahead.
template <class F> __device__ inline double sum_in_order(unsigned int pairs, double (&tile)[2][TILE], F value) {
    double sum = 0.0;
    const unsigned int t = threadIdx.x;
    if (t < pairs) tile[0][t] = value(t);
    for (unsigned int from = 0, now = 0; from < pairs; from += TILE, now ^= 1) {
        __syncthreads();
        const unsigned int next = from + TILE + t;
        if (next < pairs) tile[now ^ 1][t] = value(next);
        if (t == 0) {
            const unsigned int n = min(TILE, pairs - from);
            for (unsigned int j = 0; j < n; ++j) sum += tile[now][j];
        }
    }
    __syncthreads();
    return sum;
}

// One block: mean and standard deviation.
extern "C" __global__ void measure_fitness(unsigned int pairs, const double* __restrict__ shaped, double* __restrict__ mean_deviation) {
    __shared__ double tile[2][TILE], mean;
    const double n = (double)max(pairs, 1u), sum = sum_in_order(pairs, tile, [&](unsigned int i) { return shaped[i]; });
    if (threadIdx.x == 0) mean = sum / n;
    __syncthreads();
    const double of_all = mean;
    const double squares = sum_in_order(pairs, tile, [&](unsigned int i) {
        const double apart = shaped[i] - of_all;
        return apart * apart;
    });
    if (threadIdx.x == 0) {
        mean_deviation[0] = of_all;
        mean_deviation[1] = sqrt(squares / n);
    }
}

// A thread per pair: its weight in units of 2^-20.
extern "C" __global__ void weigh_pairs(unsigned int pairs, unsigned int shaping, double clip, const double* __restrict__ shaped, const double* __restrict__ mean_deviation, i64* __restrict__ pair_weights) {
    const unsigned int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= pairs) return;
    const double x = shaped[pair];
    double weight = x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : 0.0;
    if (shaping != SIGN) weight = fmin(fmax((x - mean_deviation[0]) / (mean_deviation[1] + 1e-6), -clip), clip);
    pair_weights[pair] = (i64)rint(weight * 1048576.0);
}
