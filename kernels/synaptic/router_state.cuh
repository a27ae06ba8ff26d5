// The state of a router after a step: metabolism, balance, embeddings; and what genomes stand for. Part of router.cu.

__device__ __forceinline__ float averaged(float value, double rate, double target) {
    const double moved = (double)value * (1.0 - rate) + rate * target;
    return (float)(moved < 0.0 ? 0.0 : moved > 1.0 ? 1.0 : moved);
}

// A block per layer and 8 of its experts: metabolism, balance and embeddings of the living ones after an update that was applied.
// All embeddings are written to `next`, as other blocks still read those before. The genomes of a layer are `stride` elements
// behind those of the one before. 4 layers of 64 experts, µs on an H200: 10 with the copy, by one block per layer 22; of 16: 8, 8.
extern "C" __global__ void update_router(RouterArgs a, RouterRates r, u64 stride, const StepTokens* __restrict__ step, const OptimizerState* __restrict__ state, const unsigned int* __restrict__ frozen, const double* __restrict__ statistics, const float* __restrict__ genome, const unsigned int* __restrict__ alive, const float* __restrict__ embeddings, float* __restrict__ fatigue, float* __restrict__ energy, float* __restrict__ balance, float* __restrict__ next) {
    extern __shared__ float before[]; // [E, STRIDE]
    const u64 first = (u64)blockIdx.x * a.experts; // of the layer, among the experts of all
    frozen += blockIdx.x, genome += blockIdx.x * stride, statistics += first * 32, alive += first;
    embeddings += first * FEATURES, next += first * FEATURES, fatigue += first, energy += first, balance += first;
    const unsigned int n_alive = count_alive(a, alive);
    for (unsigned int i = threadIdx.x; i < a.experts * FEATURES; i += blockDim.x) before[i / FEATURES * STRIDE + i % FEATURES] = embeddings[i];
    __syncthreads();
    // A warp per expert, a lane per component.
    const unsigned int lane = lane_id(), component = lane < FEATURES ? lane : 0, e = blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32;
    if (e >= a.experts) return;
    if (lane < FEATURES) next[(u64)e * FEATURES + lane] = before[e * STRIDE + lane];
    const double tokens = (double)step->tokens;
    if (!state->is_applied || *frozen || step->tokens == 0 || !alive[e]) return;
    if (lane == 0) {
        const double fair = (double)a.top_k / (double)(n_alive > 0 ? n_alive : 1);
        const double counted = statistics[(u64)e * 32 + COUNT] / tokens, load = a.is_reference ? fmax(counted, 1.0 / tokens) : counted;
        fatigue[e] = averaged(fatigue[e], fatigue_rate(genome + GENES * e), load);
        energy[e] = averaged(energy[e], energy_rate(genome + GENES * e), a.is_reference ? 1.0 - load : 1.0 - r.energy_cost * load / fair);
        if (r.is_balanced && load != fair) balance[e] = (float)((double)balance[e] + (load < fair ? r.balance_rate : -r.balance_rate));
    }
    __syncwarp();
    if (a.is_reference) return; // repel_embeddings
    const double own = lane < FEATURES ? (double)before[e * STRIDE + component] : 0.0;
    double after = own;
    const double gates = statistics[(u64)e * 32 + GATES];
    const double over = r.is_own ? statistics[(u64)e * 32 + COUNT] : tokens;
    if (gates > 0.0) after += r.pull * (gates / over) * (statistics[(u64)e * 32 + component] / gates - own);
    // Cosines with 32 experts at a time, a lane each.
    for (unsigned int from = 0; from < a.experts; from += 32) {
        const unsigned int other = from + lane;
        double cosine = 0.0;
        if (other < a.experts && other != e && alive[other]) {
#pragma unroll
            for (unsigned int i = 0; i < FEATURES; ++i) cosine += (double)before[e * STRIDE + i] * (double)before[other * STRIDE + i];
        }
        const double push = cosine > 0.0 ? r.push * cosine : 0.0;
#pragma unroll 8
        for (unsigned int i = 0; i < 32 && from + i < a.experts; ++i) after -= __shfl_sync(ALL_LANES, push, i) * (double)before[(from + i) * STRIDE + component];
    }
    const double norm = sqrt(warp_sum(lane < FEATURES ? after * after : 0.0));
    if (lane < FEATURES && norm > 1e-8) next[(u64)e * FEATURES + lane] = (float)(after / norm);
}

