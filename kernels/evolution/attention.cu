// Linear attention by the delta rule: chunk form, or a state matrix. Sums begin at 0 and take fmaf in ascending order, as
// src/nn/delta_rule/cpu.rs states, so results have the same bits.
//
// The sum over earlier steps is ordered, so a thread owns a column of the values and all threads of a block share the rows of
// the products. Rows are taken eight at a time: an earlier correction is read once for eight rows.
#include "gen/evolution-attention.cuh"
#include "common/elements.cuh"
#include "evolution/rows.cuh"

constexpr float EPSILON = 1e-6f;
constexpr unsigned int ROWS = 8;

// One warp per row: queries, keys and values in f32, before queries and keys are normalised.
extern "C" __global__ void attention_rows(PassArgs p, DeltaRuleArgs a, MatrixArgs of_query, MatrixArgs of_key, MatrixArgs of_value, MatrixArgs of_gate, unsigned int rows, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ gate_bias, const signed char* __restrict__ y, const int* __restrict__ query_sums, const int* __restrict__ key_sums, const int* __restrict__ value_sums, const int* __restrict__ gate_sums, float* __restrict__ query, float* __restrict__ key, float* __restrict__ value, float* __restrict__ gate) {
    const unsigned int row = warp_row();
    if (row >= rows) return;
    const Member m = member_of(p, signs, row);
    const u64 at = (u64)row * p.width;
    const MatrixArgs of[3] = {of_query, of_key, of_value};
    const int* sums[3] = {query_sums, key_sums, value_sums};
    float* to[3] = {query, key, value};
    for (int i = 0; i < 3; ++i) {
        const LowRank low = low_rank(p, of[i], m, y + at);
        for (unsigned int j = lane(); j < p.width; j += 32) to[i][at + j] = product(p, of[i], m, low, sums[i][at + j], j);
    }
    const LowRank low = low_rank(p, of_gate, m, y + at);
    if (lane() == 0) gate[row] = product(p, of_gate, m, low, gate_sums[row], 0) + vector_of(p, m, gate_bias, noise + a.first_bias, a.layer);
}

// Roots by which queries and keys are divided, 32 rows per block; `gate` receives α.
extern "C" __global__ void attention_steps(PassArgs p, DeltaRuleArgs a, unsigned int rows, const float* __restrict__ query, const float* __restrict__ key, float* __restrict__ gate, float* __restrict__ roots) {
    __shared__ float tile[2][32][33];
    const unsigned int first = blockIdx.x * 32, t = threadIdx.x, column = t % 32;
    float sum = 0.0f; // of row t % 32: threads 0 to 31 of queries, 32 to 63 of keys
    for (unsigned int from = 0; from < p.width; from += 32) {
        for (unsigned int r = t / 32; r < 32; r += blockDim.x / 32) {
            const bool is_in = first + r < rows && from + column < p.width;
            const u64 at = (u64)(first + r) * p.width + from + column;
            tile[0][r][column] = is_in ? query[at] : 0.0f;
            tile[1][r][column] = is_in ? key[at] : 0.0f;
        }
        __syncthreads();
        if (t < 64)
            for (unsigned int d = 0; d < min(32u, p.width - from); ++d) {
                const float x = tile[t / 32][t % 32][d];
                sum = fmaf(x, x, sum);
            }
        __syncthreads();
    }
    const unsigned int row = first + t % 32;
    if (t >= 64 || row >= rows) return;
    if (t < 32) {
        roots[2 * row] = sqrtf(sum + EPSILON);
    } else {
        const float lambda = fmaxf(sum, EPSILON), beta = 1.0f / (1.0f + exact::exp(-gate[row]));
        roots[2 * row + 1] = a.is_delta_net ? sqrtf(lambda + EPSILON) : 1.0f;
        gate[row] = a.is_delta_net ? beta : exact::one_minus_exp(beta * lambda) / (lambda + EPSILON);
    }
}

// Place of the product of row `t` with key `j`: the products of ROWS rows with a key follow each other.
__device__ inline u64 product_at(const PassArgs& p, unsigned int sequence, unsigned int which, unsigned int t, unsigned int j) {
    const u64 groups = (p.steps + ROWS - 1) / ROWS;
    return ((((u64)sequence * 2 + which) * groups + t / ROWS) * p.steps + j) * ROWS + t % ROWS;
}

