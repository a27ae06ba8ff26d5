// Heads of attention between packed projections, [tokens, (H + 2 Hkv) D], and rows by head, [B, H, T, D], that are multiplied:
// rotary positions, norm without gain and the factor of queries in one pass. Formulas in src/kinds/synaptic/cpu. On an H200, of
// 16384 tokens with 8 + 2 heads of 32 features, µs in a step: split_heads 68 -> 35, values with move_heads 80 -> 64, gradients of
// attention with both 542 -> 474, by places in 32 instead of 64 bits (divisions), two heads per warp, and moves of four elements.
#include "gen/synaptic-heads.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;
// Pairs of a head that a lane has.
constexpr unsigned int PAIRS = MAX_HEAD / 64;

// Heads of a warp: two of up to 32 features, whose 16 lanes have a pair each. Heads of all tokens are less than 2^32.
struct Heads {
    unsigned int lane, lanes, each; // lane in its head, lanes of a head, heads of a warp
    __device__ __forceinline__ explicit Heads(const HeadArgs& a) {
        each = a.head_dim <= 32 ? 2 : 1;
        lanes = 32 / each;
        lane = threadIdx.x % lanes;
    }
    // Sum over the lanes of a head. All lanes of the warp call it.
    __device__ __forceinline__ float sum(float x) const {
        if (each == 1) x += __shfl_xor_sync(ALL_LANES, x, 16);
#pragma unroll
        for (int offset = 8; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
        return x;
    }
};

// A head of a token.
struct Place {
    unsigned int slot, t, token;
    u64 packed, by_head; // first elements
    bool is_query, is_value;
    unsigned int head; // among queries, keys or values
};

__device__ __forceinline__ Place place_of(const HeadArgs& a, unsigned int i) {
    const unsigned int slots = a.heads + 2 * a.kv_heads;
    Place p;
    p.token = i / slots;
    p.slot = i - p.token * slots;
    const unsigned int b = p.token / a.seq_len;
    p.t = p.token - b * a.seq_len;
    p.packed = (u64)i * a.head_dim;
    p.is_query = p.slot < a.heads;
    p.is_value = p.slot >= a.heads + a.kv_heads;
    p.head = p.is_query ? p.slot : p.slot - a.heads - (p.is_value ? a.kv_heads : 0);
    if (p.is_query) p.by_head = (((u64)b * a.heads + p.head) * a.seq_len + p.t) * a.head_dim;
    else p.by_head = (((u64)b * a.kv_heads + p.head) * a.key_rows + a.key_offset + p.t) * a.head_dim;
    return p;
}

__device__ __forceinline__ unsigned int n_places(const HeadArgs& a) { return a.tokens * (a.heads + 2 * a.kv_heads); }

// Calls f(head, whether there is one) for all heads; the lanes of a warp together.
template <class F>
__device__ __forceinline__ void each_head(const HeadArgs& a, const Heads& of, F f) {
    const unsigned int n = n_places(a), step = gridDim.x * blockDim.x / of.lanes;
    const unsigned int own = (blockIdx.x * blockDim.x + threadIdx.x) / of.lanes, first = own / of.each * of.each;
    for (unsigned int i = 0; first + i < n; i += step) f(min(own + i, n - 1), own + i < n);
}

// A half of a warp or a warp per head of a token: rotated and normalised queries and keys, values as they are; reciprocals of the
// root mean squares. `place`: the position of the first key, where it is in memory.
extern "C" __global__ void split_heads(HeadArgs a, const void* place, const float* __restrict__ packed, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, float* __restrict__ q, float* __restrict__ k, float* __restrict__ v, float* __restrict__ rstd) {
    const Heads of(a);
    const unsigned int half = a.head_dim / 2;
    if (place) a.key_offset = *(const unsigned int*)place;
    each_head(a, of, [&](unsigned int i, bool is_there) {
        const Place p = place_of(a, i);
        const float* from = packed + p.packed;
        const unsigned int angle = (a.key_offset + p.t) * half;
        float x[PAIRS][2], sum = 0.0f;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = of.lanes * pair + of.lane;
            if (c >= half) break;
            const float x1 = from[c], x2 = from[c + half];
            const float cosine = p.is_value ? 1.0f : cosines[angle + c], sine = p.is_value ? 0.0f : sines[angle + c];
            x[pair][0] = x1 * cosine - x2 * sine;
            x[pair][1] = x1 * sine + x2 * cosine;
            sum += x[pair][0] * x[pair][0] + x[pair][1] * x[pair][1];
        }
        const float reciprocal = 1.0f / sqrtf(of.sum(sum) / (float)a.head_dim + a.eps);
        if (!is_there) return;
        const float factor = p.is_value ? 1.0f : p.is_query && temperature ? reciprocal * ((const float*)temperature)[p.head] : reciprocal;
        float* to = (p.is_query ? q : p.is_value ? v : k) + p.by_head;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = of.lanes * pair + of.lane;
            if (c >= half) break;
            to[c] = x[pair][0] * factor;
            to[c + half] = x[pair][1] * factor;
        }
        if (of.lane == 0 && !p.is_value) rstd[(u64)p.token * (a.heads + a.kv_heads) + p.slot] = reciprocal;
    });
}

