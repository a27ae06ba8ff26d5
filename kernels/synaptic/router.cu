// The mixture of experts: router, groups, gradients, statistics and metabolism of src/kinds/synaptic/experts, which is the
// definition. Multiplications are those of nn. Sums over tokens run in an order that the sizes fix; counts are integers.
#include "gen/synaptic-router.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu, NONE = 0xffffffffu;
// Experts of a lane, and elements from an embedding to the next in shared memory, so that lanes read different banks.
constexpr unsigned int PER_LANE = MAX_EXPERTS / 32, STRIDE = FEATURES + 1;

__device__ __forceinline__ unsigned int lane_id() { return threadIdx.x % 32; }
// Number of this warp among all, and of all.
__device__ __forceinline__ u64 warp_id() { return ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }
__device__ __forceinline__ u64 n_warps() { return (u64)gridDim.x * blockDim.x / 32; }

template <class V>
__device__ __forceinline__ V warp_sum(V x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    return x;
}

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, offset));
    return x;
}

__device__ __forceinline__ double logistic(double x) { return 1.0 / (1.0 + exp(-x)); }
// Rates of a genome: Phenotype::of.
__device__ __forceinline__ double fatigue_rate(const float* genes) { return 0.01 * (2.0 * logistic(genes[0]) + 0.1); }
__device__ __forceinline__ double energy_rate(const float* genes) { return 0.005 * (2.0 * logistic(genes[1]) + 0.1); }
__device__ __forceinline__ double softplus(double x) { return x > 20.0 ? x : log1p(exp(x)); }

// Living experts, for all threads of a block.
__device__ __forceinline__ unsigned int count_alive(const RouterArgs& a, const unsigned int* alive) {
    __shared__ unsigned int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    for (unsigned int e = threadIdx.x; e < a.experts; e += blockDim.x)
        if (alive[e]) atomicAdd(&n, 1u);
    __syncthreads();
    return n;
}

// A warp per token, a lane per expert: logits, the k largest, their gates. The terms that all tokens share are computed by each
// block, from genomes and state. CHUNKS: experts of a lane, at most.
template <unsigned int CHUNKS>
__device__ __forceinline__ void route(RouterArgs a, const float* __restrict__ z, const float* __restrict__ features, const float* __restrict__ genome, const float* __restrict__ embeddings, const float* __restrict__ fatigue, const float* __restrict__ energy, const float* __restrict__ balance, const unsigned int* __restrict__ alive, float* __restrict__ inverse_norms, unsigned int* __restrict__ indices, float* __restrict__ gates, float* __restrict__ cosines) {
    extern __shared__ float shared[];
    float* const of_experts = shared; // [E, STRIDE]
    float* const terms = of_experts + a.experts * STRIDE;
    float* const bonus = terms + a.experts; // balance, NaN of an empty slot
    const unsigned int n_alive = count_alive(a, alive);
    const float fatigue_factor = a.is_reference ? a.metabolic_bias : a.metabolic_bias * (float)n_alive / (float)a.top_k;
    for (unsigned int e = threadIdx.x; e < a.experts; e += blockDim.x) {
        const float gene = (float)((double)a.gene * (energy_rate(genome + GENES * e) - fatigue_rate(genome + GENES * e)));
        terms[e] = gene + a.metabolic_bias * energy[e] - fatigue_factor * fatigue[e];
        bonus[e] = alive[e] ? balance[e] : __int_as_float(0x7fc00000);
    }
    for (unsigned int i = threadIdx.x; i < a.experts * FEATURES; i += blockDim.x) of_experts[i / FEATURES * STRIDE + i % FEATURES] = embeddings[i];
    __syncthreads();
    const unsigned int lane = lane_id();
    for (u64 token = warp_id(); token < a.tokens; token += n_warps()) {
        const float feature = lane < FEATURES ? features[token * FEATURES + lane] : 0.0f;
        const float inverse = 1.0f / fmaxf(sqrtf(warp_sum(feature * feature)), 1e-8f);
        float logit[CHUNKS], cosine[CHUNKS] = {}, score[CHUNKS];
        unsigned int open = 0; // bits of this lane's living experts that are not selected
#pragma unroll 4
        for (unsigned int i = 0; i < FEATURES; ++i) {
            const float of_token = __shfl_sync(ALL_LANES, feature, i);
#pragma unroll
            for (unsigned int c = 0; c < CHUNKS; ++c)
                if (32 * c < a.experts) cosine[c] += of_token * of_experts[min(32 * c + lane, a.experts - 1) * STRIDE + i];
        }
#pragma unroll
        for (unsigned int c = 0; c < CHUNKS; ++c) {
            const unsigned int e = 32 * c + lane, known = min(e, a.experts - 1);
            cosine[c] *= inverse;
            logit[c] = score[c] = 0.0f;
            if (32 * c < a.experts) {
                logit[c] = z[token * a.experts + known] + a.align * cosine[c] + terms[known];
                score[c] = logit[c] + bonus[known];
                if (e < a.experts && alive[e]) open |= 1u << c;
            }
        }
        // Lane s has the expert of slot s.
        float own_logit = -__int_as_float(0x7f800000), own_cosine = 0.0f;
        unsigned int own = 0;
        for (unsigned int slot = 0; slot < a.top_k; ++slot) {
            float best = 0.0f, of_logit = 0.0f, of_cosine = 0.0f; // of the best of this lane, which may be the one
            unsigned int chosen = NONE;
#pragma unroll
            for (unsigned int c = 0; c < CHUNKS; ++c) {
                if ((open >> c & 1u) && (chosen == NONE || score[c] > best)) {
                    best = score[c];
                    chosen = 32 * c + lane;
                    of_logit = logit[c];
                    of_cosine = cosine[c];
                }
            }
#pragma unroll
            for (int offset = 16; offset > 0; offset /= 2) {
                const float other = __shfl_xor_sync(ALL_LANES, best, offset);
                const unsigned int of = __shfl_xor_sync(ALL_LANES, chosen, offset);
                if (of != NONE && (chosen == NONE || other > best || (other == best && of < chosen))) {
                    best = other;
                    chosen = of;
                }
            }
            chosen = __shfl_sync(ALL_LANES, chosen, 0); // with NaN lanes may disagree
            if (chosen == NONE) chosen = 0;             // the host launches with at least k living experts
            of_logit = __shfl_sync(ALL_LANES, of_logit, chosen % 32);
            of_cosine = __shfl_sync(ALL_LANES, of_cosine, chosen % 32);
            if (lane == chosen % 32) open &= ~(1u << chosen / 32);
            if (lane == slot) {
                own = chosen;
                own_logit = of_logit;
                own_cosine = of_cosine;
            }
        }
        const float largest = warp_max(own_logit);
        const float exponential = lane < a.top_k ? expf(own_logit - largest) : 0.0f;
        const float sum = warp_sum(exponential);
        if (lane < a.top_k) {
            const u64 at = token * a.top_k + lane;
            indices[at] = own;
            gates[at] = exponential / sum;
            cosines[at] = own_cosine;
        }
        if (lane == 0) inverse_norms[token] = inverse;
    }
}

