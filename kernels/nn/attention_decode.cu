// Attention of few queries to many keys, such as new tokens to a KV cache (split-K). A block takes one query of one
// head and a part of its keys, 16 at a time with eight lanes each; a second kernel combines the parts in a fixed order.
// Bound by reading keys and values.
#include "gen/nn-attention_decode.cuh"
#include "nn/attention.cuh"

// Reads eight adjacent elements, aligned to 16 bytes.
__device__ __forceinline__ void read_eight(const AttentionArgs& a, const void* from, unsigned long long at, float (&x)[8]) {
    if (a.format == STORED_F32) {
        const float4 low = *(const float4*)((const float*)from + at), high = *(const float4*)((const float*)from + at + 4);
        x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w, x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
    } else {
        const uint4 bits = *(const uint4*)((const unsigned short*)from + at);
        const unsigned int words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
        for (int n = 0; n < 8; ++n) {
            const unsigned short half = (unsigned short)(words[n / 2] >> n % 2 * 16);
            x[n] = a.format == STORED_F16 ? to_float(f16{half}) : to_float(bf16{half});
        }
    }
}

template <int CHUNKS>
__device__ __forceinline__ void decode(const AttentionArgs& a, const void* q, const void* k, const void* v, const int* q_lengths, const int* k_lengths, const float* bias, float* partial, void* o, float* lse) {
    __shared__ float tops[4], totals[4], rows[4][64 * CHUNKS];
    const unsigned int row = blockIdx.x / a.splits, split = blockIdx.x % a.splits, head = row / a.q_len % a.heads, b = row / a.q_len / a.heads;
    const int i = (int)(row % a.q_len);
    const Sequence s = sequence(a, q_lengths, k_lengths, b);
    const int all_first = first_key(a, s, i), all_end = i < s.lq ? end_key(a, s, i) : all_first;
    const int length = ((all_end - all_first + (int)a.splits - 1) / (int)a.splits + 15) / 16 * 16;
    const int first = all_first + (int)split * length, end = min(first + length, all_end);
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = lane % 8, chunks = a.head_dim / 8;
    float query[CHUNKS][8], sums[CHUNKS][8] = {}, top = minus_infinity(), sum = 0.0f;
    const unsigned long long at_q = place(a.q, s, s.first_q, i, head);
#pragma unroll
    for (int c = 0; c < CHUNKS; ++c) {
#pragma unroll
        for (int n = 0; n < 8; ++n) query[c][n] = 0.0f;
        if (part + 8 * c < chunks && i < s.lq) read_eight(a, q, at_q + 8 * (part + 8 * c), query[c]);
    }
    for (int keys = first; keys < end; keys += 16) {
        const int j = keys + (int)threadIdx.x / 8;
        const bool exists = j < end;
        const unsigned long long at_k = place(a.k, s, s.first_k, exists ? j : first, head / a.group), at_v = place(a.v, s, s.first_k, exists ? j : first, head / a.group);
        float x = 0.0f, values[CHUNKS][8];
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c) {
            float key[8] = {};
#pragma unroll
            for (int n = 0; n < 8; ++n) values[c][n] = 0.0f;
            if (part + 8 * c < chunks && exists) {
                read_eight(a, k, at_k + 8 * (part + 8 * c), key);
                read_eight(a, v, at_v + 8 * (part + 8 * c), values[c]);
            }
#pragma unroll
            for (int n = 0; n < 8; ++n) x = fmaf(query[c][n], key[n], x);
        }
        for (int n = 1; n < 8; n *= 2) x += __shfl_xor_sync(0xffffffffu, x, n);
        x = exists ? x * a.scale + (bias ? bias[bias_place(a, b, head, i, j)] : 0.0f) : minus_infinity();
        const float most = fmaxf(top, x), base = most == minus_infinity() ? 0.0f : most, factor = expf(top - base), p = expf(x - base);
        top = most;
        sum = sum * factor + p;
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c)
#pragma unroll
            for (int n = 0; n < 8; ++n) sums[c][n] = sums[c][n] * factor + p * values[c][n];
    }
    // Reduces over four groups of eight lanes, then over four warps.
