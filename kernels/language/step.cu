// Parts of a language model's training step other than the operations of nn: begin and record of a step, norms of
// parameters for probes, and the KV cache.
#include "gen/language-step.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;

extern "C" __global__ void begin_step(const StepParams* __restrict__ params, const OptimizerState* __restrict__ state, LossTotal* __restrict__ total, float* __restrict__ scale) {
    total->sum = 0.0;
    total->count = 0;
    scale[0] = state->scale / (float)(params->targets > 0 ? params->targets : 1);
    scale[1] = state->scale; // before this step's update changes it
}

extern "C" __global__ void record_step(const StepParams* __restrict__ params, const OptimizerState* __restrict__ state, const LossTotal* __restrict__ total, const float* __restrict__ scale, StepRecord* __restrict__ records) {
    StepRecord record;
    record.loss = (float)(total->sum / (double)(params->targets > 0 ? params->targets : 1));
    record.norm = state->norm;
    record.scale = scale[1];
    record.is_applied = state->is_applied;
    records[params->record % MAX_RECORDS] = record;
}

// One block per view and part: sums of squares of weights, gradients and changes.
extern "C" __global__ void sum_views(const ViewRange* __restrict__ views, const float* __restrict__ weights, const float* __restrict__ before, const float* __restrict__ gradient, double* __restrict__ partials) {
    __shared__ double shared[3][8];
    const ViewRange view = views[blockIdx.x];
    double sums[3] = {0.0, 0.0, 0.0};
    for (u64 i = (u64)blockIdx.y * blockDim.x + threadIdx.x; i < view.len; i += (u64)blockDim.x * gridDim.y) {
        const float w = weights[view.start + i], change = w - before[view.start + i], g = gradient[view.start + i];
        sums[0] += (double)(w * w);
        sums[1] += (double)(g * g);
        sums[2] += (double)(change * change);
    }
    for (int k = 0; k < 3; ++k) {
        for (int offset = 16; offset > 0; offset /= 2) sums[k] += __shfl_xor_sync(ALL_LANES, sums[k], offset);
        if (threadIdx.x % 32 == 0) shared[k][threadIdx.x / 32] = sums[k];
    }
    __syncthreads();
    if (threadIdx.x < 3) {
        double sum = 0.0;
        for (unsigned int warp = 0; warp < blockDim.x / 32; ++warp) sum += shared[threadIdx.x][warp];
        partials[3 * ((u64)blockIdx.x * gridDim.y + blockIdx.y) + threadIdx.x] = sum;
    }
}

// One thread per view: its norms, in the row of the step's record. Divides the gradient norm by the loss scale.
extern "C" __global__ void finish_views(unsigned int n_views, const StepParams* __restrict__ params, const float* __restrict__ scale, const double* __restrict__ partials, float* __restrict__ norms) {
    const unsigned int view = blockIdx.x * blockDim.x + threadIdx.x;
    if (view >= n_views) return;
    double sums[3] = {0.0, 0.0, 0.0};
#pragma unroll 1
    for (unsigned int part = 0; part < VIEW_PARTS; ++part)
        for (int k = 0; k < 3; ++k) sums[k] += partials[3 * ((u64)view * VIEW_PARTS + part) + k];
    float* row = norms + 3 * ((params->record % MAX_RECORDS) * n_views + view);
    row[0] = (float)sqrt(sums[0]);
    row[1] = (float)(sqrt(sums[1]) / (double)scale[1]);
    row[2] = (float)sqrt(sums[2]);
}

// Appends keys and values of new tokens from packed projections to the KV caches of a block, one thread per 16 bits.
// The cache length is read from memory, so that one captured launch appends each token of a text.
extern "C" __global__ void append_cache(CacheSizes s, const int* __restrict__ lengths, const void* qkv, void* keys, void* values) {
    const u64 stride = (u64)gridDim.x * blockDim.x, n = (u64)s.tokens * 2 * s.kv, first = (u64)lengths[0] - s.tokens;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const unsigned int token = (unsigned int)(i / (2 * s.kv)), column = (unsigned int)(i % (2 * s.kv));
        const unsigned short x = ((const unsigned short*)qkv)[(u64)token * s.row + s.queries + column];
        const u64 row = (first + token) * s.kv;
        if (column < s.kv) ((unsigned short*)keys)[row + column] = x;
        else ((unsigned short*)values)[row + column - s.kv] = x;
    }
}