extern "C" __global__ void route_tokens(RouterArgs a, const float* __restrict__ z, const float* __restrict__ features, const float* __restrict__ genome, const float* __restrict__ embeddings, const float* __restrict__ fatigue, const float* __restrict__ energy, const float* __restrict__ balance, const unsigned int* __restrict__ alive, float* __restrict__ inverse_norms, unsigned int* __restrict__ indices, float* __restrict__ gates, float* __restrict__ cosines) {
    if (a.experts <= 32) route<1>(a, z, features, genome, embeddings, fatigue, energy, balance, alive, inverse_norms, indices, gates, cosines);
    else if (a.experts <= 64) route<2>(a, z, features, genome, embeddings, fatigue, energy, balance, alive, inverse_norms, indices, gates, cosines);
    else route<PER_LANE>(a, z, features, genome, embeddings, fatigue, energy, balance, alive, inverse_norms, indices, gates, cosines);
}

// A block per TILE assignments: how many each expert has.
extern "C" __global__ void count_assignments(RouterArgs a, const unsigned int* __restrict__ indices, unsigned int* __restrict__ tiles) {
    __shared__ unsigned int counts[MAX_EXPERTS];
    for (unsigned int e = threadIdx.x; e < a.experts; e += blockDim.x) counts[e] = 0;
    __syncthreads();
    const u64 n = (u64)a.tokens * a.top_k, from = (u64)blockIdx.x * TILE;
    for (u64 i = from + threadIdx.x; i < n && i < from + TILE; i += blockDim.x) atomicAdd(&counts[indices[i]], 1u);
    __syncthreads();
    for (unsigned int e = threadIdx.x; e < a.experts; e += blockDim.x) tiles[(u64)blockIdx.x * a.experts + e] = counts[e];
}