// The same backwards: gradients of the packed projections, and of each head of queries its product with the query, for the
// gradient of the temperature.
extern "C" __global__ void split_heads_backward(HeadArgs a, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ rstd, const float* __restrict__ dq, const float* __restrict__ dk, const float* __restrict__ dv, float* __restrict__ dpacked, void* products) {
    const Heads of(a);
    const unsigned int half = a.head_dim / 2;
    each_head(a, of, [&](unsigned int i, bool is_there) {
        const Place p = place_of(a, i);
        const float* y = (p.is_query ? q : k) + p.by_head;
        const float* dy = (p.is_query ? dq : p.is_value ? dv : dk) + p.by_head;
        float of_y[PAIRS][2], of_dy[PAIRS][2], dot = 0.0f;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = of.lanes * pair + of.lane;
            if (c >= half) break;
            of_dy[pair][0] = dy[c], of_dy[pair][1] = dy[c + half];
            of_y[pair][0] = p.is_value ? 0.0f : y[c], of_y[pair][1] = p.is_value ? 0.0f : y[c + half];
            dot += of_y[pair][0] * of_dy[pair][0] + of_y[pair][1] * of_dy[pair][1];
        }
        dot = of.sum(dot);
        if (!is_there) return;
        const float scale = p.is_query && temperature ? ((const float*)temperature)[p.head] : 1.0f;
        const float reciprocal = p.is_value ? 1.0f : rstd[(u64)p.token * (a.heads + a.kv_heads) + p.slot];
        const float along = dot / ((float)a.head_dim * scale);
        const unsigned int angle = (a.key_offset + p.t) * half;
        float* to = dpacked + p.packed;
#pragma unroll
        for (unsigned int pair = 0; pair < PAIRS; ++pair) {
            const unsigned int c = of.lanes * pair + of.lane;
            if (c >= half) break;
            const float d1 = reciprocal * (scale * of_dy[pair][0] - along * of_y[pair][0]), d2 = reciprocal * (scale * of_dy[pair][1] - along * of_y[pair][1]);
            const float cosine = p.is_value ? 1.0f : cosines[angle + c], sine = p.is_value ? 0.0f : sines[angle + c];
            to[c] = d1 * cosine + d2 * sine;
            to[c + half] = d2 * cosine - d1 * sine;
        }
        if (products && p.is_query && of.lane == 0) ((float*)products)[(u64)p.token * a.heads + p.head] = dot;
    });
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

// A thread per element, or per four neighbouring ones, of tokens [B, T, H D] and rows by head [B, H, T, D], in the order of what
// is written. There are less than 2^32.
extern "C" __global__ void move_heads(HeadArgs a, unsigned int to_tokens, const float* __restrict__ from, float* __restrict__ to) {
    const bool fours = a.head_dim % 4 == 0 && (((u64)from | (u64)to) & 15) == 0;
    const unsigned int dim = fours ? a.head_dim / 4 : a.head_dim, n = a.tokens * a.heads * dim, stride = gridDim.x * blockDim.x;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        const unsigned int row = i / dim, c = i - row * dim, inner = to_tokens ? a.heads : a.seq_len, outer = to_tokens ? a.seq_len : a.heads;
        // Rows [B, outer, inner] of what is written are rows [B, inner, outer] of what is read.
        const unsigned int above = row / inner, in = row - above * inner, b = above / outer, out = above - b * outer;
        const unsigned int at = ((b * inner + in) * outer + out) * dim + c;
        if (fours) ((float4*)to)[i] = ((const float4*)from)[at];
        else to[i] = from[at];
    }
}

// A thread per slot of the last tokens of a batch: what they selected.
extern "C" __global__ void keep_selection(unsigned int first, unsigned int n, const unsigned int* __restrict__ indices, const float* __restrict__ gates, unsigned int* __restrict__ experts, float* __restrict__ kept) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    experts[i] = indices[first + i];
    kept[i] = gates[first + i];
}
