// Weighted sums of perturbations, which are drawn again, and the update of weights. The sums are integers, so that
// blocks add them in any order: PAIRS pairs per block. Measured on an H100: one block for all pairs took 6.3 ms of 9.0
// ms per generation of the preset Nano; `sum_low_rank` with one element per thread took a quarter of a generation of
// `rank1`, 60 us per launch.
#include "gen/evolution-update.cuh"
#include "evolution/rows.cuh"

constexpr unsigned int PAIRS = 64;

__device__ inline void add_sum(i64* z, i64 sum) {
    if (sum) atomicAdd((u64*)z, (u64)sum);
}

// A thread per element of a tensor: sum over pairs of weight times full-rank perturbation.
extern "C" __global__ void sum_full_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, const i64* __restrict__ pair_weights, i64* __restrict__ z) {
    __shared__ u64 seeds[PAIRS];
    __shared__ i64 weights[PAIRS];
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y * PAIRS;
    const Draws d = *draws;
    if (threadIdx.x < PAIRS && from + threadIdx.x < pairs) {
        seeds[threadIdx.x] = mix(pair_seed(d, d.first_pair + from + threadIdx.x), t.salt);
        weights[threadIdx.x] = pair_weights[d.first_pair + from + threadIdx.x];
    }
    __syncthreads();
    if (i >= t.len) return;
    i64 sum = 0;
    for (unsigned int pair = 0; pair < min(PAIRS, pairs - from); ++pair) sum += weights[pair] * element(d.generator, seeds[pair], i);
    add_sum(&z[t.start + i], sum);
}

// A thread per four columns of a row of a matrix, or per column if their number is not a multiple of four: sum over pairs of weight
// times low-rank perturbation.
extern "C" __global__ void sum_low_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int rank, unsigned int words_per_pair, const u64* __restrict__ words, const i64* __restrict__ pair_weights, i64* __restrict__ z) {
    __shared__ i64 weights[PAIRS];
    const unsigned int group = t.columns % 4 == 0 ? 4 : 1, i = (blockIdx.x * blockDim.x + threadIdx.x) * group, from = blockIdx.y * PAIRS;
    if (threadIdx.x < PAIRS && from + threadIdx.x < pairs) weights[threadIdx.x] = pair_weights[draws->first_pair + from + threadIdx.x];
    __syncthreads();
    if (i >= t.len) return;
    const unsigned int row = i / t.columns, column = i % t.columns, rows = t.len / t.columns;
    i64 sums[4] = {};
    for (unsigned int pair = 0; pair < min(PAIRS, pairs - from); ++pair) {
        const u64* of_pair = words + (u64)(from + pair) * words_per_pair + t.first_word;
        const i64 weight = weights[pair];
        for (unsigned int k = 0; k < rank; ++k) {
            const unsigned int of_row = bits_from(of_pair, k * rows + row, 1) - 1u; // all bits are set where its sign is -1
            const unsigned int plus = bits_from(of_pair, rank * rows + k * t.columns + column, group) ^ of_row;
#pragma unroll
            for (unsigned int c = 0; c < 4; ++c) sums[c] += plus >> c & 1 ? weight : -weight;
        }
    }
#pragma unroll
    for (unsigned int c = 0; c < 4; ++c)
        if (c < group) add_sum(&z[t.start + i + c], sums[c] * t.factor);
}

// A thread per element of a vector: sum over pairs of weight times perturbation.
extern "C" __global__ void sum_vector_signs(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, const i64* __restrict__ pair_weights, i64* __restrict__ z) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= t.len) return;
    const Draws d = *draws;
    i64 sum = 0;
    for (unsigned int pair = blockIdx.y * PAIRS; pair < min(pairs, (blockIdx.y + 1) * PAIRS); ++pair) {
        const u64 word = mix(mix(pair_seed(d, d.first_pair + pair), t.salt), i / 64);
        sum += pair_weights[d.first_pair + pair] * (word >> (i % 64) & 1 ? 2 : -2);
    }
    add_sum(&z[t.start + i], sum);
}