#pragma unroll
    for (int n = 8; n < 32; n *= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, top, n), most = fmaxf(top, other), base = most == minus_infinity() ? 0.0f : most;
        const float own = expf(top - base), others = expf(other - base);
        top = most;
        sum = sum * own + __shfl_xor_sync(0xffffffffu, sum, n) * others;
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c)
#pragma unroll
            for (int m = 0; m < 8; ++m) sums[c][m] = sums[c][m] * own + __shfl_xor_sync(0xffffffffu, sums[c][m], n) * others;
    }
    if (lane < 8) {
        if (part == 0) tops[warp] = top, totals[warp] = sum;
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c)
#pragma unroll
            for (int n = 0; n < 8; ++n) rows[warp][8 * (part + 8 * c) + n] = sums[c][n];
    }
    __syncthreads();
    const float most = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3])), base = most == minus_infinity() ? 0.0f : most;
    float factors[4], total = 0.0f;
#pragma unroll
    for (int w = 0; w < 4; ++w) factors[w] = expf(tops[w] - base), total += totals[w] * factors[w];
    float* to = partial + (unsigned long long)blockIdx.x * (a.head_dim + 2);
    const unsigned long long at_o = place(a.o, s, s.first_q, i, head);
    for (unsigned int d = threadIdx.x; d < a.head_dim; d += blockDim.x) {
        float x = 0.0f;
#pragma unroll
        for (int w = 0; w < 4; ++w) x += rows[w][d] * factors[w];
        if (a.splits > 1) to[2 + d] = x;
        else if (i < s.lq || a.lengths != LENGTHS_PACKED) store(o, at_o + d, a.format, total != 0.0f ? x / total : 0.0f);
    }
    if (threadIdx.x == 0) {
        if (a.splits > 1) to[0] = most, to[1] = total;
        else lse[row] = total != 0.0f ? most + logf(total) : minus_infinity();
    }
}

#define FORWARD_ARGS AttentionArgs a, const void *q, const void *k, const void *v, const void *q_lengths, const void *k_lengths, const void *bias
#define FORWARD_VALUES a, q, k, v, (const int*)q_lengths, (const int*)k_lengths, (const float*)bias

extern "C" __global__ void attention_decode_128(FORWARD_ARGS, float* partial, void* o, float* lse) { decode<2>(FORWARD_VALUES, partial, o, lse); }
extern "C" __global__ void attention_decode_256(FORWARD_ARGS, float* partial, void* o, float* lse) { decode<4>(FORWARD_VALUES, partial, o, lse); }

// One block per query and head: combines its parts.
extern "C" __global__ void attention_join(AttentionArgs a, const void* q_lengths, const void* k_lengths, const float* partial, void* o, float* lse) {
    const unsigned int row = blockIdx.x, head = row / a.q_len % a.heads, b = row / a.q_len / a.heads, wide = a.head_dim + 2;
    const int i = (int)(row % a.q_len);
    const Sequence s = sequence(a, (const int*)q_lengths, (const int*)k_lengths, b);
    const float* from = partial + (unsigned long long)row * a.splits * wide;
    float most = minus_infinity(), total = 0.0f;
    for (unsigned int n = 0; n < a.splits; ++n) most = fmaxf(most, from[n * wide]);
    const float base = most == minus_infinity() ? 0.0f : most;
    for (unsigned int n = 0; n < a.splits; ++n) total += from[n * wide + 1] * expf(from[n * wide] - base);
    if (threadIdx.x == 0) lse[row] = total != 0.0f ? most + logf(total) : minus_infinity();
    if (i >= s.lq && a.lengths == LENGTHS_PACKED) return;
    const unsigned long long at = place(a.o, s, s.first_q, i, head);
    for (unsigned int d = threadIdx.x; d < a.head_dim; d += blockDim.x) {
        float x = 0.0f;
        for (unsigned int n = 0; n < a.splits; ++n) x += from[n * wide + 2 + d] * expf(from[n * wide] - base);
        store(o, at + d, a.format, total != 0.0f ? x / total : 0.0f);
    }
}
