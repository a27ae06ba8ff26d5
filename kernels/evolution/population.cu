// Forward pass of the members of a population: draws, embedding, and everything between the matrix multiplications except
// attention. A warp computes a row; sums of products come from nn/gemm as integers, and the low-rank perturbation is added here.
//
// First version: simple kernels that are right. Not yet measured against each other: see the bench of the kind.
#include "gen/evolution-population.cuh"
#include "evolution/rows.cuh"

extern "C" __global__ void shift_weights(unsigned int n, unsigned int shift, const signed char* __restrict__ weights, signed char* __restrict__ shifted) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) shifted[i] = (signed char)clamp127((int)weights[i] << shift);
}

extern "C" __global__ void draw_signs(Draws d, TensorArgs t, unsigned int pairs, unsigned int words_per_pair, u64* __restrict__ words) {
    const unsigned int word = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (word >= t.words || pair >= pairs) return;
    words[(u64)pair * words_per_pair + t.first_word + word] = mix(mix(pair_seed(d, d.first_pair + pair), t.salt), word);
}

extern "C" __global__ void merge_full_rank(Draws d, TensorArgs t, unsigned int pairs, unsigned int n, const signed char* __restrict__ shifted, signed char* __restrict__ merged) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (i >= t.len || pair >= pairs) return;
    const int e = element(d.generator, mix(pair_seed(d, d.first_pair + pair), t.salt), i), w = shifted[t.start + i];
    merged[(u64)(2 * pair) * n + t.start + i] = (signed char)clamp127(w + e);
    merged[(u64)(2 * pair + 1) * n + t.start + i] = (signed char)clamp127(w - e);
}

extern "C" __global__ void draw_vectors(Draws d, TensorArgs t, unsigned int pairs, unsigned int n, unsigned int first, signed char* __restrict__ noise) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (i >= t.len || pair >= pairs) return;
    const u64 seed = mix(pair_seed(d, d.first_pair + pair), t.salt);
    const int low = mix(seed, i / 64) >> (i % 64) & 1 ? 2 : -2;
    noise[(u64)pair * n + first + i] = (signed char)(d.is_low_rank ? low : element(d.generator, seed, i));
}

extern "C" __global__ void draw_text(Draws d, unsigned int pairs, unsigned int first, unsigned int sequences, unsigned int steps, u64 starts, const unsigned short* __restrict__ text, unsigned short* __restrict__ tokens, unsigned short* __restrict__ targets) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (at >= sequences * steps || pair >= pairs) return;
    const u64 of_generation = mix(d.seed, d.generation);
    u64 state = d.is_shared ? of_generation : mix(of_generation, d.first_pair + pair);
    state += GOLDEN * (first + at / steps); // the draws before this sequence
    const u64 place = splitmix64(state) % starts + at % steps, to = (u64)pair * sequences * steps + at;
    tokens[to] = text[place];
    targets[to] = text[place + 1];
}

extern "C" __global__ void embed_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const u64* __restrict__ signs, const signed char* __restrict__ weights, const unsigned short* __restrict__ tokens, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const unsigned int token = tokens[(u64)m.pair * p.rows + row % p.rows];
    const signed char* of_token = weights + (u64)m.index * stride + (u64)token * p.width;
    for (unsigned int j = lane(); j < p.width; j += 32) {
        int e = 0;
        for (unsigned int k = 0; k < p.rank; ++k) {
            const u64* words = m.words + w.first_word;
            e += sign_of(words, (u64)k * w.outputs + token) * sign_of(words, (u64)p.rank * w.outputs + (u64)k * w.inputs + j);
        }
        const int value = clamp127((int)of_token[j] + m.sign * clamp127(p.factor * e));
        const float unit = 1.0f / (float)(1u << p.shift);
        y[(u64)row * p.width + j] = (signed char)(p.is_live ? value : q8((float)value * unit));
    }
}