// One block, a thread per expert: counts become numbers of assignments in earlier tiles; offsets of groups.
extern "C" __global__ void offset_groups(RouterArgs a, unsigned int n_tiles, unsigned int* __restrict__ tiles, unsigned int* __restrict__ counts, unsigned int* __restrict__ offsets) {
    __shared__ unsigned int ends[MAX_EXPERTS];
    const unsigned int e = threadIdx.x;
    unsigned int total = 0;
    for (unsigned int from = 0; from < n_tiles && e < a.experts; from += 8) {
        unsigned int of[8];
#pragma unroll
        for (unsigned int i = 0; i < 8; ++i) of[i] = from + i < n_tiles ? tiles[(u64)(from + i) * a.experts + e] : 0;
#pragma unroll
        for (unsigned int i = 0; i < 8; ++i) {
            if (from + i < n_tiles) tiles[(u64)(from + i) * a.experts + e] = total;
            total += of[i];
        }
    }
    ends[e] = total;
    __syncthreads();
    for (unsigned int distance = 1; distance < MAX_EXPERTS; distance *= 2) {
        const unsigned int before = e >= distance ? ends[e - distance] : 0;
        __syncthreads();
        ends[e] += before;
        __syncthreads();
    }
    if (e >= a.experts) return;
    counts[e] = total;
    offsets[e + 1] = ends[e];
    if (e == 0) offsets[0] = 0;
}

// A block per TILE assignments: the row of each, by expert, then by token.
extern "C" __global__ void place_assignments(RouterArgs a, const unsigned int* __restrict__ indices, const unsigned int* __restrict__ offsets, const unsigned int* __restrict__ tiles, unsigned int* __restrict__ order, unsigned int* __restrict__ ranks) {
    extern __shared__ unsigned int of_warps[]; // [warps, E], then the next row of each expert
    const unsigned int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = lane_id();
    unsigned int* const next = of_warps + warps * a.experts;
    for (unsigned int e = threadIdx.x; e < a.experts; e += blockDim.x) next[e] = offsets[e] + tiles[(u64)blockIdx.x * a.experts + e];
    const u64 n = (u64)a.tokens * a.top_k, from = (u64)blockIdx.x * TILE;
    for (unsigned int round = 0; round < TILE; round += blockDim.x) {
        for (unsigned int i = threadIdx.x; i < warps * a.experts; i += blockDim.x) of_warps[i] = 0;
        __syncthreads();
        const u64 at = from + round + threadIdx.x;
        const unsigned int e = at < n ? indices[at] : NONE;
        const unsigned int peers = __match_any_sync(ALL_LANES, e), before = __popc(peers & ((1u << lane) - 1));
        if (e != NONE && before == 0) of_warps[warp * a.experts + e] = __popc(peers);
        __syncthreads();
        if (e != NONE) {
            unsigned int row = next[e] + before;
            for (unsigned int w = 0; w < warp; ++w) row += of_warps[w * a.experts + e];
            order[row] = (unsigned int)at;
            ranks[at] = row;
        }
        __syncthreads();
        for (unsigned int i = threadIdx.x; i < a.experts; i += blockDim.x)
            for (unsigned int w = 0; w < warps; ++w) next[i] += of_warps[w * a.experts + i];
        __syncthreads();
    }
}

// Calls f(i) for each number, or each four of them, of a row of this warp.
template <class F>
__device__ __forceinline__ void each_column(const RouterArgs& a, F f) {
    for (unsigned int i = lane_id(); i < (a.is_aligned ? a.width / 4 : a.width); i += 32) f(i);
}

__device__ __forceinline__ float4 fused(float s, float4 x, float4 y) { return make_float4(s * x.x + y.x, s * x.y + y.y, s * x.z + y.z, s * x.w + y.w); }
__device__ __forceinline__ float fused(float s, float x, float y) { return s * x + y; }
__device__ __forceinline__ float dot_of(float4 x, float4 y) { return x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w; }
__device__ __forceinline__ float dot_of(float x, float y) { return x * y; }

__device__ __forceinline__ unsigned int pair_of(float x, float y) { return to_bf16(x).bits | (unsigned int)to_bf16(y).bits << 16; }

// A warp per row: tokens in the order of their groups, in f32 or rounded to bfloat16.
extern "C" __global__ void gather_tokens(RouterArgs a, unsigned int is_rounded, const unsigned int* __restrict__ order, const float* __restrict__ x, void* rows) {
    for (u64 row = warp_id(); row < (u64)a.tokens * a.top_k; row += n_warps()) {
        const float* from = x + (u64)(order[row] / a.top_k) * a.width;
        if (is_rounded) {
            bf16* to = (bf16*)rows + row * a.width;
            each_column(a, [&](unsigned int i) {
                if (a.is_aligned) {
                    const float4 v = ((const float4*)from)[i];
                    ((uint2*)to)[i] = make_uint2(pair_of(v.x, v.y), pair_of(v.z, v.w));
                } else {
                    to[i] = to_bf16(from[i]);
                }
            });
        } else {
            float* to = (float*)rows + row * a.width;
            each_column(a, [&](unsigned int i) {
                if (a.is_aligned) ((float4*)to)[i] = ((const float4*)from)[i];
                else to[i] = from[i];
            });
        }
    }
}

