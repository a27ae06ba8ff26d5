// Activation functions: formulas in src/nn/activation/mod.rs. One thread per pack of 16 bytes; memory-bound.
//
// GELU by tanh on an H200, share of 4.8 TB/s (copying reaches 81 to 87 %): 60 % with expf, exact quotients, bf16 by
// integers and threads that take turns; now 85 % of 65,536 x 1024 of bf16 (65.6 us). Variants of it alone, 16384 x
// 3072, us forward and backward:
//   approximate powers and reciprocals, bf16 by cvt, threads in turns   54.4 (77 %)   78.3 (80 %)
//   and a thread for each pack                                          48.9 (86 %)   71.1 (89 %)
//   and two or four packs of a thread, loaded first                     50.0, 50.7    71.2, 73.2
//   with two packs, bf16 by integers                                    52.0          73.2
// GELU by erf is bound by arithmetic: 126.6 and 157.7 before, 107.9 and 136.7 now.
#pragma once
#include "gen/nn-activation.cuh"
#include "nn/rows.cuh"

__device__ __forceinline__ float logistic(float x) { return reciprocal(1.0f + power_of_two(-LOG2_E * x)); }
// exp(-2 u), u = sqrt(2/pi) (x + 0.044715 x^3): 0.5 (1 + tanh(u)) is the logistic function of 2 u.
__device__ __forceinline__ float gelu_power(float x) { return power_of_two(x * fmaf(-0.1029432397f, x * x, -2.302208198f)); }
// Not inlined: eight inlined copies would take twice the registers of the other functions.
__device__ __noinline__ float normal_cdf(float x) { return 0.5f * erfcf(x * -0.7071067811865476f); }

template <unsigned int ACT>
__device__ __forceinline__ float value(float x) {
    if (ACT == GELU_TANH) return x * reciprocal(1.0f + gelu_power(x));
    if (ACT == GELU_ERF) return x * normal_cdf(x);
    if (ACT == RELU) return x < 0.0f ? 0.0f : x;
    return x < 0.0f ? 0.0f : x * x;
}

template <unsigned int ACT>
__device__ __forceinline__ float slope(float x) {
    if (ACT == GELU_TANH) {
        // Beyond 9 the result is 0 or 1 for any square of x; from -10.1 on, e is infinite. 1 - s = e s, without
        // cancellation.
        const float z = fabsf(x) > 9.0f ? copysignf(9.0f, x) : x, e = gelu_power(z), s = reciprocal(1.0f + e);
        return fmaf(z * (s * (e * s)), fmaf(0.2140644488f, z * z, 1.5957691216057308f), s);
    }
    if (ACT == GELU_ERF) return normal_cdf(x) + x * (0.3989422804014327f * expf(-0.5f * x * x));
    if (ACT == RELU) return x > 0.0f ? 1.0f : 0.0f;
    return x > 0.0f ? 2.0f * x : 0.0f;
}

template <class F, class... Packs>
__device__ __forceinline__ void apply_to_words(T* to, F f, const Packs&... x) {
    unsigned int words[4];
#pragma unroll
    for (unsigned int w = 0; w < 4; ++w) words[w] = word_of(f(element(x, w * PER_WORD)...), PER_WORD > 1 ? f(element(x, w * PER_WORD + PER_WORD - 1)...) : 0.0f);
    *(uint4*)to = make_uint4(words[0], words[1], words[2], words[3]);
}

// to[i] = f(x[i]...) for a pack from element i on, word by word, because holding all packs as floats would halve the
// number of resident threads.
template <class F, class... Inputs>
__device__ __forceinline__ void each_element(T* to, u64 i, u64 n, bool is_aligned, F f, const Inputs*... x) {
    if (is_aligned && i + PACK <= n) {
        apply_to_words(to + i, f, read_whole(x + i)...);
    } else {
#pragma unroll 1
        for (unsigned int e = 0; e < PACK; ++e) if (i + e < n) to[i + e] = from_float<T>(f(to_float(x[i + e])...));
    }
}

template <unsigned int ACT>
__device__ __forceinline__ void forward_all(const ActivationArgs& a, const T* x, T* y) {
    const u64 n = a.rows * a.columns;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step())
        each_element(y, pack * PACK, n, a.is_aligned, [](float x) { return value<ACT>(x); }, x);
}

template <unsigned int ACT>
__device__ __forceinline__ void backward_all(const ActivationArgs& a, const T* x, const T* dy, T* dx) {
    const u64 n = a.rows * a.columns;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step())
        each_element(dx, pack * PACK, n, a.is_aligned, [](float x, float d) { return d * slope<ACT>(x); }, x, dy);
}

// Calls f(row, column) for each pack of a row of the output of SwiGLU.
template <class F>
__device__ __forceinline__ void each_gate(const ActivationArgs& a, F f) {
    const u64 per_row = (a.columns + PACK - 1) / PACK;
    for (u64 pack = first_pack(); pack < a.rows * per_row; pack += pack_step()) f(pack / per_row, pack % per_row * PACK);
}

extern "C" __global__ void activation_forward(ActivationArgs a, const void* x, void* y) {
    const T* from = (const T*)x;
    T* to = (T*)y;
    switch (a.function) {
        case GELU_TANH: return forward_all<GELU_TANH>(a, from, to);
        case GELU_ERF: return forward_all<GELU_ERF>(a, from, to);
        case RELU: return forward_all<RELU>(a, from, to);
        case RELU_SQUARED: return forward_all<RELU_SQUARED>(a, from, to);
        default: break;
    }
    each_gate(a, [&](u64 row, u64 column) {
        const T* both = from + 2 * row * a.columns;
        each_element(to + row * a.columns, column, a.columns, a.is_aligned, [](float gate, float up) { return up * gate * logistic(gate); }, both, both + a.columns);
    });
}

extern "C" __global__ void activation_backward(ActivationArgs a, const void* x, const void* dy, void* dx) {
    const T *from = (const T*)x, *above = (const T*)dy;
    T* to = (T*)dx;
    switch (a.function) {
        case GELU_TANH: return backward_all<GELU_TANH>(a, from, above, to);
        case GELU_ERF: return backward_all<GELU_ERF>(a, from, above, to);
        case RELU: return backward_all<RELU>(a, from, above, to);
        case RELU_SQUARED: return backward_all<RELU_SQUARED>(a, from, above, to);
        default: break;
    }
    each_gate(a, [&](u64 row, u64 column) {
        const T *both = from + 2 * row * a.columns, *d = above + row * a.columns;
        T* gradients = to + 2 * row * a.columns;
        each_element(gradients, column, a.columns, a.is_aligned, [](float gate, float up, float d) {
            const float s = logistic(gate);
            return d * up * s * fmaf(gate, 1.0f - s, 1.0f);
        }, both, both + a.columns, d);
        each_element(gradients + a.columns, column, a.columns, a.is_aligned, [](float gate, float d) { return d * gate * logistic(gate); }, both, d);
    });
}
