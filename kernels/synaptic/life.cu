// The life cycle of experts: what their scores take from a step, and edits of ranges of parameters. src/kinds/synaptic/life is the
// definition. Everything but sums over many elements has the bits of the CPU.
#include "common/normal.cuh"
#include "common/philox.cuh"
#include "gen/synaptic-life.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;

// Sum over a block of up to 1024 threads, for all of them.
__device__ __forceinline__ double block_sum(double x) {
    __shared__ double warps[32];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0.0;
    for (unsigned int i = 0; i < blockDim.x / 32; ++i) sum += warps[i];
    return sum;
}

__device__ __forceinline__ ExpertRecord* record_of(const StepParams* params, unsigned int experts, ExpertRecord* records) {
    return records + params->record % MAX_RECORDS * experts;
}

// A thread per expert of all layers: its record of the step.
extern "C" __global__ void record_experts(unsigned int experts, const StepParams* __restrict__ params, const StepTokens* __restrict__ step, const double* __restrict__ statistics, ExpertRecord* __restrict__ records) {
    const unsigned int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= experts) return;
    const double* const sums = statistics + (u64)e * STATISTICS;
    ExpertRecord record;
    record.share = sums[COUNT] / (double)(step->tokens > 0 ? step->tokens : 1);
    record.contribution = sums[CONTRIBUTION];
    record.specialization = __longlong_as_double(0x7ff8000000000000ll);
    record_of(params, experts, records)[e] = record;
}

// A block per expert of a layer: 1 - cosine of the mean of the inputs of its tokens with the mean of all. Each column is summed by
// one thread, in the order of tokens.
extern "C" __global__ void measure_specialization(SpecializationArgs a, const StepParams* __restrict__ params, const float* __restrict__ x, const unsigned int* __restrict__ indices, ExpertRecord* __restrict__ records) {
    const unsigned int e = blockIdx.x;
    unsigned int count = 0;
    double products = 0.0, own_squares = 0.0, all_squares = 0.0;
    // All threads count, those without a column too.
    for (unsigned int first = 0; first < a.width; first += blockDim.x) {
        const unsigned int column = first + threadIdx.x;
        double own = 0.0, all = 0.0;
        count = 0;
        for (unsigned int t = 0; t < a.tokens; ++t) {
            bool is_own = false;
            for (unsigned int i = 0; i < a.top_k; ++i) is_own |= indices[t * a.top_k + i] == e;
            count += is_own;
            if (column < a.width) {
                const double value = (double)x[(u64)t * a.width + column];
                all += value;
                if (is_own) own += value;
            }
        }
        own /= (double)(count > 0 ? count : 1);
        all /= (double)a.tokens;
        products += own * all;
        own_squares += own * own;
        all_squares += all * all;
    }
    products = block_sum(products);
    own_squares = block_sum(own_squares);
    all_squares = block_sum(all_squares);
    if (threadIdx.x != 0 || count == 0) return;
    const double lengths = fmax(sqrt(own_squares), SHORTEST) * fmax(sqrt(all_squares), SHORTEST);
    record_of(params, a.experts, records)[a.first + e].specialization = 1.0 - products / lengths;
}

__device__ __forceinline__ float mixed(double alpha, float to, float from) { return (float)(alpha * (double)to + (1.0 - alpha) * (double)from); }

// An element per thread and turn: weighted means of parameters and of their state.
extern "C" __global__ void mix_range(double alpha, u64 from, u64 to, u64 n, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {
        params[to + i] = mixed(alpha, params[to + i], params[from + i]);
        means[to + i] = mixed(alpha, means[to + i], means[from + i]);
        squares[to + i] = mixed(alpha, squares[to + i], squares[from + i]);
    }
}

// A thread per number: adds numbers to parameters.
extern "C" __global__ void add_numbers(u64 start, unsigned int n, const float* __restrict__ numbers, float* __restrict__ params) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) params[start + i] += numbers[i];
}

// One block: standard deviation of a range of parameters, times a factor.
extern "C" __global__ void measure_spread(double factor, u64 start, u64 n, const float* __restrict__ params, double* __restrict__ spread) {
    double sum = 0.0;
    for (u64 i = threadIdx.x; i < n; i += blockDim.x) sum += (double)params[start + i];
    const double mean = block_sum(sum) / (double)n;
    sum = 0.0;
    for (u64 i = threadIdx.x; i < n; i += blockDim.x) {
        const double d = (double)params[start + i] - mean;
        sum += d * d;
    }
    sum = block_sum(sum);
    if (threadIdx.x == 0) *spread = factor * sqrt(sum / (double)n);
}

// A block per expert: adds the sum of its part of an array to its sum.
extern "C" __global__ void sum_parts(u64 start, u64 len, const float* __restrict__ values, double* __restrict__ sums) {
    const float* const own = values + start + blockIdx.x * len;
    double sum = 0.0;
    for (u64 i = threadIdx.x; i < len; i += blockDim.x) sum += (double)own[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) sums[blockIdx.x] += sum;
}

// Four elements per thread and turn: adds noise of that spread to a range of parameters.
extern "C" __global__ void add_noise(NoiseArgs a, const double* __restrict__ spread, float* __restrict__ params) {
    const double scale = *spread;
    if (!(scale > 0.0)) return;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; 4 * i < a.n; i += (u64)gridDim.x * blockDim.x) {
        const Words words = draw(a.seed, a.purpose, a.step, a.first_lane + (unsigned int)i);
        const unsigned int four[] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (unsigned int k = 0; k < 4; ++k)
            if (4 * i + k < a.n) params[a.start + 4 * i + k] += (float)(scale * normal::of_word(four[k]));
    }
}
