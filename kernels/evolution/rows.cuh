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

// Added to convert numbers below 2^22, 1.5 x 2^23: conversion instructions run at an eighth of the rate of additions.
constexpr float ROUNDING = 12582912.0f;

// Nearest integer, ties to even.
__device__ inline int round_small(float x) { return __float_as_int(x + ROUNDING) - __float_as_int(ROUNDING); }

__device__ inline float to_float_small(int x) { return __int_as_float(x + __float_as_int(ROUNDING)) - ROUNDING; }

__device__ inline int q8(float x) { return round_small(fminf(fmaxf(x, -127.0f), 127.0f)); }

// 2^-shift.
__device__ inline float unit_of(unsigned int shift) { return __int_as_float((127 - (int)shift) << 23); }

// Rounds four numbers to bytes.
__device__ inline char4 bytes4(float4 x) { return make_char4((signed char)q8(x.x), (signed char)q8(x.y), (signed char)q8(x.z), (signed char)q8(x.w)); }

__device__ inline float gelu(float x) {
    const float u = 0.7978846f * (x + 0.044715f * (x * x * x));
    return x / (1.0f + exact::exp(-2.0f * u));
}

// Member to which a row belongs.
struct Member {
    unsigned int index, pair;
    int sign; // 0 without a perturbation
    const u64* words; // signs of the pair
};

__device__ inline Member member_of(const PassArgs& p, const u64* signs, unsigned int row) {
    Member m;
    m.index = row / p.rows;
    m.pair = p.members_per_pair == 2 ? m.index / 2 : m.index;
    m.sign = !p.is_perturbed ? 0 : m.index % 2 ? -1 : 1;
    m.words = p.rank || p.perturbs_activations ? signs + (u64)m.pair * p.words : signs;
    return m;
}

// Elements `column..column + 4` of a row, `column` a multiple of 4; 0 beyond the end of the row. Rows of a multiple of
// four elements are read four at once.
template <class V, class T> __device__ inline V load4(const T* row, unsigned int column, unsigned int width) {
    if (width % 4 == 0) return *(const V*)(row + column);
    return {row[column], column + 1 < width ? row[column + 1] : (T)0, column + 2 < width ? row[column + 2] : (T)0, column + 3 < width ? row[column + 3] : (T)0};
}

template <class V, class T> __device__ inline void store4(T* row, unsigned int column, unsigned int width, V four) {
    if (width % 4 == 0) {
        *(V*)(row + column) = four;
        return;
    }
    row[column] = four.x;
    if (column + 1 < width) row[column + 1] = four.y;
    if (column + 2 < width) row[column + 2] = four.z;
    if (column + 3 < width) row[column + 3] = four.w;
}

// Signs `bit..bit + n` of a low-rank perturbation, n at most 32: bit i is set where sign i is +1.
__device__ inline unsigned int bits_from(const u64* words, unsigned int bit, unsigned int n) {
    const unsigned int* halves = (const unsigned int*)words + bit / 32;
    const unsigned int high = bit % 32 + n > 32 ? halves[1] : 0;
    return __funnelshift_r(halves[0], high, bit % 32) & (n < 32 ? (1u << n) - 1u : ~0u);
}

// Four signs as bytes of +1 or -1.
__device__ inline int sign_bytes(unsigned int four) { return (int)~((four * 0x00204081u & 0x01010101u) * 0xFEu); }

// Adds the products of four bytes to a sum.
__device__ inline int dot4(int a, int b, int sum) {
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}

// Product of two rows of bytes, in all lanes.
__device__ inline int dot_row(const signed char* a, const signed char* b, unsigned int n) {
    int sum = 0;
    if (n % 4 == 0 && ((u64)a & 3) == 0) {
        for (unsigned int j = lane() * 4; j < n; j += 128) sum = dot4(*(const int*)(a + j), *(const int*)(b + j), sum);
    } else {
        for (unsigned int j = lane(); j < n; j += 32) sum += (int)a[j] * (int)b[j];
    }
    return warp_sum(sum);
}