// Products of the keys and of the queries of a sequence with its keys: a tile of 64 x 64 per block. Tiles above the diagonal are
// left out. Queries and keys are divided by their roots when they are read.
extern "C" __global__ void attention_products(PassArgs p, const float* __restrict__ query, const float* __restrict__ key, const float* __restrict__ roots, float* __restrict__ products) {
    if (blockIdx.y > blockIdx.x) return;
    __shared__ float rows_of[2][16][68], keys_of[16][68], divisors[3][64];
    const unsigned int t = threadIdx.x, row = blockIdx.x * 64, column = blockIdx.y * 64, sequence = blockIdx.z;
    const u64 first_row = (u64)sequence * p.steps, first = first_row * p.width;
    const unsigned int y = t / 16 * 4, x = t % 16 * 4;
    if (t < 64) {
        divisors[0][t] = row + t < p.steps ? roots[2 * (first_row + row + t) + 1] : 1.0f;
        divisors[1][t] = row + t < p.steps ? roots[2 * (first_row + row + t)] : 1.0f;
        divisors[2][t] = column + t < p.steps ? roots[2 * (first_row + column + t) + 1] : 1.0f;
    }
    __syncthreads();
    float sums[2][4][4] = {};
    for (unsigned int from = 0; from < p.width; from += 16) {
        for (unsigned int i = t; i < 64 * 16; i += 256) {
            const unsigned int r = i / 16, d = i % 16;
            const bool is_d = from + d < p.width;
            const u64 of_row = first + (u64)(row + r) * p.width + from + d, of_column = first + (u64)(column + r) * p.width + from + d;
            rows_of[0][d][r] = is_d && row + r < p.steps ? key[of_row] / divisors[0][r] : 0.0f;
            rows_of[1][d][r] = is_d && row + r < p.steps ? query[of_row] / divisors[1][r] : 0.0f;
            keys_of[d][r] = is_d && column + r < p.steps ? key[of_column] / divisors[2][r] : 0.0f;
        }
        __syncthreads();
        for (unsigned int d = 0; d < min(16u, p.width - from); ++d) {
            const float4 k = *(const float4*)&keys_of[d][x], a = *(const float4*)&rows_of[0][d][y], b = *(const float4*)&rows_of[1][d][y];
            const float of_key[4] = {k.x, k.y, k.z, k.w}, of_row[2][4] = {{a.x, a.y, a.z, a.w}, {b.x, b.y, b.z, b.w}};
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) {
                    sums[0][i][j] = fmaf(of_row[0][i], of_key[j], sums[0][i][j]);
                    sums[1][i][j] = fmaf(of_row[1][i], of_key[j], sums[1][i][j]);
                }
        }
        __syncthreads();
    }
    for (int which = 0; which < 2; ++which)
        for (int j = 0; j < 4; ++j) {
            if (column + x + j >= p.steps || row + y >= p.steps) continue;
            // Four rows of a group: the last ones may lie behind the sequence, where their place is unused.
            float4 four = {sums[which][0][j], sums[which][1][j], sums[which][2][j], sums[which][3][j]};
            *(float4*)&products[product_at(p, sequence, which, row + y, column + x + j)] = four;
        }
}

