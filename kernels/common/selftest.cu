// Building blocks of all other kernels, compared word for word with the CPU:
// addressed draws, exact functions, order-free sums, and a clock in device memory.
#include "gen/selftest.cuh"
#include "common/exact.cuh"
#include "common/fixed.cuh"
#include "common/philox.cuh"

__device__ inline unsigned int thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void draw_words(const Clock* __restrict__ clock, unsigned int n, unsigned int* __restrict__ words) {
    const unsigned int i = thread_index();
    if (i >= n) return;
    const Words w = draw(clock->seed, clock->purpose, clock->step, i);
    words[4 * i] = w.x;
    words[4 * i + 1] = w.y;
    words[4 * i + 2] = w.z;
    words[4 * i + 3] = w.w;
}

extern "C" __global__ void apply_twins(unsigned int n, const unsigned int* __restrict__ words, unsigned int* __restrict__ bits) {
    const unsigned int i = thread_index();
    if (i >= n) return;
    const unsigned int w = words[i];
    // A normal positive float for ln, one in [-128, 128) for exp, one in [-65536, 65536) for Q16.
    const float positive = __int_as_float((int)(0x00800000u + w % 0x7f000000u));
    const float signed_unit = 2.0f * exact::unit(w) - 1.0f;
    bits[4 * i] = (unsigned int)__float_as_int(exact::normal(w));
    bits[4 * i + 1] = (unsigned int)__float_as_int(exact::ln(positive));
    bits[4 * i + 2] = (unsigned int)__float_as_int(exact::exp(signed_unit * 128.0f));
    bits[4 * i + 3] = (unsigned int)fixed::from_real((double)(signed_unit * 65536.0f));
}

extern "C" __global__ void sum_fixed(unsigned int n, unsigned int n_sums, const unsigned int* __restrict__ words, int* __restrict__ sums) {
    const unsigned int i = thread_index();
    if (i >= n) return;
    const int term = fixed::from_real((double)(2.0f * exact::unit(words[i]) - 1.0f));
    atomicAdd(&sums[words[i] % n_sums], term);
}

extern "C" __global__ void round_elements(unsigned int n, const unsigned int* __restrict__ words, f16* __restrict__ halves, bf16* __restrict__ brains, e4m3* __restrict__ fours, e5m2* __restrict__ fives, float* __restrict__ back) {
    const unsigned int i = thread_index();
    if (i >= n) return;
    // Covers values from below the smallest subnormal number of each format to above the largest.
    const float x = (2.0f * exact::unit(words[i]) - 1.0f) * __int_as_float((int)(127u - 30u + words[i] % 60u) << 23);
    halves[i] = to_f16(x);
    brains[i] = to_bf16(x);
    fours[i] = to_e4m3(x);
    fives[i] = to_e5m2(x);
    back[4 * i] = to_float(halves[i]);
    back[4 * i + 1] = to_float(brains[i]);
    back[4 * i + 2] = to_float(fours[i]);
    back[4 * i + 3] = to_float(fives[i]);
}

extern "C" __global__ void transpose_stack(unsigned int rows, unsigned int columns, unsigned int spare, const unsigned int* __restrict__ from, unsigned int* __restrict__ to) {
    extern __shared__ unsigned int shared[];
    unsigned int* tile = shared + spare;
    const unsigned int pitch = blockDim.x + 1;
    const size_t matrix = (size_t)blockIdx.z * rows * columns;
    const unsigned int row = blockIdx.y * blockDim.y, column = blockIdx.x * blockDim.x;
    if (row + threadIdx.y < rows && column + threadIdx.x < columns)
        tile[threadIdx.y * pitch + threadIdx.x] = from[matrix + (size_t)(row + threadIdx.y) * columns + column + threadIdx.x];
    __syncthreads();
    const unsigned int t = threadIdx.y * blockDim.x + threadIdx.x, x = t % blockDim.y, y = t / blockDim.y;
    if (row + x < rows && column + y < columns)
        to[matrix + (size_t)(column + y) * rows + row + x] = tile[x * pitch + y];
}

extern "C" __global__ void tick(Clock* __restrict__ clock) { clock->step += 1; }
