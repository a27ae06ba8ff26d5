// Activation functions: formulas in src/nn/activation/mod.rs. A thread has packs of 16
// bytes, a grid's width apart; all of it is bound by memory.
#pragma once
#include "gen/nn-activation_f32.cuh"
#include "nn/rows.cuh"

__device__ __forceinline__ float logistic(float x) { return 1.0f / (1.0f + expf(-x)); }
// 2 sqrt(2/pi) (x + 0.044715 x^3): 0.5 (1 + tanh(u)) is the logistic function of 2 u.
__device__ __forceinline__ float gelu_argument(float x) { return 1.5957691216057308f * (x + 0.044715f * x * x * x); }
__device__ __forceinline__ float normal_cdf(float x) { return 0.5f * erfcf(x * -0.7071067811865476f); }

template <unsigned int ACT>
__device__ __forceinline__ float value(float x) {
    if (ACT == GELU_TANH) return x * logistic(gelu_argument(x));
    if (ACT == GELU_ERF) return x * normal_cdf(x);
    if (ACT == RELU) return x < 0.0f ? 0.0f : x;
    return x < 0.0f ? 0.0f : x * x;
}

template <unsigned int ACT>
__device__ __forceinline__ float slope(float x) {
    if (ACT == GELU_TANH) {
        // 1 - s is e s, without cancellation. Far out their product is 0, whatever the square of x is.
        const float e = expf(-gelu_argument(x)), s = 1.0f / (1.0f + e);
        const float both = s == 0.0f ? 0.0f : s * (e * s);
        return both == 0.0f ? s : s + x * both * (1.5957691216057308f * (1.0f + 0.134145f * x * x));
    }
    if (ACT == GELU_ERF) return normal_cdf(x) + x * (0.3989422804014327f * expf(-0.5f * x * x));
    if (ACT == RELU) return x > 0.0f ? 1.0f : 0.0f;
    return x > 0.0f ? 2.0f * x : 0.0f;
}

template <unsigned int ACT>
__device__ __forceinline__ void forward_all(const ActivationArgs& a, const T* x, T* y) {
    const u64 n = a.rows * a.columns;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack(x, pack * PACK, n, a.is_aligned, v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) v[e] = value<ACT>(v[e]);
        write_pack(y, pack * PACK, n, a.is_aligned, v);
    }
}

template <unsigned int ACT>
__device__ __forceinline__ void backward_all(const ActivationArgs& a, const T* x, const T* dy, T* dx) {
    const u64 n = a.rows * a.columns;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK], d[PACK];
        read_pack(x, pack * PACK, n, a.is_aligned, v);
        read_pack(dy, pack * PACK, n, a.is_aligned, d);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) d[e] *= slope<ACT>(v[e]);
        write_pack(dx, pack * PACK, n, a.is_aligned, d);
    }
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
        float gate[PACK], up[PACK];
        const T* both = from + 2 * row * a.columns;
        read_pack(both, column, a.columns, a.is_aligned, gate);
        read_pack(both + a.columns, column, a.columns, a.is_aligned, up);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) up[e] *= gate[e] * logistic(gate[e]);
        write_pack(to + row * a.columns, column, a.columns, a.is_aligned, up);
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
        float gate[PACK], up[PACK], d[PACK];
        const T* both = from + 2 * row * a.columns;
        read_pack(both, column, a.columns, a.is_aligned, gate);
        read_pack(both + a.columns, column, a.columns, a.is_aligned, up);
        read_pack(above + row * a.columns, column, a.columns, a.is_aligned, d);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            const float s = logistic(gate[e]), of_up = d[e] * gate[e] * s;
            gate[e] = d[e] * up[e] * s * (1.0f + gate[e] * (1.0f - s));
            up[e] = of_up;
        }
        write_pack(to + 2 * row * a.columns, column, a.columns, a.is_aligned, gate);
        write_pack(to + (2 * row + 1) * a.columns, column, a.columns, a.is_aligned, up);
    });
}
