// Optimisers over the flat buffer of a model: master weights, moments and gradients in f32, and a copy of the weights
// in the format of the model. Compiled without fused multiply-adds: an update has the bits of src/nn/optimizer/cpu.rs
// for an equal gradient factor. Memory-bound: AdamW reads 16 bytes and writes 12 to 14 per parameter.
#include "gen/nn-optimizer.cuh"
#include "common/philox.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;

// Sums over the block in a fixed order; every thread gets the result. `shared` has a slot per warp.
template <class T>
__device__ inline T block_sum(T x, T* shared) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    __syncthreads(); // the values of an earlier sum have been read
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
    __syncthreads();
    T sum = 0;
    for (unsigned int warp = 0; warp < blockDim.x / 32; ++warp) sum += shared[warp];
    return sum;
}

__device__ inline float square_sum(float4 x) { return x.x * x.x + x.y * x.y + (x.z * x.z + x.w * x.w); }

// One block per RUN elements: the sum of their squares, except those of frozen groups. n is a multiple of 64.
extern "C" __global__ void sum_squares(u64 n, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ g, float* __restrict__ partials) {
    __shared__ float warps[8];
    float sum = 0.0f;
    for (unsigned int i = 0; i < RUN; i += 4 * blockDim.x) {
        const u64 at = (u64)blockIdx.x * RUN + i + 4 * threadIdx.x;
        if (at >= n || rules[groups[at / 64]].mode == FROZEN) continue;
        sum += square_sum(*(const float4*)(g + at));
    }
    sum = block_sum(sum, warps);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

__device__ inline double power(double x, u64 n) {
    double product = 1.0;
    for (; n > 0; n >>= 1) {
        if (n & 1) product *= x;
        x *= x;
    }
    return product;
}

// One block: the norm, whether the update is applied, the factor of the gradient, and the scale of the next loss.
extern "C" __global__ void begin_update(unsigned int n_partials, const float* __restrict__ partials, const OptimizerSettings* __restrict__ settings, OptimizerState* __restrict__ state) {
    __shared__ double warps[8];
    double sum = 0.0;
    for (unsigned int i = threadIdx.x; i < n_partials; i += blockDim.x) sum += (double)partials[i];
    sum = block_sum(sum, warps);
    if (threadIdx.x != 0) return;
    const double norm = sqrt(sum) / (double)state->scale;
    const bool is_applied = norm < (double)__int_as_float(0x7f800000); // false for NaN
    const double clip = (double)settings->clip;
    const double factor = clip > 0.0 && norm > clip ? clip / norm : 1.0;
    state->norm = (float)norm;
    state->is_applied = is_applied;
    state->grad_scale = (float)(factor / (double)state->scale);
    float change = 1.0f;
    if (is_applied) {
        state->t += 1;
        state->c1 = (float)(1.0 / (1.0 - power(settings->beta1, state->t)));
        state->c2 = (float)(1.0 / (1.0 - power(settings->beta2, state->t)));
        state->good += state->good < 0xffffffffu;
        if (state->good >= settings->interval) {
            state->good = 0;
            change = settings->growth;
        }
    } else {
        state->skipped += 1;
        state->good = 0;
        change = settings->backoff;
    }
    if (change != 1.0f) state->scale = fminf(fmaxf(state->scale * change, 1.0f), 16777216.0f);
}

// Stochastic rounding to bfloat16: up with the probability of the truncated fraction. Infinity and NaN stay.
__device__ inline unsigned short round_stochastically(float p, unsigned int word) {
    const unsigned int x = (unsigned int)__float_as_int(p);
    return (x & 0x7f800000u) == 0x7f800000u ? to_bf16(p).bits : (unsigned short)((x + (word >> 16)) >> 16);
}

// One element of the copy in bfloat16; with stochastic rounding it equals that of write_copy.
__device__ inline unsigned short bf16_bits(float p, u64 at, const OptimizerSettings* settings, u64 step) {
    if (!settings->is_stochastic) return to_bf16(p).bits;
    const Words w = draw(settings->seed, ROUNDING, step, (unsigned int)(at / 4));
    const unsigned int words[4] = {w.x, w.y, w.z, w.w};
    return round_stochastically(p, words[at % 4]);
}

// Writes four neighbours of the copy in the format of the model.
__device__ inline void write_copy(void* copy, unsigned int format, u64 at, const float (&p)[4], bool is_stochastic, u64 seed, u64 step) {
    if (format == COPY_NONE) return;
    unsigned short bits[4];
    if (format == COPY_F16) {
        for (int i = 0; i < 4; ++i) bits[i] = to_f16(p[i]).bits;
    } else if (is_stochastic) {
        const Words w = draw(seed, ROUNDING, step, (unsigned int)(at / 4));
        const unsigned int words[4] = {w.x, w.y, w.z, w.w};
        for (int i = 0; i < 4; ++i) bits[i] = round_stochastically(p[i], words[i]);
    } else {
        for (int i = 0; i < 4; ++i) bits[i] = to_bf16(p[i]).bits;
    }
    *(uint2*)((unsigned short*)copy + at) = make_uint2(bits[0] | (unsigned int)bits[1] << 16, bits[2] | (unsigned int)bits[3] << 16);
}

// Grid-stride loop over groups of four parameters per thread.
extern "C" __global__ void update_adamw(u64 n, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ gradients, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares, void* copy, unsigned int format) {
    if (!state->is_applied) return;
    const float b1 = (float)settings->beta1, b2 = (float)settings->beta2, eps = settings->eps;
    const float rest1 = (float)(1.0 - settings->beta1), rest2 = (float)(1.0 - settings->beta2);
    const float c1 = state->c1, c2 = state->c2, scale = state->grad_scale;
    const u64 stride = 4ull * gridDim.x * blockDim.x;
    for (u64 at = 4ull * ((u64)blockIdx.x * blockDim.x + threadIdx.x); at < n; at += stride) {
        const OptimizerRule rule = rules[groups[at / 64]];
        if (rule.mode == FROZEN && settings->is_stochastic) {
            // The weight stays, but its copy is drawn again, so that every copy is a function of weights, seed and
            // number of updates.
            const float4 p4 = *(const float4*)(params + at);
            write_copy(copy, format, at, {p4.x, p4.y, p4.z, p4.w}, true, settings->seed, state->t);
        }
        if (rule.mode != ADAMW) continue;
        const float rate = (float)(settings->learning_rate * rule.lr_factor), decay = rule.decay;
        const float4 g4 = *(const float4*)(gradients + at);
        float4 p4 = *(const float4*)(params + at), m4 = *(const float4*)(means + at), v4 = *(const float4*)(squares + at);
        const float g[4] = {g4.x, g4.y, g4.z, g4.w};
        float p[4] = {p4.x, p4.y, p4.z, p4.w}, m[4] = {m4.x, m4.y, m4.z, m4.w}, v[4] = {v4.x, v4.y, v4.z, v4.w};
        for (int i = 0; i < 4; ++i) {
            const float gi = g[i] * scale;
            m[i] = b1 * m[i] + rest1 * gi;
            v[i] = b2 * v[i] + rest2 * gi * gi;
            p[i] -= rate * (m[i] * c1 / (sqrtf(v[i] * c2) + eps) + decay * p[i]);
        }
        *(float4*)(params + at) = make_float4(p[0], p[1], p[2], p[3]);
        *(float4*)(means + at) = make_float4(m[0], m[1], m[2], m[3]);
        *(float4*)(squares + at) = make_float4(v[0], v[1], v[2], v[3]);
        write_copy(copy, format, at, p, settings->is_stochastic, settings->seed, state->t);
    }
}

// Whether the matrix of this row of blocks is updated: always, if `used` has no entry for it.
__device__ inline bool is_used(const void* used, unsigned int stride) {
    return used == nullptr || ((const double*)used)[(u64)blockIdx.y * stride] > 0.0;
}

// One row of blocks per matrix of n elements, one block per RUN elements: momentum, the matrix to orthogonalise, and
// the sum of its squares.
extern "C" __global__ void update_momentum(u64 n, const void* used, unsigned int used_stride, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const float* __restrict__ g, float* __restrict__ momentum, float* __restrict__ x, float* __restrict__ partials) {
    __shared__ float warps[8];
    const float mu = settings->momentum, scale = state->grad_scale;
    const bool is_applied = state->is_applied && is_used(used, used_stride), is_nesterov = settings->is_nesterov;
    const u64 first = blockIdx.y * n;
    g += first, momentum += first, x += first;
    float sum = 0.0f;
    for (unsigned int i = threadIdx.x; i < RUN; i += blockDim.x) {
        const u64 at = (u64)blockIdx.x * RUN + i;
        if (at >= n) break;
        const float gi = g[at] * scale;
        const float b = mu * momentum[at] + gi;
        // A skipped update computes with zeros and changes no state.
        const float u = is_applied ? (is_nesterov ? gi + mu * b : b) : 0.0f;
        if (is_applied) momentum[at] = b;
        x[at] = u;
        sum += u * u;
    }
    sum = block_sum(sum, warps);
    if (threadIdx.x == 0) partials[(u64)blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// Same grid as update_momentum: divides each matrix by its norm.
extern "C" __global__ void divide_by_norm(u64 n, unsigned int n_partials, const float* __restrict__ partials, float* __restrict__ x) {
    __shared__ double warps[8];
    partials += (u64)blockIdx.y * n_partials, x += blockIdx.y * n;
    double sum = 0.0;
    for (unsigned int i = threadIdx.x; i < n_partials; i += blockDim.x) sum += (double)partials[i];
    const float factor = (float)(1.0 / (sqrt(block_sum(sum, warps)) + MUON_EPS));
    for (unsigned int i = threadIdx.x; i < RUN; i += blockDim.x) {
        const u64 at = (u64)blockIdx.x * RUN + i;
        if (at < n) x[at] *= factor;
    }
}

// One row of blocks per matrix of n elements, the first of which starts at `first` in the buffer; threads loop over
// elements. x are the orthogonal matrices.
extern "C" __global__ void update_muon(u64 first, u64 n, float factor, const void* used, unsigned int used_stride, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const unsigned short* __restrict__ groups, const OptimizerRule* __restrict__ rules, const float* __restrict__ x, float* __restrict__ params, void* copy, unsigned int format) {
    if (!state->is_applied || !is_used(used, used_stride)) return;
    const OptimizerRule rule = rules[groups[first / 64]];
    if (rule.mode != MUON) return;
    first += blockIdx.y * n, x += blockIdx.y * n;
    const float rate = (float)(settings->learning_rate * rule.lr_factor), decay = rule.decay;
    const u64 stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        float p = params[first + i];
        p -= rate * (factor * x[i] + decay * p);
        params[first + i] = p;
        if (format == COPY_F16) ((f16*)copy)[first + i] = to_f16(p);
        if (format == COPY_BF16) ((unsigned short*)copy)[first + i] = bf16_bits(p, first + i, settings, state->t);
    }
}

// Rounds a copy of all weights, or of other values.
extern "C" __global__ void round_weights(u64 n, const float* __restrict__ params, void* copy, unsigned int format) {
    const u64 stride = 4ull * gridDim.x * blockDim.x;
    for (u64 at = 4ull * ((u64)blockIdx.x * blockDim.x + threadIdx.x); at < n; at += stride) {
        if (at + 4 > n) {
            for (u64 i = at; i < n; ++i) {
                if (format == COPY_F16) ((f16*)copy)[i] = to_f16(params[i]);
                if (format == COPY_BF16) ((bf16*)copy)[i] = to_bf16(params[i]);
            }
            return;
        }
        const float4 p = *(const float4*)(params + at);
        write_copy(copy, format, at, {p.x, p.y, p.z, p.w}, false, 0, 0);
    }
}

// Stochastically rounded copy, equal to the one that the last update wrote. n is a multiple of 4.
extern "C" __global__ void draw_weights(u64 n, const OptimizerSettings* __restrict__ settings, const OptimizerState* __restrict__ state, const float* __restrict__ params, void* copy, unsigned int format) {
    const u64 stride = 4ull * gridDim.x * blockDim.x;
    for (u64 at = 4ull * ((u64)blockIdx.x * blockDim.x + threadIdx.x); at < n; at += stride) {
        const float4 p = *(const float4*)(params + at);
        write_copy(copy, format, at, {p.x, p.y, p.z, p.w}, true, settings->seed, state->t);
    }
}

// Threads loop over elements: copies a range with its optimiser state, zeroes it, or zeroes its state.
extern "C" __global__ void edit_range(unsigned int edit, u64 from, u64 to, u64 n, float* __restrict__ params, float* __restrict__ means, float* __restrict__ squares, void* copy, unsigned int format) {
    const u64 stride = (u64)gridDim.x * blockDim.x;
    const bool copies = edit == EDIT_COPY;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        means[to + i] = copies ? means[from + i] : 0.0f;
        squares[to + i] = copies ? squares[from + i] : 0.0f;
        if (edit != EDIT_RESET) {
            const float p = copies ? params[from + i] : 0.0f;
            params[to + i] = p;
            if (format == COPY_F16) ((f16*)copy)[to + i] = to_f16(p);
            if (format == COPY_BF16) ((bf16*)copy)[to + i] = to_bf16(p);
        }
    }
}
