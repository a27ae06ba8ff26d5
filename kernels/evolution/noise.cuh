// Perturbations, with the draws of src/kinds/evolution/noise.rs. All arithmetic is on 64 bits, wrapping.
#pragma once

typedef unsigned long long u64;
typedef long long i64;

constexpr u64 GOLDEN = 0x9E3779B97F4A7C15ull;

__device__ inline u64 splitmix64(u64& state) {
    state += GOLDEN;
    u64 z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

__device__ inline u64 mix(u64 a, u64 b) {
    u64 x = a ^ (b + GOLDEN + (a << 6) + (a >> 2));
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDull;
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ull;
    return x ^ x >> 33;
}

__device__ inline int ternary(u64 word) {
    const unsigned int byte = (unsigned int)word & 0xffu;
    return byte < 85 ? -1 : byte < 170 ? 0 : 1;
}

__device__ inline u64 pair_seed(const Draws& d, unsigned int pair) { return mix(d.seed, mix(d.generation, pair)); }

// Element of a full-rank perturbation.
__device__ inline int element(unsigned int generator, u64 tensor_seed, u64 index) {
    if (generator == SUM_OF_FOUR) {
        u64 state = mix(tensor_seed, index);
        int sum = 0;
        for (int j = 0; j < 4; ++j) sum += ternary(splitmix64(state));
        return sum;
    }
    if (generator == TERNARY) return ternary(mix(tensor_seed, index));
    return __popcll(mix(tensor_seed, index / 8) >> (8 * (index % 8)) & 0xffull) - 4;
}

// Sign of a low-rank perturbation: bit `bit` of the words that begin at `words`.
__device__ inline int sign_of(const u64* words, u64 bit) { return words[bit / 64] >> (bit % 64) & 1 ? 1 : -1; }

__device__ inline int clamp127(int x) { return max(-127, min(127, x)); }
