// Fitness on tensor cores, for at most 128 weights stored in 16 bits (f16 or bf16): 16 nuclei per warp, with weights in
// registers, evaluated on all rows, 64 rows at a time from shared memory. The host splits each input into two 16-bit
// numbers, the second being the rounding error of the first, for single precision accuracy; squares are summed in
// registers. Below compute capability 8.0 scalar code computes the same.
//
// Measured on an H200 with 2 us of events, 1024 samples: 259,643 nuclei of 32 weights 172 us (evaluate_fitness_128: 903),
// 64,916 of 128 weights 165 us (evaluate_fitness_64: 1148), either format; error relative to the mean f at most 1.0e-6
// for f16 and 2.6e-6 for bf16, excluding the rounding of the weights.
//
// The number of steps of 16 inputs is a compile-time constant, so that fragments stay in registers.
#include "gen/nuclei-fitness_mma.cuh"
#include "nuclei/math.cuh"
#include "nuclei/storage.cuh"
#include "nuclei/table.cuh"
#if __CUDA_ARCH__ >= 800
#include "nuclei/mma.cuh"
#endif

constexpr unsigned int ROWS = 64;

__device__ inline unsigned int pack(float low, float high, bool is_f16) {
    if (is_f16) return f16_bits(low) | f16_bits(high) << 16;
    const unsigned int a = (unsigned int)__float_as_int(stored(low, 2)), b = (unsigned int)__float_as_int(stored(high, 2));
    return a >> 16 | b;
}

// Sums of squared errors of 16 nuclei on 64 rows; `weights` are fragments, `first` and `second` the split inputs.
template <int STEPS, bool IS_F16>
__device__ inline void add_squares(const unsigned int (&weights)[STEPS][4], const unsigned short (*first)[16 * STEPS + 8], const unsigned short (*second)[16 * STEPS + 8], const float* targets, const TaskEquations* of, float (&sum)[2]) {
#if __CUDA_ARCH__ >= 800
    const unsigned int g = (threadIdx.x & 31) / 4, t = threadIdx.x & 3;
    const float scale = of->unscale;
    const bool saturating = of->saturating;
    for (unsigned int tile = 0; tile < ROWS; tile += 8) {
        float answer[4] = {};
#pragma unroll
        for (int s = 0; s < STEPS; ++s) {
            const unsigned short *high = &first[tile + g][16 * s + 2 * t], *low = &second[tile + g][16 * s + 2 * t];
            const unsigned int h0 = *(const unsigned int*)high, h1 = *(const unsigned int*)(high + 8);
            const unsigned int l0 = *(const unsigned int*)low, l1 = *(const unsigned int*)(low + 8);
            if (IS_F16) {
                mma_f16(answer, weights[s], l0, l1);
                mma_f16(answer, weights[s], h0, h1);
            } else {
                mma_bf16(answer, weights[s], l0, l1);
                mma_bf16(answer, weights[s], h0, h1);
            }
        }
        for (int c = 0; c < 4; ++c) {
            float p = answer[c] * scale;
            if (saturating) p = tanhf(p / 1000.0f) * 1000.0f;
            const float error = p - targets[tile + 2 * t + (c & 1)];
            sum[c >> 1] = fmaf(error, error, sum[c >> 1]);
        }
    }
#endif
}

// Scalar version for devices without these instructions: lane l evaluates nucleus l / 2 of its warp on every second row.
template <int STEPS>
__device__ inline float add_squares_scalar(const float* row, const unsigned short (*first)[16 * STEPS + 8], const unsigned short (*second)[16 * STEPS + 8], const float* targets, const TaskEquations* of, bool is_f16) {
    float sum = 0.0f;
    for (unsigned int b = threadIdx.x & 1; b < ROWS; b += 2) {
        float p = 0.0f;
        for (unsigned int c = 0; c < of->inputs; ++c) {
            const unsigned int h = first[b][c], l = second[b][c];
            const float x = is_f16 ? f16_value(h) + f16_value(l) : __int_as_float((int)(h << 16)) + __int_as_float((int)(l << 16));
            p = fmaf(stored(row[c], of->storage), x, p);
        }
        p *= of->unscale;
        if (of->saturating) p = tanhf(p / 1000.0f) * 1000.0f;
        sum = fmaf(p - targets[b], p - targets[b], sum);
    }
    return sum;
}

