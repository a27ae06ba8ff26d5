// Cross-entropy of logits and its gradient, in f32 arithmetic. `T` is defined by the file that includes this.
//
// A row is read once for the maximum and the sum of exponentials together (online softmax: Milakov and Gimelshein,
// 2018), and once more for the gradient: from shared memory if the rows of two blocks per SM fit, otherwise mostly from
// the cache. Threads process the same columns in the same order in both cases.
//
// 8192 x 50304 of bf16 on an H200, microseconds with and without the gradient (share of 4.8 TB/s; copying reaches 81
// %):
//   expf, bf16 by integers, blocks of 512 in turns over rows   774 (44 %)   394 (44 %)
//   powers of two, bf16 by cvt, a block of 512 per row         562 (61 %)   237 (73 %)
//   blocks of 1024, one per multiprocessor                     631          381
//   rows in shared memory, a block of 512 per row: this        413 (83 %)   217 (79 %)
//   (with x log2(e) - top in one operation, which is not exact for one token; this file with it: 428, 210)
//   the same in turns                                          444          239
//   blocks of 256, of 1024                                     430, 414     239, 256
//   blocks of 1024, one per multiprocessor                     492          325
#pragma once
#include "nn/groups.cuh"

constexpr unsigned int WARP_MASK = 0xffffffffu;
constexpr float LOWEST = -3.402823466e38f;

__device__ inline float minus_infinity() { return __int_as_float((int)0xff800000u); }

__device__ __forceinline__ float exponential(float x) { return power_of_two(x * LOG2_E); }

// Sum of exp(x - top); `top` is the largest x, or LOWEST if there is none.
struct SumOfExp {
    float top, sum;

    __device__ __forceinline__ void take(const Group<T>& g) {
        float largest = g.x[0];
#pragma unroll
        for (unsigned int i = 1; i < Group<T>::N; ++i) largest = fmaxf(largest, g.x[i]);
        const float larger = fmaxf(top, largest);
        sum *= exponential(top - larger);
        top = larger;
#pragma unroll
        for (unsigned int i = 0; i < Group<T>::N; ++i) sum += exponential(g.x[i] - top);
    }
    __device__ __forceinline__ void merge(float other, float other_sum) {
        const float larger = fmaxf(top, other);
        sum = fmaf(sum, exponential(top - larger), __fmul_rn(other_sum, exponential(other - larger)));
        top = larger;
    }
    // Merges the lanes of a warp in a fixed order; every lane gets the total of lane 0.
    __device__ __forceinline__ void merge_lanes() {
#pragma unroll
        for (unsigned int step = 16; step > 0; step /= 2)
            merge(__shfl_down_sync(WARP_MASK, top, step), __shfl_down_sync(WARP_MASK, sum, step));
        top = __shfl_sync(WARP_MASK, top, 0);
        sum = __shfl_sync(WARP_MASK, sum, 0);
    }
    __device__ __forceinline__ float loss(float at_target) const { return logf(sum) + (top - at_target); }
    __device__ __forceinline__ float lse() const { return top + logf(sum); }
};

// Copies 16 bytes to shared memory asynchronously; the thread may read them after wait_for_copies.
__device__ __forceinline__ void copy_to_shared(uint4* to, const uint4* from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned int)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#else
    *to = *from;
#endif
}
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int LEFT>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
#endif
}

__device__ __forceinline__ Group<T> widen(const uint4& bits) {
    union { uint4 bits; T x[Group<T>::N]; } all;
    all.bits = bits;
    Group<T> g;
#pragma unroll
    for (unsigned int i = 0; i < Group<T>::N; ++i) g.x[i] = to_float(all.x[i]);
    return g;
}

// One row processed by `threads` threads, of which this is number `thread`. With `kept`, shared memory for the whole
// groups of the row, the row is aligned.
struct Row {
    const CrossEntropyArgs& g;
    T* logits;
    unsigned int thread, threads;
    uint4* kept;