// Product of an input row with second factor `k` of a matrix's low-rank perturbation, times sign and factor, in all lanes.
__device__ inline int along_second(const PassArgs& p, const MatrixArgs& w, const Member& m, unsigned int k, const signed char* x) {
    const unsigned int first = p.rank * w.outputs + k * w.inputs;
    const u64* words = m.words + w.first_word;
    int sum = 0;
    if (w.inputs % 16 == 0 && w.inputs > 128) {
        for (unsigned int j = lane() * 16; j < w.inputs; j += 512) {
            const int4 of = *(const int4*)(x + j);
            const unsigned int sixteen = bits_from(words, first + j, 16);
            sum = dot4(of.x, sign_bytes(sixteen & 15u), sum);
            sum = dot4(of.y, sign_bytes(sixteen >> 4 & 15u), sum);
            sum = dot4(of.z, sign_bytes(sixteen >> 8 & 15u), sum);
            sum = dot4(of.w, sign_bytes(sixteen >> 12), sum);
        }
    } else if (w.inputs % 4 == 0) {
        for (unsigned int j = lane() * 4; j < w.inputs; j += 128) sum = dot4(*(const int*)(x + j), sign_bytes(bits_from(words, first + j, 4)), sum);
    } else {
        for (unsigned int j = lane(); j < w.inputs; j += 32) sum += (int)x[j] * sign_of(words, first + j);
    }
    return m.sign * p.factor * warp_sum(sum);
}

// Products of an input row with all second factors. The sum of output column c increases by the sum over k of product k
// times the sign of first factor k at c. The product of rank 1 is in a register, because most perturbations have rank
// 1.
struct LowRank {
    int first, all[MAX_RANK];
};

__device__ inline LowRank low_rank(const PassArgs& p, const MatrixArgs& w, const Member& m, const signed char* x) {
    LowRank low;
    low.first = p.rank ? along_second(p, w, m, 0, x) : 0;
    for (unsigned int k = 1; k < p.rank; ++k) low.all[k] = along_second(p, w, m, k, x);
    return low;
}

__device__ inline void add_signs(int4& sums, unsigned int plus, int along) {
    sums.x += plus & 1 ? along : -along;
    sums.y += plus & 2 ? along : -along;
    sums.z += plus & 4 ? along : -along;
    sums.w += plus & 8 ? along : -along;
}

// Products of a row with four columns of a perturbed matrix from `column` on, from their unperturbed sums: `all[k]` is read from
// k = 1 on.
__device__ inline float4 products4(const PassArgs& p, const MatrixArgs& w, const Member& m, int first, const int* all, int4 sums, unsigned int column) {
    const u64* words = m.words + w.first_word;
    if (p.rank) add_signs(sums, bits_from(words, column, 4), first);
    for (unsigned int k = 1; k < p.rank; ++k) add_signs(sums, bits_from(words, k * w.outputs + column, 4), all[k]);
    return make_float4((float)sums.x * w.scale, (float)sums.y * w.scale, (float)sums.z * w.scale, (float)sums.w * w.scale);
}

// Product of a row with a perturbed matrix: output column `column`, from its unperturbed sum.
__device__ inline float product(const PassArgs& p, const MatrixArgs& w, const Member& m, const LowRank& low, int sum, unsigned int column) {
    if (p.rank) sum += low.first * sign_of(m.words + w.first_word, column);
    for (unsigned int k = 1; k < p.rank; ++k) sum += low.all[k] * sign_of(m.words + w.first_word, (u64)k * w.outputs + column);
    return (float)sum * w.scale;
}

// Element of a vector with the perturbation of a member.
__device__ inline float vector_of(const PassArgs& p, const Member& m, const float* values, const signed char* noise, unsigned int index) {
    const float unit = unit_of(p.shift);
    const int e = p.is_perturbed ? noise[(u64)m.pair * p.vectors + index] : 0;
    return values[index] + (float)m.sign * unit * (float)e;
}

// Perturbation of an output of a matrix, to be added to its integer sum; 0 unless activations are perturbed.
__device__ inline int activation_noise(const PassArgs& p, const MatrixArgs& w, const Member& m, unsigned int row, unsigned int column) {
    if (!p.perturbs_activations) return 0;
    return m.sign * w.magnitude * sign_of(m.words + w.first_word, (u64)(p.first_row + row % p.rows) * w.outputs + column);
}

// Normalises a row by its mean magnitude, if that is above 1.
__device__ inline void normalise(const PassArgs& p, const signed char* x, signed char* y) {
    int sum = 0;
    for (unsigned int j = lane() * 4; j < p.width; j += 128) {
        const char4 four = load4<char4>(x, j, p.width);
        sum += abs((int)four.x) + abs((int)four.y) + abs((int)four.z) + abs((int)four.w);
    }
    const float mean = fmaxf((float)(unsigned int)warp_sum(sum) / (float)p.width, 1.0f);
    auto of = [&p, mean](signed char x) { return to_float_small(x) * p.norm / mean; };
    for (unsigned int j = lane() * 4; j < p.width; j += 128) {
        const char4 four = load4<char4>(x, j, p.width);
        store4(y, j, p.width, bytes4(make_float4(of(four.x), of(four.y), of(four.z), of(four.w))));
    }
}