extern "C" __global__ void input_rows(PassArgs p, MatrixArgs w, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ positions, const signed char* __restrict__ embedded, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const u64 at = (u64)row * p.width;
    const LowRank low = low_rank(p, w, m, embedded + at);
    const unsigned int first = row % p.rows % p.steps * p.width;
    for (unsigned int j = lane(); j < p.width; j += 32) {
        const float z = product(p, w, m, low, sums[at + j], j);
        x[at + j] = (signed char)q8(p.activation * gelu(z + vector_of(p, m, positions, noise, first + j)));
    }
    __syncwarp();
    normalise(p, x + at, y + at);
}

// Adds attention to the residual stream and normalises it.
extern "C" __global__ void attention_rows_out(PassArgs p, unsigned int rows, const float* __restrict__ output, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const u64 at = (u64)row * p.width;
    float scale = p.residual;
    if (p.is_live) {
        i64 sum = 0;
        for (unsigned int j = lane(); j < p.width; j += 32) sum += (i64)rintf(fminf(fabsf(output[at + j]), 1073741824.0f) * 1048576.0f);
        const float mean = (float)warp_sum(sum) / 1048576.0f / (float)p.width;
        scale = p.residual / (mean + 1e-6f);
    } else {
        scale = p.residual / 1.0f;
    }
    for (unsigned int j = lane(); j < p.width; j += 32) {
        const float added = (float)x[at + j] + rintf(scale * output[at + j]);
        x[at + j] = (signed char)fminf(fmaxf(added, -127.0f), 127.0f);
    }
    __syncwarp();
    normalise(p, x + at, y + at);
}

extern "C" __global__ void gelu_rows(PassArgs p, MatrixArgs w, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ y, const int* __restrict__ sums, signed char* __restrict__ hidden) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const LowRank low = low_rank(p, w, m, y + (u64)row * w.inputs);
    const u64 at = (u64)row * w.outputs;
    for (unsigned int j = lane(); j < w.outputs; j += 32)
        hidden[at + j] = (signed char)q8(p.mlp_activation * gelu(product(p, w, m, low, sums[at + j], j)));
}

// Adds the feed-forward layer to the residual stream and normalises it.
extern "C" __global__ void mlp_rows(PassArgs p, MatrixArgs w, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ hidden, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const LowRank low = low_rank(p, w, m, hidden + (u64)row * w.inputs);
    const u64 at = (u64)row * p.width;
    for (unsigned int j = lane(); j < p.width; j += 32) {
        const float added = (float)x[at + j] + rintf(p.mlp_residual * product(p, w, m, low, sums[at + j], j));
        x[at + j] = (signed char)fminf(fmaxf(added, -127.0f), 127.0f);
    }
    __syncwarp();
    normalise(p, x + at, y + at);
}

// Cross entropy of each row in units of 2^-24 nat: of each row, or added to the sum of its member.
extern "C" __global__ void loss_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int adds, unsigned int first_bias, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ biases, const signed char* __restrict__ y, const int* __restrict__ sums, const unsigned short* __restrict__ targets, u64* __restrict__ losses) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const LowRank low = low_rank(p, w, m, y + (u64)row * w.inputs);
    const u64 at = (u64)row * w.outputs;
    const signed char* of_bias = noise + first_bias;
    auto logit = [&](unsigned int j) { return product(p, w, m, low, sums[at + j], j) + vector_of(p, m, biases, of_bias, j); };
    float most = __int_as_float(0xff800000);
    for (unsigned int j = lane(); j < w.outputs; j += 32) most = fmaxf(most, logit(j));
    for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(ALL_LANES, most, offset));
    u64 sum = 0;
    for (unsigned int j = lane(); j < w.outputs; j += 32) sum += (u64)rintf(exact::exp(logit(j) - most) * 1073741824.0f);
    sum = warp_sum(sum);
    if (lane()) return;
    const float z = logit(targets[(u64)m.pair * p.rows + row % p.rows]);
    const float nats = exact::ln((float)sum / 1073741824.0f + 1e-9f) - (z - most);
    const i64 loss = (i64)rintf(nats * 16777216.0f);
    if (adds) atomicAdd(&losses[m.index], (u64)loss);
    else losses[row] = (u64)loss;
}