    __device__ inline unsigned int columns(unsigned int column, unsigned int end) const {
        return end - column < Group<T>::N ? end - column : Group<T>::N;
    }
    // Loads logits from a column on; columns beyond the vocabulary are -infinity.
    __device__ __forceinline__ Group<T> load(unsigned int column) const {
        const unsigned int n = columns(column, g.vocab);
        return Group<T>::load(logits + column, n, g.aligned && n == Group<T>::N, minus_infinity());
    }
    template <bool KEEPS>
    __device__ __forceinline__ SumOfExp sum() const {
        SumOfExp s = {LOWEST, 0.0f};
        const unsigned int whole = g.vocab / Group<T>::N;
        if (KEEPS) {
            // Divided into four parts, so that the first are summed while the last are copied.
            const unsigned int part = ((whole + threads - 1) / threads + 3) / 4;
            unsigned int i = thread;
            auto copy = [&]() {
#pragma unroll 4
                for (unsigned int j = 0; j < part; ++j, i += threads) if (i < whole) copy_to_shared(&kept[i], (const uint4*)logits + i);
                commit_copies();
            };
            auto add = [&]() {
#pragma unroll 2
                for (unsigned int j = 0; j < part; ++j, i += threads) if (i < whole) s.take(widen(kept[i]));
            };
            copy(), copy(), copy(), copy();
            i = thread;
            wait_for_copies<3>();
            add();
            wait_for_copies<2>();
            add();
            wait_for_copies<1>();
            add();
            wait_for_copies<0>();
            add();
            // The group at the end of the vocabulary also contains padding.
            if (thread == whole % threads && whole * Group<T>::N < g.vocab) s.take(load(whole * Group<T>::N));
        } else {
#pragma unroll 4
            for (unsigned int column = thread * Group<T>::N; column < g.vocab; column += threads * Group<T>::N) s.take(load(column));
        }
        return s;
    }
    template <bool KEEPS>
    __device__ __forceinline__ void write_gradient(const SumOfExp& s, int target, float scale) const {
        const float factor = target >= 0 ? scale / s.sum : 0.0f;
        const unsigned int group_of_target = target >= 0 ? (unsigned int)target / Group<T>::N : 0xffffffffu;
#pragma unroll 4
        for (unsigned int i = thread; i * Group<T>::N < g.padded; i += threads) {
            const unsigned int column = i * Group<T>::N;
            Group<T> x;
            x.clear();
            if (target >= 0 && column < g.vocab) {
                x = KEEPS && column + Group<T>::N <= g.vocab ? widen(kept[i]) : load(column); // beyond the vocabulary 2^-infinity
#pragma unroll
                for (unsigned int e = 0; e < Group<T>::N; ++e) x.x[e] = exponential(x.x[e] - s.top) * factor;
                if (i == group_of_target)
#pragma unroll
                    for (unsigned int e = 0; e < Group<T>::N; ++e) if (column + e == (unsigned int)target) x.x[e] -= scale;
                if (column + Group<T>::N > g.vocab)
#pragma unroll
                    for (unsigned int e = 0; e < Group<T>::N; ++e) if (column + e >= g.vocab) x.x[e] = 0.0f;
            }
            x.store(logits + column, columns(column, g.padded), g.aligned);
        }
    }
};

// Target of a row: a token, or -1 if the row is not counted.
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
        const Row row = {g, (T*)logits + i * g.padded, lane, 32, nullptr};
        const float at_target = target >= 0 ? to_float(row.logits[target]) : 0.0f;
        SumOfExp s = row.sum<false>();
        s.merge_lanes();
        if (lane == 0) {
            losses[i] = target >= 0 ? s.loss(at_target) : 0.0f;
            lse[i] = s.lse();
        }
        __syncwarp();
        if (g.writes) row.write_gradient<false>(s, target, ((const float*)scale)[0]);
        __syncwarp();
    }
}

// One block per row.
template <bool KEEPS>
__device__ __forceinline__ void row_by_block(const CrossEntropyArgs& g, void* logits, const int* targets, const void* scale, float* losses, float* lse, unsigned int* flag, uint4* kept) {
    __shared__ float tops[32], sums[32];
    const unsigned int lane = threadIdx.x & 31, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    const unsigned long long i = blockIdx.x;
    const int target = target_of(g, targets, i, flag, threadIdx.x == 0);
    const Row row = {g, (T*)logits + i * g.padded, threadIdx.x, blockDim.x, kept};
    const float at_target = target >= 0 ? to_float(row.logits[target]) : 0.0f;
    SumOfExp s = row.sum<KEEPS>();
    s.merge_lanes();
    if (lane == 0) tops[warp] = s.top, sums[warp] = s.sum;
    __syncthreads(); // from here on the logits may be overwritten, too
    // Every warp merges the sums of all warps, in the same order.
    s = {lane < warps ? tops[lane] : LOWEST, lane < warps ? sums[lane] : 0.0f};
    s.merge_lanes();
    if (threadIdx.x == 0) {
        losses[i] = target >= 0 ? s.loss(at_target) : 0.0f;
        lse[i] = s.lse();
    }
    if (g.writes) row.write_gradient<KEEPS>(s, target, ((const float*)scale)[0]);
}

extern "C" __global__ void cross_entropy_large(CrossEntropyArgs g, void* logits, const int* __restrict__ targets,
                                               const void* scale, float* __restrict__ losses,
                                               float* __restrict__ lse, unsigned int* __restrict__ flag) {
    row_by_block<false>(g, logits, targets, scale, losses, lse, flag, nullptr);
}

// One block per row, for rows that fit into shared memory.
extern "C" __global__ void cross_entropy_kept(CrossEntropyArgs g, void* logits, const int* __restrict__ targets,
                                              const void* scale, float* __restrict__ losses,
                                              float* __restrict__ lse, unsigned int* __restrict__ flag) {
    extern __shared__ uint4 kept[];
    row_by_block<true>(g, logits, targets, scale, losses, lse, flag, kept);
}

// One block: adds the losses of counted rows to a total, in an order that depends on the number of rows only.
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

// One block: scale = loss_scale / counted targets, or 0 without any.
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