// Sum of squares of reduced Z of a tensor, in two halves of 32 bits.
extern "C" __global__ void sum_squares(TensorArgs t, const i64* __restrict__ z, u64* __restrict__ halves) {
    u64 low = 0, high = 0;
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < t.len; i += gridDim.x * blockDim.x) {
        const i64 reduced = (i64)rint((double)z[t.start + i] / 1024.0);
        const u64 magnitude = reduced < 0 ? (u64)-reduced : (u64)reduced, square = magnitude * magnitude;
        low += square & 0xffffffffull;
        high += (square >> 32) + (__umul64hi(magnitude, magnitude) << 32);
    }
    low = warp_sum(low);
    high = warp_sum(high);
    if (lane() == 0) {
        atomicAdd(&halves[2 * t.index], low);
        atomicAdd(&halves[2 * t.index + 1], high);
    }
}

// A thread per tensor: running mean square and its root. A negative mean square means that there is none yet.
extern "C" __global__ void update_roots(unsigned int n, const u64* __restrict__ halves, const unsigned int* __restrict__ lengths, float* __restrict__ mean_squares, float* __restrict__ roots, u64* __restrict__ counts) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u64 low = halves[2 * i], high = halves[2 * i + 1] + (low >> 32);
    const double sum = (double)high * 4294967296.0 + (double)(low & 0xffffffffull);
    const float mean = (float)(sum / (1024.0 * 1024.0) / (double)max(lengths[i], 1u));
    const float before = mean_squares[i] < 0.0f ? mean : mean_squares[i];
    const float now = 0.95f * before + (1.0f - 0.95f) * mean;
    mean_squares[i] = now;
    roots[i] = sqrtf(now + 1e-3f);
    counts[2 * i] = counts[2 * i + 1] = 0;
}

// A thread per element: changes the weights of a tensor, by the step of matrices or that of vectors. Counts changed weights, and weights at their limit.
extern "C" __global__ void update_weights(const StepArgs* __restrict__ steps, TensorArgs t, const i64* __restrict__ z, const float* __restrict__ roots, const unsigned char* __restrict__ frozen, float* __restrict__ shadows, signed char* __restrict__ weights, float* __restrict__ first, float* __restrict__ second, u64* __restrict__ counts) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    const StepArgs s = steps[t.is_vector];
    unsigned int has_changed = 0, is_saturated = 0;
    // Each bias of a gate belongs to a layer of its own.
    const bool is_kept = i >= t.len || frozen[t.layer == GATE_BIASES ? 1 + i : t.layer] || t.is_fixed;
    if (i < t.len && !(t.layer != GATE_BIASES && is_kept)) {
        const u64 at = t.start + i;
        const float zf = (float)((double)z[at] / 1048576.0);
        float direction = zf / roots[t.index];
        if (s.rule == MOMENTUM) {
            direction = first[at] = s.decay1 * first[at] + (1.0f - s.decay1) * direction;
        } else if (s.rule == ADAM) {
            first[at] = s.decay1 * first[at] + (1.0f - s.decay1) * zf;
            second[at] = s.decay2 * second[at] + (1.0f - s.decay2) * (zf * zf);
            direction = s.correction1 * first[at] / (sqrtf(s.correction2 * second[at]) + 1e-3f);
        }
        const float before = shadows[at];
        if (fabsf(direction) >= s.threshold && !is_kept) {
            const float change = s.rate * direction;
            if (t.is_vector) {
                shadows[at] = before + change;
            } else {
                const float moved = fminf(fmaxf(before + change, -s.limit), s.limit);
                const float now = (float)(int)fminf(fmaxf(rintf(moved), -1.0f), 1.0f); // 0 has no sign
                shadows[at] = s.has_byte_residual ? now + fminf(fmaxf(rintf((moved - now) * 254.0f), -127.0f), 127.0f) / 254.0f : moved;
                has_changed = (signed char)now != weights[at];
                weights[at] = (signed char)now;
            }
        }
        is_saturated = !t.is_vector && fabsf(shadows[at]) >= s.limit;
    }
    const unsigned int changed = __popc(__ballot_sync(ALL_LANES, has_changed)), saturated = __popc(__ballot_sync(ALL_LANES, is_saturated));
    if (lane() == 0 && (changed || saturated)) {
        atomicAdd(&counts[2 * t.index], (u64)changed);
        atomicAdd(&counts[2 * t.index + 1], (u64)saturated);
    }
}