template <int STEPS>
__device__ inline void measure(const PopulationCounts* population, const TaskEquations* of, const unsigned int* idx, const unsigned short* x, const float* y, const float* w, float* fields) {
    __shared__ __align__(16) unsigned short first[ROWS][16 * STEPS + 8], second[ROWS][16 * STEPS + 8];
    __shared__ float targets[ROWS];
    const unsigned int n = population->n, t = threadIdx.x, lane = t & 31, base = blockIdx.x * 128 + t / 32 * 16;
    if (blockIdx.x * 128 >= n) return;
    const bool is_f16 = of->storage == 1;
#if __CUDA_ARCH__ >= 800
    unsigned int weights[STEPS][4];
    float sum[2] = {};
    for (int half = 0; half < 2; ++half) {
        const float* row = w + (size_t)idx[min(base + lane / 4 + 8 * half, n - 1)] * of->stride;
#pragma unroll
        for (int s = 0; s < STEPS; ++s)
            for (int part = 0; part < 2; ++part) {
                const unsigned int c = 16 * s + 8 * part + 2 * (lane & 3);
                const float2 two = c < of->stride ? *(const float2*)(row + c) : make_float2(0.0f, 0.0f);
                weights[s][2 * part + half] = pack(two.x, two.y, is_f16);
            }
    }
#else
    float sum = 0.0f;
#endif
    // Rows are padded to multiples of 64, columns to 16 STEPS, with zeros.
    for (unsigned int row = 0; row < of->rows; row += ROWS) {
        __syncthreads();
        for (unsigned int i = t; i < ROWS * 2 * STEPS; i += 256) {
            const unsigned int r = i / (2 * STEPS), c = i % (2 * STEPS) * 8;
            const size_t at = (size_t)(row + r) * 16 * STEPS + c;
            *(uint4*)&first[r][c] = *(const uint4*)(x + at);
            *(uint4*)&second[r][c] = *(const uint4*)(x + (size_t)of->rows * 16 * STEPS + at);
        }
        if (t < ROWS) targets[t] = y[row + t];
        __syncthreads();
#if __CUDA_ARCH__ >= 800
        if (is_f16) add_squares<STEPS, true>(weights, first, second, targets, of, sum);
        else add_squares<STEPS, false>(weights, first, second, targets, of, sum);
#else
        const float* own = w + (size_t)idx[min(base + lane / 2, n - 1)] * of->stride;
        sum += add_squares_scalar<STEPS>(own, first, second, targets, of, is_f16);
#endif
    }
#if __CUDA_ARCH__ >= 800
    for (int half = 0; half < 2; ++half) {
        for (int d = 1; d < 4; d *= 2) sum[half] += __shfl_xor_sync(ALL_LANES, sum[half], d);
        const unsigned int i = base + lane / 4 + 8 * half;
        if ((lane & 3) == 0 && i < n) fields[F * of->n_slots + idx[i]] = (float)((of->rest + sum[half]) / of->samples);
    }
#else
    sum += __shfl_xor_sync(ALL_LANES, sum, 1);
    const unsigned int i = base + lane / 2;
    if ((lane & 1) == 0 && i < n) fields[F * of->n_slots + idx[i]] = (float)((of->rest + sum) / of->samples);
#endif
}

extern "C" __global__ void evaluate_fitness_mma_32(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<2>(population, of, idx, x, y, w, fields);
}

extern "C" __global__ void evaluate_fitness_mma_64(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<4>(population, of, idx, x, y, w, fields);
}

extern "C" __global__ void evaluate_fitness_mma_128(const PopulationCounts* __restrict__ population, const TaskEquations* __restrict__ of, const unsigned int* __restrict__ idx, const unsigned short* __restrict__ x, const float* __restrict__ y, const float* __restrict__ w, float* __restrict__ fields) {
    measure<8>(population, of, idx, x, y, w, fields);
}
