// Heads of attention between packed projections, [tokens, (H + 2 Hkv) D], and rows by head, [B, H, T, D], that are multiplied:
// rotary positions, norm without gain and the factor of queries in one pass. Formulas in src/kinds/synaptic/cpu. On an H200, of
// 16384 tokens with 8 + 2 heads of 32 features, µs in a step: split_heads 68 -> 35, values with move_heads 80 -> 64, gradients of
// attention with both 542 -> 474, by places in 32 instead of 64 bits (divisions), two heads per warp, and moves of four elements.
// Then four pairs per lane: by themselves, split_heads 52 -> 35, backward 61 -> 46; with 64 features and twice the tokens 143 -> 69,
// 163 -> 97; in a step split_heads 36 -> 19.
#include "gen/synaptic-heads.cuh"

typedef unsigned long long u64;

constexpr unsigned int ALL_LANES = 0xffffffffu;

// Lanes of a head: each has WIDE neighbouring pairs at a time. Four of them where rows are aligned, and a head is then read at once;
// else one, and 16 lanes have a head of up to 32 features. Heads of all tokens are less than 2^32.
template <unsigned int WIDE>
struct Heads {
    static constexpr unsigned int TURNS = WIDE == 4 ? 1 : MAX_HEAD / 64;
    static_assert(MAX_HEAD <= 256, "32 lanes have four pairs each");
    unsigned int lane, lanes, each; // lane in its head, lanes of a head, heads of a warp
    __device__ __forceinline__ explicit Heads(const HeadArgs& a) {
        lanes = WIDE == 4 ? 1 : 16;
        while (lanes < 32 && 2 * WIDE * lanes < a.head_dim) lanes *= 2;
        each = 32 / lanes;
        lane = threadIdx.x % lanes;
    }
    // Sum over the lanes of a head. All lanes of the warp call it.
    __device__ __forceinline__ float sum(float x) const {
        for (unsigned int offset = lanes / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
        return x;
    }
};

template <unsigned int WIDE>
struct Numbers { float of[WIDE]; };

template <unsigned int WIDE>
__device__ __forceinline__ Numbers<WIDE> read(const float* from) {
    Numbers<WIDE> x;
    if (WIDE == 4) {
        const float4 four = *(const float4*)from;
        x.of[0] = four.x, x.of[1 % WIDE] = four.y, x.of[2 % WIDE] = four.z, x.of[3 % WIDE] = four.w;
    } else {
        x.of[0] = *from;
    }
    return x;
}

template <unsigned int WIDE>
__device__ __forceinline__ void write(float* to, const Numbers<WIDE>& x) {
    if (WIDE == 4) *(float4*)to = make_float4(x.of[0], x.of[1 % WIDE], x.of[2 % WIDE], x.of[3 % WIDE]);
    else *to = x.of[0];
}

template <unsigned int WIDE>
__device__ __forceinline__ Numbers<WIDE> all_of(float x) {
    Numbers<WIDE> all;
#pragma unroll
    for (unsigned int e = 0; e < WIDE; ++e) all.of[e] = x;
    return all;
}

// Whether halves of heads begin at multiples of 16 bytes.
__device__ __forceinline__ bool is_wide(const HeadArgs& a, u64 all_addresses) { return a.head_dim % 8 == 0 && (all_addresses & 15) == 0; }

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
template <unsigned int WIDE, class F>
__device__ __forceinline__ void each_head(const HeadArgs& a, const Heads<WIDE>& of, F f) {
    const unsigned int n = n_places(a), step = gridDim.x * blockDim.x / of.lanes;
    const unsigned int own = (blockIdx.x * blockDim.x + threadIdx.x) / of.lanes, first = own / of.each * of.each;
    for (unsigned int i = 0; first + i < n; i += step) f(min(own + i, n - 1), own + i < n);
}

// Arrays that split_heads reads and writes.
struct Split {
    const float *packed, *cosines, *sines, *temperature;
    float *q, *k, *v, *rstd;
};

template <unsigned int WIDE>
__device__ __forceinline__ void split(const HeadArgs& a, const Split& s) {
    typedef Heads<WIDE> Of;
    const Of of(a);
    const unsigned int half = a.head_dim / 2;
    each_head(a, of, [&](unsigned int i, bool is_there) {
        const Place p = place_of(a, i);
        const float* from = s.packed + p.packed;
        const unsigned int angle = (a.key_offset + p.t) * half;
        Numbers<WIDE> low[Of::TURNS], high[Of::TURNS];
        float sum = 0.0f;
#pragma unroll
        for (unsigned int turn = 0; turn < Of::TURNS; ++turn) {
            const unsigned int c = WIDE * (of.lanes * turn + of.lane);
            if (c >= half) break;
            const Numbers<WIDE> x1 = read<WIDE>(from + c), x2 = read<WIDE>(from + c + half);
            const Numbers<WIDE> cosine = p.is_value ? all_of<WIDE>(1.0f) : read<WIDE>(s.cosines + angle + c);
            const Numbers<WIDE> sine = p.is_value ? all_of<WIDE>(0.0f) : read<WIDE>(s.sines + angle + c);
#pragma unroll
            for (unsigned int e = 0; e < WIDE; ++e) {
                const float y1 = x1.of[e] * cosine.of[e] - x2.of[e] * sine.of[e], y2 = x1.of[e] * sine.of[e] + x2.of[e] * cosine.of[e];
                low[turn].of[e] = y1, high[turn].of[e] = y2;
                sum += y1 * y1 + y2 * y2;
            }
        }
        const float reciprocal = 1.0f / sqrtf(of.sum(sum) / (float)a.head_dim + a.eps);
        if (!is_there) return;
        const float factor = p.is_value ? 1.0f : p.is_query && s.temperature ? reciprocal * s.temperature[p.head] : reciprocal;
        float* to = (p.is_query ? s.q : p.is_value ? s.v : s.k) + p.by_head;
#pragma unroll
        for (unsigned int turn = 0; turn < Of::TURNS; ++turn) {
            const unsigned int c = WIDE * (of.lanes * turn + of.lane);
            if (c >= half) break;
#pragma unroll
            for (unsigned int e = 0; e < WIDE; ++e) low[turn].of[e] *= factor, high[turn].of[e] *= factor;
            write(to + c, low[turn]);
            write(to + c + half, high[turn]);
        }
        if (of.lane == 0 && !p.is_value) s.rstd[(u64)p.token * (a.heads + a.kv_heads) + p.slot] = reciprocal;
    });
}

// Some lanes per head of a token: rotated and normalised queries and keys, values as they are; reciprocals of the root mean squares.
// `place`: the position of the first key, where it is in memory.
extern "C" __global__ void split_heads(HeadArgs a, const void* place, const float* __restrict__ packed, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, float* __restrict__ q, float* __restrict__ k, float* __restrict__ v, float* __restrict__ rstd) {
    if (place) a.key_offset = *(const unsigned int*)place;
    const Split all = {packed, cosines, sines, (const float*)temperature, q, k, v, rstd};
    if (is_wide(a, (u64)packed | (u64)cosines | (u64)sines | (u64)q | (u64)k | (u64)v)) split<4>(a, all);
    else split<1>(a, all);
}

// Arrays that split_heads_backward reads and writes.
struct SplitGradients {
    const float *cosines, *sines, *temperature, *q, *k, *rstd, *dq, *dk, *dv;
    float *dpacked, *products;
};

template <unsigned int WIDE>
__device__ __forceinline__ void split_backward(const HeadArgs& a, const SplitGradients& s) {
    typedef Heads<WIDE> Of;
    const Of of(a);
    const unsigned int half = a.head_dim / 2;
    each_head(a, of, [&](unsigned int i, bool is_there) {
        const Place p = place_of(a, i);
        const float* y = (p.is_query ? s.q : s.k) + p.by_head;
        const float* dy = (p.is_query ? s.dq : p.is_value ? s.dv : s.dk) + p.by_head;
        Numbers<WIDE> y1[Of::TURNS], y2[Of::TURNS], dy1[Of::TURNS], dy2[Of::TURNS];
        float dot = 0.0f;
#pragma unroll
        for (unsigned int turn = 0; turn < Of::TURNS; ++turn) {
            const unsigned int c = WIDE * (of.lanes * turn + of.lane);
            if (c >= half) break;
            dy1[turn] = read<WIDE>(dy + c), dy2[turn] = read<WIDE>(dy + c + half);
            y1[turn] = p.is_value ? all_of<WIDE>(0.0f) : read<WIDE>(y + c), y2[turn] = p.is_value ? all_of<WIDE>(0.0f) : read<WIDE>(y + c + half);
#pragma unroll
            for (unsigned int e = 0; e < WIDE; ++e) dot += y1[turn].of[e] * dy1[turn].of[e] + y2[turn].of[e] * dy2[turn].of[e];
        }
        dot = of.sum(dot);
        if (!is_there) return;
        const float scale = p.is_query && s.temperature ? s.temperature[p.head] : 1.0f;
        const float reciprocal = p.is_value ? 1.0f : s.rstd[(u64)p.token * (a.heads + a.kv_heads) + p.slot];
        const float along = dot / ((float)a.head_dim * scale);
        const unsigned int angle = (a.key_offset + p.t) * half;
        float* to = s.dpacked + p.packed;
#pragma unroll
        for (unsigned int turn = 0; turn < Of::TURNS; ++turn) {
            const unsigned int c = WIDE * (of.lanes * turn + of.lane);
            if (c >= half) break;
            const Numbers<WIDE> cosine = p.is_value ? all_of<WIDE>(1.0f) : read<WIDE>(s.cosines + angle + c);
            const Numbers<WIDE> sine = p.is_value ? all_of<WIDE>(0.0f) : read<WIDE>(s.sines + angle + c);
            Numbers<WIDE> low, high;
#pragma unroll
            for (unsigned int e = 0; e < WIDE; ++e) {
                const float d1 = reciprocal * (scale * dy1[turn].of[e] - along * y1[turn].of[e]), d2 = reciprocal * (scale * dy2[turn].of[e] - along * y2[turn].of[e]);
                low.of[e] = d1 * cosine.of[e] + d2 * sine.of[e];
                high.of[e] = d2 * cosine.of[e] - d1 * sine.of[e];
            }
            write(to + c, low);
            write(to + c + half, high);
        }
        if (s.products && p.is_query && of.lane == 0) s.products[(u64)p.token * a.heads + p.head] = dot;
    });
}

// Backward pass of split_heads: gradients of the packed projections, and for each head of queries the product of its
// gradient with the query, for the gradient of the temperature.
extern "C" __global__ void split_heads_backward(HeadArgs a, const float* __restrict__ cosines, const float* __restrict__ sines, const void* temperature, const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ rstd, const float* __restrict__ dq, const float* __restrict__ dk, const float* __restrict__ dv, float* __restrict__ dpacked, void* products) {
    const SplitGradients all = {cosines, sines, (const float*)temperature, q, k, rstd, dq, dk, dv, dpacked, (float*)products};
    if (is_wide(a, (u64)cosines | (u64)sines | (u64)q | (u64)k | (u64)dq | (u64)dk | (u64)dv | (u64)dpacked)) split_backward<4>(a, all);
    else split_backward<1>(a, all);
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