// Corrections and outputs of a sequence in chunk form: a block per sequence and group of columns, two columns per thread. Dynamic
// shared memory: corrections `[T, columns]`, then products of ROWS rows `[2, T, ROWS]`.
extern "C" __global__ void attention_outputs(PassArgs p, const float* __restrict__ products, const float* __restrict__ value, const float* __restrict__ alphas, float* __restrict__ output) {
    extern __shared__ float4 memory[];
    const unsigned int threads = blockDim.x, t = threadIdx.x, sequence = blockIdx.y, n = (blockIdx.x * threads + t) * 2;
    float4* of_rows = memory; // [2, T, ROWS / 4]
    float2* corrections = (float2*)(memory + 2 * p.steps * ROWS / 4);
    const u64 first = (u64)sequence * p.steps;
    const bool has[2] = {n < p.width, n + 1 < p.width};
    for (unsigned int from = 0; from < p.steps; from += ROWS) {
        const unsigned int count = min(ROWS, p.steps - from), keys = from + count;
        __syncthreads();
        for (unsigned int which = 0; which < 2; ++which) {
            const float4* source = (const float4*)&products[product_at(p, sequence, which, from, 0)];
            for (unsigned int i = t; i < keys * ROWS / 4; i += threads) of_rows[which * p.steps * ROWS / 4 + i] = source[i];
        }
        __syncthreads();
        if (!has[0]) continue;
        float now[2][ROWS], out[2][ROWS];
        for (unsigned int c = 0; c < 2; ++c)
            for (unsigned int r = 0; r < ROWS; ++r) {
                now[c][r] = r < count && has[c] ? value[(first + from + r) * p.width + n + c] : 0.0f;
                out[c][r] = 0.0f;
            }
        for (unsigned int j = 0; j < from; ++j) {
            const float2 u = corrections[j * threads + t];
            const float4 g[2] = {of_rows[2 * j], of_rows[2 * j + 1]}, q[2] = {of_rows[2 * (p.steps + j)], of_rows[2 * (p.steps + j) + 1]};
            for (unsigned int half = 0; half < 2; ++half) {
                const float of_key[4] = {g[half].x, g[half].y, g[half].z, g[half].w}, of_query[4] = {q[half].x, q[half].y, q[half].z, q[half].w};
                for (unsigned int r = 0; r < 4; ++r) {
                    now[0][4 * half + r] = fmaf(-of_key[r], u.x, now[0][4 * half + r]);
                    now[1][4 * half + r] = fmaf(-of_key[r], u.y, now[1][4 * half + r]);
                    out[0][4 * half + r] = fmaf(of_query[r], u.x, out[0][4 * half + r]);
                    out[1][4 * half + r] = fmaf(of_query[r], u.y, out[1][4 * half + r]);
                }
            }
        }
        const float* g = (const float*)of_rows;
        const float* q = (const float*)(of_rows + p.steps * ROWS / 4);
        for (unsigned int r = 0; r < ROWS; ++r) {
            if (r < count) {
                const float alpha = alphas[first + from + r];
                float2 u;
                for (unsigned int c = 0; c < 2; ++c) {
                    for (unsigned int e = 0; e < r; ++e) {
                        const float earlier = now[c][e];
                        now[c][r] = fmaf(-g[(from + e) * ROWS + r], earlier, now[c][r]);
                        out[c][r] = fmaf(q[(from + e) * ROWS + r], earlier, out[c][r]);
                    }
                    now[c][r] = now[c][r] * alpha;
                    out[c][r] = fmaf(q[(from + r) * ROWS + r], now[c][r], out[c][r]);
                    if (has[c]) output[(first + from + r) * p.width + n + c] = out[c][r];
                }
                u.x = now[0][r];
                u.y = now[1][r];
                corrections[(from + r) * threads + t] = u;
            }
        }
    }
}

// The same step by step with a state matrix: a block per sequence and group of columns, a thread per column. Dynamic shared
// memory: state `[H, columns]`, then a query and a key.
extern "C" __global__ void attention_states(PassArgs p, DeltaRuleArgs a, const float* __restrict__ query, const float* __restrict__ key, const float* __restrict__ value, const float* __restrict__ alphas, const float* __restrict__ roots, float* __restrict__ output) {
    extern __shared__ float state_memory[];
    const unsigned int columns = blockDim.x, t = threadIdx.x, n = blockIdx.x * columns + t;
    float* state = state_memory;
    float* q = state_memory + p.width * columns;
    float* k = q + p.width;
    const u64 first = (u64)blockIdx.y * p.steps;
    for (unsigned int d = 0; d < p.width; ++d) state[d * columns + t] = 0.0f;
    for (unsigned int step = 0; step < p.steps; ++step) {
        const u64 row = (first + step) * p.width;
        __syncthreads();
        for (unsigned int d = t; d < p.width; d += columns) {
            q[d] = query[row + d] / roots[2 * (first + step)];
            k[d] = key[row + d] / roots[2 * (first + step) + 1];
        }
        __syncthreads();
        if (n >= p.width) continue;
        float sum = 0.0f, out = 0.0f;
        for (unsigned int d = 0; d < p.width; ++d) sum = fmaf(k[d], state[d * columns + t], sum);
        const float delta = value[row + n] - sum, alpha = alphas[first + step];
        for (unsigned int d = 0; d < p.width; ++d) {
            float s = fmaf(alpha * k[d], delta, state[d * columns + t]);
            if (a.has_f16_state) s = to_float(to_f16(s));
            state[d * columns + t] = s;
            out = fmaf(s, q[d], out);
        }
        output[row + n] = out;
    }
}
