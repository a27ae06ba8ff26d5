// Forward pass of the members of a population: draws, embedding, and everything between the matrix multiplications except
// attention. A warp computes a row; sums of products come from nn/gemm as integers, and the low-rank perturbation is added here.
//
// Measured on an H100 80GB, 90,112 rows of 512 features, hidden layer of 1,024, rank 1, us per launch; each has the same bits:
//
// | kernel | variant | us |
// | --- | --- | --- |
// | gelu, mlp | element by element, a word of signs for each, the hidden layer read again for its product with the second factor | 540, 430 |
// | gelu, mlp | four columns per thread, four signs at once, `dp4a` | 322, 306 |
// | gelu, mlp | product with the second factor of `down` while the hidden layer is in registers | 302, 176 |
// | gelu, mlp | the same, conversions by addition, loops unrolled by 2 (kept) / by 4 | 292, 156 / 323, 150 |
// | mlp, attention out | a row of 512 kept in registers between sum and norm: 64 registers | 189, 182 against 156, 163 |
// | embed | element by element / four columns per thread (kept) | 151 / 75 |
#include "gen/evolution-population.cuh"
#include "evolution/rows.cuh"

extern "C" __global__ void shift_weights(unsigned int n, unsigned int shift, const signed char* __restrict__ weights, signed char* __restrict__ shifted) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) shifted[i] = (signed char)clamp127((int)weights[i] << shift);
}

extern "C" __global__ void draw_signs(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int words_per_pair, u64* __restrict__ words) {
    const unsigned int word = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (word >= t.words || pair >= pairs) return;
    const Draws d = *draws;
    words[(u64)pair * words_per_pair + t.first_word + word] = mix(mix(pair_seed(d, d.first_pair + pair), t.salt), word);
}

extern "C" __global__ void merge_full_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int n, const signed char* __restrict__ shifted, signed char* __restrict__ merged) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (i >= t.len || pair >= pairs) return;
    const Draws d = *draws;
    const int e = element(d.generator, mix(pair_seed(d, d.first_pair + pair), t.salt), i), w = shifted[t.start + i];
    merged[(u64)(2 * pair) * n + t.start + i] = (signed char)clamp127(w + e);
    merged[(u64)(2 * pair + 1) * n + t.start + i] = (signed char)clamp127(w - e);
}

extern "C" __global__ void draw_vectors(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int n, unsigned int first, signed char* __restrict__ noise) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (i >= t.len || pair >= pairs) return;
    const Draws d = *draws;
    const u64 seed = mix(pair_seed(d, d.first_pair + pair), t.salt);
    const int low = mix(seed, i / 64) >> (i % 64) & 1 ? 2 : -2;
    noise[(u64)pair * n + first + i] = (signed char)(d.is_low_rank ? low : element(d.generator, seed, i));
}

extern "C" __global__ void draw_text(const Draws* __restrict__ draws, unsigned int pairs, unsigned int first, unsigned int sequences, unsigned int steps, u64 starts, const unsigned short* __restrict__ text, unsigned short* __restrict__ tokens, unsigned short* __restrict__ targets) {
    const unsigned int at = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (at >= sequences * steps || pair >= pairs) return;
    const Draws d = *draws;
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
    const u64* words = m.words + w.first_word;
    const float unit = unit_of(p.shift);
    for (unsigned int j = lane() * 4; j < p.width; j += 128) {
        int4 e = {0, 0, 0, 0};
        for (unsigned int k = 0; k < p.rank; ++k) {
            add_signs(e, bits_from(words, p.rank * w.outputs + k * w.inputs + j, 4), sign_of(words, (u64)k * w.outputs + token));
        }
        if (p.perturbs_activations) add_signs(e, bits_from(words, (p.first_row + row % p.rows) * p.width + j, 4), 1);
        const char4 four = load4<char4>(of_token, j, p.width);
        auto value = [&](signed char weight, int e) {
            const int value = clamp127((int)weight + m.sign * clamp127(p.factor * e));
            return (signed char)(p.is_live ? value : q8((float)value * unit));
        };
        store4(y + (u64)row * p.width, j, p.width, make_char4(value(four.x, e.x), value(four.y, e.y), value(four.z, e.z), value(four.w, e.w)));
    }
}

extern "C" __global__ void input_rows(PassArgs p, MatrixArgs w, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ positions, const signed char* __restrict__ embedded, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const u64 at = (u64)row * p.width;
    const LowRank low = low_rank(p, w, m, embedded + at);
    const unsigned int first = row % p.rows % p.steps * p.width;
    const signed char* of_pair = noise + (u64)m.pair * p.vectors + first;
    const float unit = p.is_perturbed ? (float)m.sign * unit_of(p.shift) : 0.0f;
#pragma unroll 2
    for (unsigned int j = lane() * 4; j < p.width; j += 128) {
        const float4 z = products4(p, w, m, low.first, low.all, load4<int4>(sums + at, j, p.width), j);
        const float4 position = load4<float4>(positions + first, j, p.width);
        char4 e = {0, 0, 0, 0};
        if (p.is_perturbed) e = load4<char4>(of_pair, j, (u64)of_pair % 4 ? p.width + (p.width % 4 == 0) : p.width); // odd widths are read byte by byte
        auto activate = [&](float z, float position, signed char e) { return p.activation * gelu(z + (position + unit * (float)e)); };
        const float4 four = {activate(z.x, position.x, e.x), activate(z.y, position.y, e.y), activate(z.z, position.z, e.z), activate(z.w, position.w, e.w)};
        store4(x + at, j, p.width, bytes4(four));
    }
    normalise(p, x + at, y + at);
}

