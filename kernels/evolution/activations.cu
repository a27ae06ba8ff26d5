// Perturbed activations: signs that are added to the sums of products, and the products of these signs with the inputs of the
// unperturbed model, weighted by the fitness of pairs. The sums are integers, so that blocks add them in any order.
//
// Measured on an H200, the project `evolution` (width 128, 32,768 members of 64 characters) with tiny Shakespeare, 25 s for each
// of three seeds; held-out loss in nats per character:
//   5.6 M member tokens/s, 67 generations, 3.491 / 3.499 / 3.514    a thread per weight, which reads signs and inputs from memory
//  21.1 M member tokens/s, 251 generations, 2.926 / 2.918 / 2.935   tiles in shared memory, dp4a. Kept
//  44.8 M member tokens/s, 534 generations, 2.778 / 2.749 / 2.758   rank 1, for comparison
#include "gen/evolution-activations.cuh"
#include "evolution/rows.cuh"

// A thread per sum.
extern "C" __global__ void perturb_sums(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const u64* __restrict__ signs, int* __restrict__ sums) {
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * w.outputs) return;
    const unsigned int row = i / w.outputs, column = i % w.outputs;
    sums[(u64)row * stride + column] += activation_noise(p, w, member_of(p, signs, row), row, column);
}

__device__ inline const u64* words_of(const InputRowsArgs& r, const TensorArgs& t, const u64* signs, unsigned int pair) {
    return signs + (u64)pair * r.words + t.first_word;
}

// Rows of which signs and inputs are in shared memory.
constexpr unsigned int STAGED_ROWS = 64;

// Four rows of four bytes as four columns.
__device__ inline int4 transposed(const int (&row)[4]) {
    const unsigned int a = __byte_perm(row[0], row[1], 0x5140), b = __byte_perm(row[2], row[3], 0x5140);
    const unsigned int c = __byte_perm(row[0], row[1], 0x7362), d = __byte_perm(row[2], row[3], 0x7362);
    return make_int4(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632), __byte_perm(c, d, 0x5410), __byte_perm(c, d, 0x7632));
}

// Sum over pairs of weight times sum over rows of sign times input, for a tile of SUM_TILE outputs and inputs: a thread has four
// of each, and multiplies the bytes of four rows at a time.
extern "C" __global__ void sum_inputs(InputRowsArgs r, const Draws* __restrict__ draws, TensorArgs t, const u64* __restrict__ signs, const i64* __restrict__ pair_weights, const signed char* __restrict__ x, i64* __restrict__ z) {
    __shared__ int4 staged_signs[STAGED_ROWS / 4][SUM_TILE / 4], staged_x[STAGED_ROWS / 4][SUM_TILE / 4];
    const unsigned int outputs = t.len / t.columns, tiles = (t.columns + SUM_TILE - 1) / SUM_TILE;
    const unsigned int from_output = blockIdx.x / tiles * SUM_TILE, from_input = blockIdx.x % tiles * SUM_TILE;
    const unsigned int upper = threadIdx.x / 16, lower = threadIdx.x % 16;
    const unsigned int output = from_output + lower * 4, input = from_input + lower * 4; // staged by this thread
    i64 sums[4][4] = {};
    for (unsigned int pair = blockIdx.y * SUM_PAIRS; pair < min(r.pairs, (blockIdx.y + 1) * SUM_PAIRS); ++pair) {
        const i64 weight = pair_weights[draws->first_pair + pair];
        if (!weight) continue; // the same for all threads
        const u64* words = words_of(r, t, signs, pair);
        int products[4][4] = {};
        for (unsigned int first = 0; first < r.rows; first += STAGED_ROWS) {
            int of_signs[4] = {}, of_x[4] = {};
            for (unsigned int j = 0; j < 4; ++j) {
                const unsigned int row = first + upper * 4 + j;
                if (row >= r.rows) continue;
                if (output < outputs) of_signs[j] = sign_bytes(bits_from(words, (r.first_row + row) * outputs + output, min(outputs - output, 4u)));
                if (input >= t.columns) continue;
                const char4 four = load4<char4>(x + ((u64)pair * r.rows + row) * t.columns, input, t.columns);
                of_x[j] = *(const int*)&four;
            }
            __syncthreads();
            staged_signs[upper][lower] = transposed(of_signs);
            staged_x[upper][lower] = transposed(of_x);
            __syncthreads();
            const unsigned int quads = (min(r.rows - first, STAGED_ROWS) + 3) / 4;
            for (unsigned int k = 0; k < quads; ++k) {
                const int4 s = staged_signs[k][upper], v = staged_x[k][lower];
                const int of_output[4] = {s.x, s.y, s.z, s.w}, of_input[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
                for (int i = 0; i < 4; ++i)
#pragma unroll
                    for (int j = 0; j < 4; ++j) asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(products[i][j]) : "r"(of_output[i]), "r"(of_input[j]));
            }
        }
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) sums[i][j] += weight * products[i][j];
    }
#pragma unroll
    for (unsigned int i = 0; i < 4; ++i)
#pragma unroll
        for (unsigned int j = 0; j < 4; ++j) {
            const unsigned int row = from_output + upper * 4 + i, column = from_input + lower * 4 + j;
            if (row < outputs && column < t.columns && sums[i][j]) atomicAdd((u64*)&z[t.start + row * t.columns + column], (u64)sums[i][j]);
        }
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
    for (unsigned int pair = blockIdx.y * SUM_PAIRS; pair < min(r.pairs, (blockIdx.y + 1) * SUM_PAIRS); ++pair) {
        const u64* words = words_of(r, t, signs, pair);
        int of_rows = 0;
        for (unsigned int row = i / outputs; row < r.rows; row += period) of_rows += sign_of(words, (u64)(r.first_row + row) * outputs + i % outputs);
        sum += pair_weights[draws->first_pair + pair] * of_rows;
    }
    if (sum) atomicAdd((u64*)&z[start + i], (u64)sum);
}
