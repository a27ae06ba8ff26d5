// Cross-entropy of logits and its gradient, in f32 arithmetic. `T` is defined by the file that includes this.
//
// A row is read once for the largest logit and the sum of exponentials together (Milakov and Gimelshein, 2018: the sum is
// rescaled when a larger logit is met), and once more for the gradient, mostly from the cache.
#pragma once
#include "nn/groups.cuh"

constexpr unsigned int WARP_MASK = 0xffffffffu;

__device__ inline float minus_infinity() { return __int_as_float((int)0xff800000u); }

// sum = Σ exp(x - max). Where all x are -infinity, the sum is 0, or NaN with a NaN among them.
struct SumOfExp {
    float max, sum;

    __device__ inline void rescale(float larger) {
        if (larger > max) {
            sum *= expf(max - larger);
            max = larger;
        }
    }
    __device__ inline void take(const Group<T>& g) {
        float largest = g.x[0];
#pragma unroll
        for (unsigned int i = 1; i < Group<T>::N; ++i) largest = fmaxf(largest, g.x[i]);
        rescale(largest);
#pragma unroll
        for (unsigned int i = 0; i < Group<T>::N; ++i)
            sum += g.x[i] == minus_infinity() ? 0.0f : expf(g.x[i] - max);
    }
    __device__ inline void merge(float other_max, float other_sum) {
        rescale(other_max);
        sum += other_max == max ? other_sum : other_sum * expf(other_max - max);
    }
    // The lanes of a warp in a fixed order; every lane gets the total of lane 0.
    __device__ inline void merge_lanes() {
        for (unsigned int step = 16; step > 0; step /= 2)
            merge(__shfl_down_sync(WARP_MASK, max, step), __shfl_down_sync(WARP_MASK, sum, step));
        max = __shfl_sync(WARP_MASK, max, 0);
        sum = __shfl_sync(WARP_MASK, sum, 0);
    }
};

// One row by `threads` threads, of which this is number `thread`.
struct Row {
    const CrossEntropyArgs& g;
    T* logits;
    unsigned int thread, threads;

    __device__ inline unsigned int columns(unsigned int column, unsigned int end) const {
        return end - column < Group<T>::N ? end - column : Group<T>::N;
    }
    __device__ inline SumOfExp sum() const {
        SumOfExp s = {minus_infinity(), 0.0f};
        for (unsigned int column = thread * Group<T>::N; column < g.vocab; column += threads * Group<T>::N) {
            // The group with the end of the vocabulary holds padding too.
            const unsigned int n = columns(column, g.vocab);
            s.take(Group<T>::load(logits + column, n, g.aligned && n == Group<T>::N, minus_infinity()));
        }
        return s;
    }
    __device__ inline void write_gradient(const SumOfExp& s, int target, float scale) const {
        const float factor = target >= 0 ? scale / s.sum : 0.0f;
        for (unsigned int column = thread * Group<T>::N; column < g.padded; column += threads * Group<T>::N) {
            const unsigned int n = columns(column, g.padded);
            Group<T> x = Group<T>::load(logits + column, n, g.aligned);
#pragma unroll
            for (unsigned int i = 0; i < Group<T>::N; ++i) {
                const unsigned int j = column + i;
                float d = expf(x.x[i] - s.max) * factor;
                if (target >= 0 && j == (unsigned int)target) d -= scale;
                x.x[i] = target >= 0 && j < g.vocab ? d : 0.0f;
            }
            x.store(logits + column, n, g.aligned);
        }
    }
};

// The target of a row: a token, or -1 where the row is not counted.
__device__ inline int target_of(const CrossEntropyArgs& g, const int* targets, unsigned long long row, unsigned int* flag, bool notes) {
    const int target = targets[row];
    if (target >= -1 && (target < 0 || (unsigned int)target < g.vocab)) return target;
    if (notes) raise_flag(flag, row);
    return -1;
}

