// Rows of activations: a warp per row. Rows of each member follow each other; the members of a pair are neighbours.
#pragma once
#include "common/exact.cuh"
#include "evolution/noise.cuh"

constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ inline unsigned int warp_row() { return (blockIdx.x * blockDim.x + threadIdx.x) / 32; }
__device__ inline unsigned int lane() { return threadIdx.x % 32; }

template <class T> __device__ inline T warp_sum(T x) {
    for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(ALL_LANES, x, offset);
    return x;
}

__device__ inline int q8(float x) { return (int)fminf(fmaxf(rintf(x), -127.0f), 127.0f); }

__device__ inline float gelu(float x) {
    const float u = 0.7978846f * (x + 0.044715f * (x * x * x));
    return x / (1.0f + exact::exp(-2.0f * u));
}

// Member to which a row belongs.
struct Member {
    unsigned int index, pair;
    int sign; // 0 without a perturbation
    const u64* words; // low-rank signs of the pair
};

__device__ inline Member member_of(const PassArgs& p, const u64* signs, unsigned int row) {
    Member m;
    m.index = row / p.rows;
    m.pair = m.index / 2;
    m.sign = !p.is_perturbed ? 0 : m.index % 2 ? -1 : 1;
    m.words = p.rank ? signs + (u64)m.pair * p.words : signs;
    return m;
}

// Products of an input row with the second factors of a matrix's low-rank perturbation, times sign and factor: what is added to
// the sum of output column c is the sum over k of `along[k]` times the sign of the first factor.
struct LowRank {
    int along[MAX_RANK];
};

__device__ inline LowRank low_rank(const PassArgs& p, const MatrixArgs& w, const Member& m, const signed char* x) {
    LowRank low;
    for (unsigned int k = 0; k < p.rank; ++k) {
        const u64 first = (u64)p.rank * w.outputs + (u64)k * w.inputs;
        int sum = 0;
        for (unsigned int j = lane(); j < w.inputs; j += 32) sum += (int)x[j] * sign_of(m.words + w.first_word, first + j);
        low.along[k] = m.sign * p.factor * warp_sum(sum);
    }
    return low;
}

// Product of a row with a perturbed matrix: output column `column`, from its unperturbed sum.
__device__ inline float product(const PassArgs& p, const MatrixArgs& w, const Member& m, const LowRank& low, int sum, unsigned int column) {
    for (unsigned int k = 0; k < p.rank; ++k) sum += low.along[k] * sign_of(m.words + w.first_word, (u64)k * w.outputs + column);
    return (float)sum * w.scale;
}

// Element of a vector with the perturbation of a member.
__device__ inline float vector_of(const PassArgs& p, const Member& m, const float* values, const signed char* noise, unsigned int index) {
    const float unit = 1.0f / (float)(1u << p.shift);
    const int e = p.is_perturbed ? noise[(u64)m.pair * p.vectors + index] : 0;
    return values[index] + (float)m.sign * unit * (float)e;
}

// Normalises a row by its mean magnitude, if that is above 1.
__device__ inline void normalise(const PassArgs& p, const signed char* x, signed char* y) {
    int sum = 0;
    for (unsigned int j = lane(); j < p.width; j += 32) sum += abs((int)x[j]);
    const float mean = fmaxf((float)(unsigned int)warp_sum(sum) / (float)p.width, 1.0f);
    for (unsigned int j = lane(); j < p.width; j += 32) y[j] = (signed char)q8((float)x[j] * p.norm / mean);
}
