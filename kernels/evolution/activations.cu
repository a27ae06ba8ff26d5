// Perturbed activations: signs that are added to the sums of products, and the products of these signs with the inputs of the
// unperturbed model, weighted by the fitness of pairs. The sums are integers, so that blocks add them in any order.
#include "gen/evolution-activations.cuh"
#include "evolution/rows.cuh"

constexpr unsigned int PAIRS = 16; // pairs per block of a weighted sum

// A thread per sum.
extern "C" __global__ void perturb_sums(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const u64* __restrict__ signs, int* __restrict__ sums) {
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)rows * w.outputs) return;
    const unsigned int row = i / w.outputs, column = i % w.outputs;
    sums[(u64)row * stride + column] += activation_noise(p, w, member_of(p, signs, row), row, column);
}

__device__ inline const u64* words_of(const InputRowsArgs& r, const TensorArgs& t, const u64* signs, unsigned int pair) {
    return signs + (u64)pair * r.words + t.first_word;
}

// A thread per weight `[output, input]`: sum over pairs of weight times sum over rows of sign times input.
extern "C" __global__ void sum_inputs(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, const u64* __restrict__ signs, const i64* __restrict__ pair_weights, const signed char* __restrict__ x, i64* __restrict__ z) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= t.len) return;
    const unsigned int output = i / t.columns, input = i % t.columns, outputs = t.len / t.columns;
    i64 sum = 0;
    for (unsigned int pair = blockIdx.y * PAIRS; pair < min(r.pairs, (blockIdx.y + 1) * PAIRS); ++pair) {
        const u64* words = words_of(r, t, signs, pair);
        const signed char* of_pair = x + (u64)pair * r.rows * t.columns + input;
        int of_rows = 0;
        for (unsigned int row = 0; row < r.rows; ++row)
            of_rows += sign_of(words, (u64)(r.first_row + row) * outputs + output) * (int)of_pair[(u64)row * t.columns];
        sum += pair_weights[draws->first_pair + pair] * of_rows;
    }
    if (sum) atomicAdd((u64*)&z[t.start + i], (u64)sum);
}

// A thread per feature of an embedded token.
extern "C" __global__ void sum_embeddings(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, const u64* __restrict__ signs, const i64* __restrict__ pair_weights, const unsigned short* __restrict__ tokens, i64* __restrict__ z) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, pair = blockIdx.y;
    if (i >= r.rows * t.columns) return;
    const unsigned int row = i / t.columns, column = i % t.columns, token = tokens[(u64)pair * r.rows + row];
    const i64 weight = pair_weights[draws->first_pair + pair];
    const int sign = sign_of(words_of(r, t, signs, pair), (u64)(r.first_row + row) * t.columns + column);
    if (weight) atomicAdd((u64*)&z[t.start + token * t.columns + column], (u64)(weight * sign));
}

// A thread per element of a vector that is added to the outputs of a matrix.
extern "C" __global__ void sum_outputs(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, unsigned int outputs, unsigned int period, unsigned int start, const u64* __restrict__ signs, const i64* __restrict__ pair_weights, i64* __restrict__ z) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= period * outputs) return;
    i64 sum = 0;
    for (unsigned int pair = blockIdx.y * PAIRS; pair < min(r.pairs, (blockIdx.y + 1) * PAIRS); ++pair) {
        const u64* words = words_of(r, t, signs, pair);
        int of_rows = 0;
        for (unsigned int row = i / outputs; row < r.rows; row += period) of_rows += sign_of(words, (u64)(r.first_row + row) * outputs + i % outputs);
        sum += pair_weights[draws->first_pair + pair] * of_rows;
    }
    if (sum) atomicAdd((u64*)&z[start + i], (u64)sum);
}