// One warp per row: for small vocabularies.
extern "C" __global__ void cross_entropy_small(CrossEntropyArgs g, void* logits, const int* __restrict__ targets,
                                               const void* scale, float* __restrict__ losses,
                                               float* __restrict__ lse, unsigned int* __restrict__ flag) {
    const unsigned int lane = threadIdx.x & 31;
    const unsigned long long warps = (unsigned long long)gridDim.x * (blockDim.x / 32);
    for (unsigned long long i = (unsigned long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; i < g.rows; i += warps) {
        const int target = target_of(g, targets, i, flag, lane == 0);
        const Row row = {g, (T*)logits + i * g.padded, lane, 32};
        const float at_target = target >= 0 ? to_float(row.logits[target]) : 0.0f;
        SumOfExp s = row.sum();
        s.merge_lanes();
        if (lane == 0) {
            losses[i] = target >= 0 ? logf(s.sum) + (s.max - at_target) : 0.0f;
            lse[i] = s.max + logf(s.sum);
        }
        __syncwarp();
        if (g.writes) row.write_gradient(s, target, ((const float*)scale)[0]);
        __syncwarp();
    }
}

// One block per row.
extern "C" __global__ void cross_entropy_large(CrossEntropyArgs g, void* logits, const int* __restrict__ targets,
                                               const void* scale, float* __restrict__ losses,
                                               float* __restrict__ lse, unsigned int* __restrict__ flag) {
    __shared__ float maxima[32], sums[32];
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned long long i = blockIdx.x; i < g.rows; i += gridDim.x) {
        const int target = target_of(g, targets, i, flag, threadIdx.x == 0);
        const Row row = {g, (T*)logits + i * g.padded, threadIdx.x, blockDim.x};
        const float at_target = target >= 0 ? to_float(row.logits[target]) : 0.0f;
        SumOfExp s = row.sum();
        s.merge_lanes();
        if (lane == 0) maxima[warp] = s.max, sums[warp] = s.sum;
        __syncthreads();
        // Every warp merges the sums of all warps, in the same order.
        s = {lane < warps ? maxima[lane] : minus_infinity(), lane < warps ? sums[lane] : 0.0f};
        s.merge_lanes();
        if (threadIdx.x == 0) {
            losses[i] = target >= 0 ? logf(s.sum) + (s.max - at_target) : 0.0f;
            lse[i] = s.max + logf(s.sum);
        }
        __syncthreads();
        if (g.writes) row.write_gradient(s, target, ((const float*)scale)[0]);
    }
}

// Adds the losses of counted rows to a total, by one block, in an order that depends on the number of rows only.
extern "C" __global__ void add_losses(CrossEntropyArgs g, const float* __restrict__ losses, const int* __restrict__ targets,
                                      LossTotal* __restrict__ total) {
    __shared__ double sums[1024];
    __shared__ unsigned long long counts[1024];
    double sum = 0.0;
    unsigned long long count = 0;
    for (unsigned long long i = threadIdx.x; i < g.rows; i += 1024) {
        const bool is_counted = targets[i] >= 0;
        sum += is_counted ? (double)losses[i] : 0.0;
        count += is_counted;
    }
    sums[threadIdx.x] = sum, counts[threadIdx.x] = count;
    for (unsigned int half = 512; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half], counts[threadIdx.x] += counts[threadIdx.x + half];
    }
    if (threadIdx.x == 0) total->sum += sums[0], total->count += counts[0];
}

// scale = loss_scale / counted targets, or 0 where there are none; by one block.
extern "C" __global__ void set_gradient_scale(CrossEntropyArgs g, const int* __restrict__ targets,
                                              const float* __restrict__ loss_scale, float* __restrict__ scale) {
    __shared__ unsigned long long counts[1024];
    unsigned long long count = 0;
    for (unsigned long long i = threadIdx.x; i < g.rows; i += 1024) count += targets[i] >= 0;
    counts[threadIdx.x] = count;
    for (unsigned int half = 512; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) counts[threadIdx.x] += counts[threadIdx.x + half];
    }
    if (threadIdx.x == 0) scale[0] = counts[0] > 0 ? loss_scale[0] / (float)counts[0] : 0.0f;
}