// Adds four numbers, times `scale` and rounded, to a row of the residual stream. A term beyond 255 saturates as 255
// does.
__device__ inline void add4(const PassArgs& p, signed char* x, unsigned int column, float4 to_add, float scale) {
    auto sum = [scale](signed char before, float add) { return (signed char)clamp127(before + round_small(fminf(fmaxf(scale * add, -255.0f), 255.0f))); };
    const char4 now = load4<char4>(x, column, p.width);
    store4(x, column, p.width, make_char4(sum(now.x, to_add.x), sum(now.y, to_add.y), sum(now.z, to_add.z), sum(now.w, to_add.w)));
}

// Adds attention to the residual stream and normalises it.
extern "C" __global__ void attention_rows_out(PassArgs p, unsigned int rows, const float* __restrict__ output, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const u64 at = (u64)row * p.width;
    float scale = p.residual;
    if (p.is_live) {
        // Magnitudes are summed in units of 2^-20.
        auto magnitude = [](float x) {
            const float units = fminf(fabsf(x), 1073741824.0f) * 1048576.0f;
            return units < 4194304.0f ? (i64)round_small(units) : (i64)rintf(units);
        };
        i64 sum = 0;
#pragma unroll 2
        for (unsigned int j = lane() * 4; j < p.width; j += 128) {
            const float4 four = load4<float4>(output + at, j, p.width);
            sum += magnitude(four.x) + magnitude(four.y) + magnitude(four.z) + magnitude(four.w);
        }
        const float mean = (float)warp_sum(sum) / 1048576.0f / (float)p.width;
        scale = p.residual / (mean + 1e-6f);
    }
#pragma unroll 2
    for (unsigned int j = lane() * 4; j < p.width; j += 128) add4(p, x + at, j, load4<float4>(output + at, j, p.width), scale);
    normalise(p, x + at, y + at);
}

// `along` receives the products of the hidden layer with the second factors of the perturbation of `down`, `[rows, rank]`.
extern "C" __global__ void gelu_rows(PassArgs p, MatrixArgs w, MatrixArgs down, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ y, const int* __restrict__ sums, signed char* __restrict__ hidden, int* __restrict__ along) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const LowRank low = low_rank(p, w, m, y + (u64)row * w.inputs);
    const u64 at = (u64)row * w.outputs;
    const u64* words = m.words + down.first_word;
    const float scale = p.mlp_activation;
    int sum = 0; // product with the second factor of rank 1, while the row is in registers
#pragma unroll 2
    for (unsigned int j = lane() * 4; j < w.outputs; j += 128) {
        const float4 z = products4(p, w, m, low.first, low.all, load4<int4>(sums + at, j, w.outputs), j);
        const char4 four = bytes4(make_float4(scale * gelu(z.x), scale * gelu(z.y), scale * gelu(z.z), scale * gelu(z.w)));
        store4(hidden + at, j, w.outputs, four);
        if (p.rank == 1 && w.outputs % 4 == 0) sum = dot4(*(const int*)&four, sign_bytes(bits_from(words, down.outputs + j, 4)), sum);
    }
    const bool is_done = p.rank == 1 && w.outputs % 4 == 0;
    if (is_done) sum = m.sign * p.factor * warp_sum(sum);
    if (is_done && lane() == 0) along[row] = sum;
    if (p.rank == 0 || is_done) return;
    __syncwarp();
    for (unsigned int k = 0; k < p.rank; ++k) {
        const int of_factor = along_second(p, down, m, k, hidden + at);
        if (lane() == 0) along[(u64)row * p.rank + k] = of_factor;
    }
}

// Adds the feed-forward layer to the residual stream and normalises it.
extern "C" __global__ void mlp_rows(PassArgs p, MatrixArgs w, unsigned int rows, const u64* __restrict__ signs, const int* __restrict__ along, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const int* of_row = along + (u64)row * p.rank;
    const int first = p.rank ? of_row[0] : 0;
    const u64 at = (u64)row * p.width;
#pragma unroll 2
    for (unsigned int j = lane() * 4; j < p.width; j += 128)
        add4(p, x + at, j, products4(p, w, m, first, of_row, load4<int4>(sums + at, j, p.width), j), p.mlp_residual);
    normalise(p, x + at, y + at);
}

// Cross entropy of each row in units of 2^-24 nat; with `adds` it is added to the sum of its member.
extern "C" __global__ void loss_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int adds, unsigned int first_bias, const Draws* __restrict__ draws, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ biases, const signed char* __restrict__ y, const int* __restrict__ sums, const unsigned short* __restrict__ targets, u64* __restrict__ losses) {
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
    if (adds) atomicAdd(&losses[(u64)2 * draws->first_pair + m.index], (u64)loss);
    else losses[row] = (u64)loss;
}
