// Heads of attention between packed projections, [tokens, (H + 2 Hkv) D], and rows by head, [B, H, T, D], that are multiplied:
// rotary positions, norm without gain and the factor of queries in one pass. Formulas in src/kinds/synaptic/cpu.
#include "gen/synaptic-heads.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;
// Pairs of a head that a lane has.
constexpr unsigned int PAIRS = MAX_HEAD / 64;

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    return x;
}

// A head of a token, for a warp.
struct Place {
    unsigned int slot, t;
    u64 token, packed, by_head; // first elements
    bool is_query, is_value;
    unsigned int head; // among queries, keys or values
};

__device__ __forceinline__ Place place(const HeadArgs& a, u64 i) {
    const unsigned int slots = a.heads + 2 * a.kv_heads;
    Place p;
    p.token = i / slots;
    p.slot = i % slots;
    p.t = p.token % a.seq_len;
    p.packed = i * a.head_dim;
    p.is_query = p.slot < a.heads;
    p.is_value = p.slot >= a.heads + a.kv_heads;
    p.head = p.is_query ? p.slot : (p.slot - a.heads) % a.kv_heads;
    const u64 b = p.token / a.seq_len;
    if (p.is_query) p.by_head = ((b * a.heads + p.head) * a.seq_len + p.t) * a.head_dim;
    else p.by_head = ((b * a.kv_heads + p.head) * a.key_rows + a.key_offset + p.t) * a.head_dim;
    return p;
}

__device__ __forceinline__ u64 n_places(const HeadArgs& a) { return (u64)a.tokens * (a.heads + 2 * a.kv_heads); }
__device__ __forceinline__ u64 warp_id() { return ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32; }
__device__ __forceinline__ u64 n_warps() { return (u64)gridDim.x * blockDim.x / 32; }

// A warp per head of a token: rotated and normalised queries and keys, values as they are; reciprocals of the root mean squares.
extern "C" __global__ void split_heads(HeadArgs a, const float* __restrict__ packed, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, float* __restrict__ q, float* __restrict__ k, float* __restrict__ v, float* __restrict__ rstd) {
    const unsigned int lane = threadIdx.x % 32, half = a.head_dim / 2;
    for (u64 i = warp_id(); i < n_places(a); i += n_warps()) {
        const Place p = place(a, i);
        const float* from = packed + p.packed;
        if (p.is_value) {
            for (unsigned int c = lane; c < a.head_dim; c += 32) v[p.by_head + c] = from[c];
            continue;
        }
        const u64 angle = (u64)(a.key_offset + p.t) * half;
        float x[PAIRS][2], sum = 0.0f;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = 32 * pair + lane;
            if (c >= half) break;
            const float x1 = from[c], x2 = from[c + half], cosine = cosines[angle + c], sine = sines[angle + c];
            x[pair][0] = x1 * cosine - x2 * sine;
            x[pair][1] = x1 * sine + x2 * cosine;
            sum += x[pair][0] * x[pair][0] + x[pair][1] * x[pair][1];
        }
        __syncwarp();
        const float reciprocal = 1.0f / sqrtf(warp_sum(sum) / (float)a.head_dim + a.eps);
        const float factor = p.is_query && temperature ? reciprocal * ((const float*)temperature)[p.head] : reciprocal;
        float* to = (p.is_query ? q : k) + p.by_head;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = 32 * pair + lane;
            if (c >= half) break;
            to[c] = x[pair][0] * factor;
            to[c + half] = x[pair][1] * factor;
        }
        if (lane == 0) rstd[p.token * (a.heads + a.kv_heads) + p.slot] = reciprocal;
    }
}

// The same backwards: gradients of the packed projections, and of each head of queries its product with the query, for the
// gradient of the temperature.
extern "C" __global__ void split_heads_backward(HeadArgs a, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ rstd, const float* __restrict__ dq, const float* __restrict__ dk, const float* __restrict__ dv, float* __restrict__ dpacked, void* products) {
    const unsigned int lane = threadIdx.x % 32, half = a.head_dim / 2;
    for (u64 i = warp_id(); i < n_places(a); i += n_warps()) {
        const Place p = place(a, i);
        float* to = dpacked + p.packed;
        if (p.is_value) {
            for (unsigned int c = lane; c < a.head_dim; c += 32) to[c] = dv[p.by_head + c];
            continue;
        }
        const float* y = (p.is_query ? q : k) + p.by_head;
        const float* dy = (p.is_query ? dq : dk) + p.by_head;
        float dot = 0.0f;
        for (unsigned int c = lane; c < a.head_dim; c += 32) dot += y[c] * dy[c];
        dot = warp_sum(dot);
        const float scale = p.is_query && temperature ? ((const float*)temperature)[p.head] : 1.0f;
        const float reciprocal = rstd[p.token * (a.heads + a.kv_heads) + p.slot];
        const float along = dot / ((float)a.head_dim * scale);
        const u64 angle = (u64)(a.key_offset + p.t) * half;
        for (unsigned int c = lane; c < half; c += 32) {
            const float d1 = reciprocal * (scale * dy[c] - along * y[c]), d2 = reciprocal * (scale * dy[c + half] - along * y[c + half]);
            const float cosine = cosines[angle + c], sine = sines[angle + c];
            to[c] = d1 * cosine + d2 * sine;
            to[c + half] = d2 * cosine - d1 * sine;
        }
        if (products && p.is_query && lane == 0) ((float*)products)[p.token * a.heads + p.head] = dot;
    }
}

// A block per head: adds the sum of products over tokens, by the temperature, to its gradient.
extern "C" __global__ void add_temperature_gradient(HeadArgs a, const float* __restrict__ products, const float* __restrict__ temperature, float* __restrict__ gradient) {
    __shared__ double warps[8];
    double sum = 0.0;
    for (u64 token = threadIdx.x; token < a.tokens; token += blockDim.x) sum += (double)products[token * a.heads + blockIdx.x];
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(ALL_LANES, sum, offset);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (unsigned int w = 1; w < blockDim.x / 32; ++w) sum += warps[w];
    gradient[blockIdx.x] += (float)(sum / (double)temperature[blockIdx.x]);
}

// A thread per element of tokens [B, T, H D] and rows by head [B, H, T, D], in the order of what is written.
extern "C" __global__ void move_heads(HeadArgs a, unsigned int to_tokens, const float* __restrict__ from, float* __restrict__ to) {
    const u64 width = (u64)a.heads * a.head_dim, n = (u64)a.tokens * width, stride = (u64)gridDim.x * blockDim.x;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const unsigned int c = i % a.head_dim;
        if (to_tokens) {
            const unsigned int head = i / a.head_dim % a.heads;
            const u64 token = i / width, b = token / a.seq_len, t = token % a.seq_len;
            to[i] = from[((b * a.heads + head) * a.seq_len + t) * a.head_dim + c];
        } else {
            const u64 row = i / a.head_dim, t = row % a.seq_len, b = row / a.seq_len / a.heads;
            const unsigned int head = row / a.seq_len % a.heads;
            to[i] = from[(b * a.seq_len + t) * width + (u64)head * a.head_dim + c];
        }
    }
}

// A thread per slot of the last tokens of a batch: what they selected.
extern "C" __global__ void keep_selection(unsigned int first, unsigned int n, const unsigned int* __restrict__ indices, const float* __restrict__ gates, unsigned int* __restrict__ experts, float* __restrict__ kept) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    experts[i] = indices[first + i];
    kept[i] = gates[first + i];
}