template <class V>
__device__ __forceinline__ V combined(const RouterArgs& a, const unsigned int* ranks, const float* gates, const float* rows, V sum, u64 token, unsigned int i) {
    for (unsigned int slot = 0; slot < a.top_k; ++slot) {
        const u64 at = token * a.top_k + slot;
        sum = fused(gates ? gates[at] : 1.0f, ((const V*)(rows + (u64)ranks[at] * a.width))[i], sum);
    }
    return sum;
}

// A warp per token: the sum of its rows, weighted by gates where they are given, and of `base`, in the order of the slots.
extern "C" __global__ void combine_rows(RouterArgs a, const unsigned int* __restrict__ ranks, const void* gates, const float* __restrict__ rows, const void* base, float* __restrict__ out) {
    for (u64 token = warp_id(); token < a.tokens; token += n_warps()) {
        const float* of_token = base ? (const float*)base + token * a.width : nullptr;
        each_column(a, [&](unsigned int i) {
            if (a.is_aligned) {
                const float4 first = of_token ? ((const float4*)of_token)[i] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
                ((float4*)(out + token * a.width))[i] = combined(a, ranks, (const float*)gates, rows, first, token, i);
            } else {
                out[token * a.width + i] = combined(a, ranks, (const float*)gates, rows, of_token ? of_token[i] : 0.0f, token, i);
            }
        });
    }
}

// A warp per row: the gradient of its gate, and in place of the row its gradient.
extern "C" __global__ void scatter_gradients(RouterArgs a, const unsigned int* __restrict__ order, const float* __restrict__ gates, const float* __restrict__ dout, float* __restrict__ rows, float* __restrict__ dgates) {
    for (u64 row = warp_id(); row < (u64)a.tokens * a.top_k; row += n_warps()) {
        const unsigned int assignment = order[row];
        const float gate = gates[assignment];
        const float* d = dout + (u64)(assignment / a.top_k) * a.width;
        float* y = rows + row * a.width;
        float dot = 0.0f;
        each_column(a, [&](unsigned int i) {
            if (a.is_aligned) {
                const float4 of = ((const float4*)d)[i];
                dot += dot_of(((const float4*)y)[i], of);
                ((float4*)y)[i] = fused(gate, of, make_float4(0.0f, 0.0f, 0.0f, 0.0f));
            } else {
                dot += dot_of(y[i], d[i]);
                y[i] = gate * d[i];
            }
        });
        dot = warp_sum(dot);
        if (lane_id() == 0) dgates[assignment] = dot;
    }
}

// A block per 32 columns, part and expert: sums of the columns of some rows of its group.
extern "C" __global__ void sum_group_parts(unsigned int columns, unsigned int is_rounded, const unsigned int* __restrict__ offsets, const void* dy, float* __restrict__ partials) {
    __shared__ float sums[8][32];
    const unsigned int column = blockIdx.x * 32 + threadIdx.x, e = blockIdx.z;
    float sum = 0.0f;
    if (column < columns)
        for (unsigned int row = offsets[e] + blockIdx.y * 8 + threadIdx.y; row < offsets[e + 1]; row += 8 * PARTS) {
            const u64 at = (u64)row * columns + column;
            sum += is_rounded ? to_float(((const bf16*)dy)[at]) : ((const float*)dy)[at];
        }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= columns) return;
    for (unsigned int y = 1; y < 8; ++y) sum += sums[y][threadIdx.x];
    partials[((u64)e * PARTS + blockIdx.y) * columns + column] = sum;
}

// A thread per column of an expert: adds the parts in ascending order.
extern "C" __global__ void add_group_parts(unsigned int columns, unsigned int n, const float* __restrict__ partials, float* __restrict__ to) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* from = partials + (u64)(i / columns) * PARTS * columns + i % columns;
    float sum = 0.0f;
#pragma unroll
    for (unsigned int part = 0; part < PARTS; ++part) sum += from[(u64)part * columns];
    to[i] += sum;
}