// An entry of the matrix of the earlier model's rule of embeddings, for unit vectors of that cosine.
__device__ __forceinline__ double repulsion(double cosine, double mean_gate) { return mean_gate * (cosine - 1.0) - REFERENCE_PUSH * (1.0 - mean_gate) * (cosine + 0.3); }

// A block per layer, a warp per expert: embeddings by the rule of the earlier model, for its golden files. Each entry is
// computed twice: for the mean of all, then for the step.
extern "C" __global__ void repel_embeddings(RouterArgs a, const StepTokens* __restrict__ step, const OptimizerState* __restrict__ state, const unsigned int* __restrict__ frozen, const double* __restrict__ statistics, float* __restrict__ embeddings) {
    extern __shared__ float before[]; // [E, STRIDE]
    __shared__ double sums[MAX_EXPERTS];
    frozen += blockIdx.x, statistics += (u64)blockIdx.x * a.experts * 32, embeddings += (u64)blockIdx.x * a.experts * FEATURES;
    if (!state->is_applied || *frozen || step->tokens == 0) return;
    const unsigned int lane = lane_id(), component = lane < FEATURES ? lane : 0, first = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned int e = first; e < a.experts; e += warps) {
        const double x = lane < FEATURES ? (double)embeddings[(u64)e * FEATURES + lane] : 0.0, norm = sqrt(warp_sum(x * x));
        if (lane < FEATURES) before[e * STRIDE + lane] = norm > 1e-8 ? (float)(x / norm) : lane == 0 ? 1.0f : 0.0f;
    }
    __syncthreads();
    auto entry = [&](unsigned int e, unsigned int other) {
        if (other >= a.experts) return 0.0;
        double cosine = 0.0;
#pragma unroll
        for (unsigned int i = 0; i < FEATURES; ++i) cosine += (double)before[e * STRIDE + i] * (double)before[other * STRIDE + i];
        return repulsion(cosine, e == other ? statistics[(u64)e * 32 + GATES] / (double)step->tokens : 0.0);
    };
    for (unsigned int e = first; e < a.experts; e += warps) {
        double sum = 0.0;
        for (unsigned int other = lane; other < a.experts; other += 32) sum += entry(e, other);
        sum = warp_sum(sum);
        if (lane == 0) sums[e] = sum;
    }
    __syncthreads();
    double mean = 0.0;
    for (unsigned int e = 0; e < a.experts; ++e) mean += sums[e];
    mean /= (double)a.experts * (double)a.experts;
    for (unsigned int e = first; e < a.experts; e += warps) {
        double after = lane < FEATURES ? (double)before[e * STRIDE + component] : 0.0;
        for (unsigned int from = 0; from < a.experts; from += 32) {
            const double along = REFERENCE_RATE * (entry(e, from + lane) - mean);
            for (unsigned int i = 0; i < 32 && from + i < a.experts; ++i) after -= __shfl_sync(ALL_LANES, along, i) * (double)before[(from + i) * STRIDE + component];
        }
        const double norm = sqrt(warp_sum(lane < FEATURES ? after * after : 0.0));
        if (lane < FEATURES && norm > 1e-8) embeddings[(u64)e * FEATURES + lane] = (float)(after / norm);
    }
}

// A thread per expert: what its genome stands for, in the order of Phenotype::values.
extern "C" __global__ void decode_genomes(unsigned int experts, const float* __restrict__ genome, double* __restrict__ phenotypes) {
    const unsigned int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= experts) return;
    const float* const genes = genome + GENES * e;
    double* const to = phenotypes + GENES * e;
    to[0] = fatigue_rate(genes);
    to[1] = energy_rate(genes);
    to[2] = softplus((double)genes[2] + 1.0);
    to[3] = softplus((double)genes[3] + 0.5);
}