// A warp per token: gradients of logits and of probe features.
extern "C" __global__ void differentiate_routing(RouterArgs a, const BatchWeights* __restrict__ weights, const unsigned int* __restrict__ indices, const float* __restrict__ gates, const float* __restrict__ cosines, const float* __restrict__ inverse_norms, const float* __restrict__ features, const float* __restrict__ embeddings, const unsigned int* __restrict__ alive, const unsigned int* __restrict__ counts, const float* __restrict__ dgates, float* __restrict__ dlogits, float* __restrict__ dfeatures) {
    const unsigned int lane = lane_id();
    const float aux = weights->share * a.aux_weight * (float)count_alive(a, alive) / ((float)a.tokens * (float)a.tokens);
    for (u64 token = warp_id(); token < a.tokens; token += n_warps()) {
        for (unsigned int e = lane; e < a.experts; e += 32) dlogits[token * a.experts + e] = 0.0f;
        __syncwarp();
        const bool is_slot = lane < a.top_k;
        const u64 at = token * a.top_k + (is_slot ? lane : 0);
        const unsigned int expert = indices[at];
        const float gate = is_slot ? gates[at] : 0.0f, dgate = dgates[at] + aux * (float)counts[expert];
        const float mean = warp_sum(gate * dgate), dlogit = gate * (dgate - mean), dcos = a.align * dlogit;
        if (is_slot) dlogits[token * a.experts + expert] = dlogit;
        const float along = warp_sum(is_slot ? dcos * cosines[at] : 0.0f), inverse = inverse_norms[token];
        float across = 0.0f;
        for (unsigned int slot = 0; slot < a.top_k; ++slot) {
            const float of_slot = __shfl_sync(ALL_LANES, dcos, slot);
            const unsigned int e = __shfl_sync(ALL_LANES, expert, slot);
            if (lane < FEATURES) across += of_slot * embeddings[(u64)e * FEATURES + lane];
        }
        if (lane < FEATURES) {
            const u64 i = token * FEATURES + lane;
            dfeatures[i] = (across - along * features[i] * inverse) * inverse;
        }
    }
}

// A block per expert and part of its group: sums over tokens. Lane i of a warp has sum i: the features that the expert served,
// its gates, its contribution.
extern "C" __global__ void sum_experts(RouterArgs a, const unsigned int* __restrict__ order, const unsigned int* __restrict__ offsets, const float* __restrict__ gates, const float* __restrict__ dgates, const float* __restrict__ features, const float* __restrict__ inverse_norms, double* __restrict__ partials) {
    __shared__ double sums[32][32];
    const unsigned int e = blockIdx.x, lane = lane_id(), warp = threadIdx.x / 32;
    double sum = 0.0;
#pragma unroll 4
    for (unsigned int row = offsets[e] + blockIdx.y * 32 + warp; row < offsets[e + 1]; row += 32 * PARTS) {
        const unsigned int assignment = order[row], token = assignment / a.top_k;
        const double gate = gates[assignment];
        if (lane < FEATURES) sum += gate * (double)inverse_norms[token] * (double)features[(u64)token * FEATURES + lane];
        else if (lane == GATES) sum += gate;
        else if (lane == CONTRIBUTION) sum -= gate * (double)dgates[assignment];
    }
    sums[warp][lane] = sum;
    __syncthreads();
    if (warp != 0) return;
    for (unsigned int w = 1; w < 32; ++w) sum += sums[w][lane];
    partials[((u64)e * PARTS + blockIdx.y) * 32 + lane] = sum;
}

// One block, a warp per expert: adds the sums of a batch to those of the step, and its auxiliary loss, by its share of the targets.
extern "C" __global__ void add_statistics(RouterArgs a, const BatchWeights* __restrict__ weights, const unsigned int* __restrict__ counts, const unsigned int* __restrict__ alive, const double* __restrict__ partials, double* __restrict__ statistics, double* __restrict__ aux) {
    __shared__ double terms[MAX_EXPERTS];
    const unsigned int lane = lane_id();
    const double tokens = a.tokens > 0 ? (double)a.tokens : 1.0;
    for (unsigned int e = threadIdx.x / 32; e < a.experts; e += blockDim.x / 32) {
        double sum = 0.0;
        for (unsigned int part = 0; part < PARTS; ++part) sum += partials[((u64)e * PARTS + part) * 32 + lane];
        if (lane == GATES) terms[e] = sum / tokens * (double)counts[e] / tokens;
        if (lane == COUNT) sum = (double)counts[e];
        statistics[(u64)e * 32 + lane] += sum;
    }
    const unsigned int n_alive = count_alive(a, alive);
    if (threadIdx.x != 0) return;
    double sum = 0.0;
    for (unsigned int e = 0; e < a.experts; ++e) sum += terms[e];
    *aux += (double)weights->share * (double)n_alive * sum;
}

#include "synaptic/router_state.cuh" // the kernels behind a step
