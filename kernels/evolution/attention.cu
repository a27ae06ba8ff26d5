// Linear attention by the delta rule: chunk form, or a state matrix. Sums take fmaf in the order that
// src/nn/delta_rule/cpu.rs states, so results have the same bits.
//
// Queries, keys and values are never stored: a kernel that reads an integer sum adds the low-rank perturbation and scales it. A row of
// 512 features and its f32 copy are 12 kB per layer, read or written twice. The sums of a row follow each other, `[rows, 3, H]`.
//
// Measured on an H100 80GB, 90,112 rows of 512 features, T = 128, rank 1, us per launch; each has the same bits:
//
// | kernel | variant | us |
// | --- | --- | --- |
// | products | queries and keys in f32, divided by their roots when read; 4 x 4 x 2 products per thread, 256 threads | 1,330 |
// | products | integer sums, factors in place of roots, 8 x 8 per thread, 128 threads, stages of 16 features, unrolled (kept) | 594 |
// | products | the same, unrolled by 4 / by 2 / stages of 8 | 624 / 656 / 658 |
// | products | 2 x 8 x 8 per thread, 64 threads: 223 registers | 765 to 830 |
// | products | offsets and factors in registers: 197 registers, 2 blocks per multiprocessor | 625 |
// | outputs | values in f32, nothing read ahead | 720 |
// | outputs | values as sums, the next rows read ahead, rank 1 in registers (kept) | 448 |
// | outputs | the same without reading ahead the products of rank 1 | 787 |
// | outputs | four columns per thread, 32 threads: 3 warps per multiprocessor | 726 to 879 |
// | rows | a pass of its own for queries, keys and values in f32, then one for their norms | 850 + 172 |
// | rows | norms alone, 32 rows per block, the next tile read ahead (kept) | 265 |
// | rows | a warp for 32 queries or keys without barriers, nothing read ahead | 316 |
#include "gen/evolution-attention.cuh"
#include "common/elements.cuh"
#include "evolution/rows.cuh"

constexpr float EPSILON = 1e-6f;
constexpr unsigned int ROWS = 8;       // rows whose products with a key follow each other
constexpr unsigned int TILE = 64;      // rows and keys of a block of products
constexpr unsigned int STAGE = 16;     // features of a tile in shared memory
constexpr unsigned int PREFETCHED = 8; // products per thread that are read ahead

// Projections of a row, in the order of `along`.
enum { QUERY, KEY, VALUE };

// Products of a row with the second factors of the perturbations, `[rows, 3, rank]`.
__device__ inline const int* along_of(const PassArgs& p, const int* along, u64 row, unsigned int which) { return along + (row * 3 + which) * p.rank; }

// One feature of a projection of a row.
__device__ inline float feature(const PassArgs& p, const MatrixArgs& w, const Member& m, const int* along, int sum, unsigned int column) {
    for (unsigned int k = 0; k < p.rank; ++k) sum += along[k] * sign_of(m.words + w.first_word, (u64)k * w.outputs + column);
    return (float)sum * w.scale;
}

// A block per 32 rows, whose queries and keys are read once: `alphas` receives α, `inverses` the factors of queries and
// keys, `along` the products with the second factors.
extern "C" __global__ void attention_rows(PassArgs p, DeltaRuleArgs a, MatrixArgs of_query, MatrixArgs of_key, MatrixArgs of_value, MatrixArgs of_gate, unsigned int rows, unsigned int stride, const u64* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ gate_bias, const signed char* __restrict__ gate_weights, const signed char* __restrict__ y, const int* __restrict__ query_sums, const int* __restrict__ key_sums, int* __restrict__ along, float* __restrict__ alphas, float* __restrict__ inverses) {
    __shared__ float tile[2][32][33], gates[32];
    const unsigned int first = blockIdx.x * 32, t = threadIdx.x;
    const MatrixArgs of[3] = {of_query, of_key, of_value};
    for (unsigned int r = t / 32; r < 32 && first + r < rows; r += blockDim.x / 32) {
        const unsigned int row = first + r;
        const Member m = member_of(p, signs, row);
        const signed char* of_row = y + (u64)row * p.width;
        for (unsigned int which = 0; p.rank && which < 3; ++which)
            for (unsigned int k = 0; k < p.rank; ++k) {
                const int sum = along_second(p, of[which], m, k, of_row);
                if (lane() == 0) along[((u64)row * 3 + which) * p.rank + k] = sum;
            }
        const LowRank low = low_rank(p, of_gate, m, of_row);
        const int sum = dot_row(gate_weights + (u64)m.index * stride, of_row, p.width) + activation_noise(p, of_gate, m, row, 0);
        if (lane() == 0) gates[r] = product(p, of_gate, m, low, sum, 0) + vector_of(p, m, gate_bias, noise + a.first_bias, a.layer);
    }
    __syncthreads();
    const unsigned int row = min(first + t / 8, rows - 1);
    const Member m = member_of(p, signs, row);
    const int* along_row[2] = {along_of(p, along, row, QUERY), along_of(p, along, row, KEY)};
    const int first_along[2] = {p.rank ? along_row[QUERY][0] : 0, p.rank ? along_row[KEY][0] : 0};
    int4 ahead[2] = {};
    auto read = [&](unsigned int column) {
        if (column >= p.width) return;
        ahead[QUERY] = load4<int4>(query_sums + (u64)row * 3 * p.width, column, p.width);
        ahead[KEY] = load4<int4>(key_sums + (u64)row * 3 * p.width, column, p.width);
    };
    read(t % 8 * 4);
    float sum = 0.0f; // squared length in row t % 32: of the query in threads 0 to 31, of the key in threads 32 to 63
    for (unsigned int from = 0; from < p.width; from += 32) {
        const unsigned int column = from + t % 8 * 4;
#pragma unroll
        for (unsigned int which = QUERY; which <= KEY; ++which) {
            const float4 four = column < p.width ? products4(p, of[which], m, first_along[which], along_row[which], ahead[which], column) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
            float* to = &tile[which][t / 8][t % 8 * 4];
            to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
        }
        __syncthreads();
        read(column + 32);
        const unsigned int count = min(32u, p.width - from);
        const float* of_row = tile[t / 32 % 2][t % 32];
        if (t < 64 && count == 32) {
#pragma unroll
            for (unsigned int d = 0; d < 32; ++d) sum = fmaf(of_row[d], of_row[d], sum);
        } else if (t < 64) {
            for (unsigned int d = 0; d < count; ++d) sum = fmaf(of_row[d], of_row[d], sum);
        }
        __syncthreads();
    }
    const u64 at = first + t % 32;
    if (t >= 64 || at >= rows) return;
    if (t < 32) {
        inverses[2 * at] = 1.0f / sqrtf(sum + EPSILON);
    } else {
        const float lambda = fmaxf(sum, EPSILON), beta = 1.0f / (1.0f + exact::exp(-gates[t % 32]));
        inverses[2 * at + 1] = a.is_delta_net ? 1.0f / sqrtf(lambda + EPSILON) : 1.0f;
        alphas[at] = a.is_delta_net ? beta : exact::one_minus_exp(beta * lambda) / (lambda + EPSILON);
    }
}

// Index of the product of row `t` with key `j`: the products of ROWS rows with a key follow each other.
__device__ inline u64 product_at(const PassArgs& p, unsigned int sequence, unsigned int which, unsigned int t, unsigned int j) {
    const u64 groups = (p.steps + ROWS - 1) / ROWS;
    return ((((u64)sequence * 2 + which) * groups + t / ROWS) * p.steps + j) * ROWS + t % ROWS;
}

// Writes four features of a row, times its factor, to a column of a tile in shared memory; 0 beyond the end of the row.
__device__ inline void store_features(const PassArgs& p, float4 four, float inverse, unsigned int column, float* to, unsigned int stride) {
    to[0] = column < p.width ? four.x * inverse : 0.0f;
    to[stride] = column + 1 < p.width ? four.y * inverse : 0.0f;
    to[2 * stride] = column + 2 < p.width ? four.z * inverse : 0.0f;
    to[3 * stride] = column + 3 < p.width ? four.w * inverse : 0.0f;
}

// Products of the keys and of the queries of a sequence with its keys: a tile of TILE keys and TILE queries with TILE keys per
// block, 8 x 8 products per thread. Tiles above the diagonal are left out.
extern "C" __global__ void attention_products(PassArgs p, MatrixArgs of_query, MatrixArgs of_key, const u64* __restrict__ signs, const int* __restrict__ query_sums, const int* __restrict__ key_sums, const int* __restrict__ along, const float* __restrict__ inverses, float* __restrict__ products) {
    if (blockIdx.y > blockIdx.x) return;
    constexpr unsigned int ROW_STRIDE = 2 * TILE + 4, KEY_STRIDE = TILE + 4;
    __shared__ alignas(16) float rows_of[2][STAGE][ROW_STRIDE]; // keys, then queries
    __shared__ alignas(16) float keys_of[2][STAGE][KEY_STRIDE];
    const unsigned int t = threadIdx.x, row = blockIdx.x * TILE, key = blockIdx.y * TILE, sequence = blockIdx.z;
    const u64 first = (u64)sequence * p.steps;
    const Member m = member_of(p, signs, (unsigned int)first);
    const bool is_diagonal = row == key;
    // Factors and rank-1 products of the rows as keys, of the rows as queries, and of the keys.
    __shared__ float inverse[3][TILE];
    __shared__ int first_along[3][TILE];
    for (unsigned int i = t; i < 3 * TILE; i += blockDim.x) {
        const unsigned int of = i / TILE, at = min((of == 2 ? key : row) + i % TILE, p.steps - 1);
        inverse[of][i % TILE] = inverses[2 * (first + at) + (of != 1)];
        first_along[of][i % TILE] = p.rank ? *along_of(p, along, first + at, of == 1 ? QUERY : KEY) : 0;
    }
    __syncthreads();
    // A thread reads four features of PASSES rows. Rows beyond the sequence are copies of the last one, and their
    // products are not read.
    constexpr unsigned int PASSES = STAGE / 8, APART = TILE / PASSES;
    const unsigned int d = t % (STAGE / 4) * 4, r = t / (STAGE / 4);
    int4 ahead[3][PASSES] = {};
    const int *queries = query_sums + first * 3 * p.width, *keys = key_sums + first * 3 * p.width;
    auto load = [&](unsigned int column) {
        if (column >= p.width) return;
#pragma unroll
        for (unsigned int i = 0; i < PASSES; ++i) {
            const unsigned int of_row = min(row + r + APART * i, p.steps - 1) * 3 * p.width, of_key_row = min(key + r + APART * i, p.steps - 1) * 3 * p.width;
            ahead[0][i] = load4<int4>(keys + of_row, column, p.width);
            ahead[1][i] = load4<int4>(queries + of_row, column, p.width);
            if (!is_diagonal) ahead[2][i] = load4<int4>(keys + of_key_row, column, p.width);
        }
    };
    auto store = [&](unsigned int column, unsigned int to) {
        const unsigned int at = min(column, p.width - 1) / 4 * 4;
#pragma unroll
        for (unsigned int i = 0; i < PASSES; ++i) {
            const unsigned int n = r + APART * i;
            auto features = [&](const MatrixArgs& w, unsigned int of, unsigned int of_row, unsigned int which) {
                return products4(p, w, m, first_along[of][n], along_of(p, along, first + min(of_row, p.steps - 1), which), ahead[of][i], at);
            };
            const float4 as_key = features(of_key, 0, row + n, KEY);
            store_features(p, as_key, inverse[0][n], column, &rows_of[to][d][n], ROW_STRIDE);
            store_features(p, features(of_query, 1, row + n, QUERY), inverse[1][n], column, &rows_of[to][d][TILE + n], ROW_STRIDE);
            const float4 with = is_diagonal ? as_key : features(of_key, 2, key + n, KEY);
            store_features(p, with, inverse[2][n], column, &keys_of[to][d][n], KEY_STRIDE);
        }
    };
    const unsigned int y = t / 8 * 8, x = t % 8 * 4;
    float sums[8][8] = {};
    auto add = [&](unsigned int of, unsigned int e) {
        const float4 a[2] = {*(const float4*)&rows_of[of][e][y], *(const float4*)&rows_of[of][e][y + 4]};
        const float4 b[2] = {*(const float4*)&keys_of[of][e][x], *(const float4*)&keys_of[of][e][x + 32]};
        const float of_row[8] = {a[0].x, a[0].y, a[0].z, a[0].w, a[1].x, a[1].y, a[1].z, a[1].w};
        const float with[8] = {b[0].x, b[0].y, b[0].z, b[0].w, b[1].x, b[1].y, b[1].z, b[1].w};
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 8; ++j) sums[i][j] = fmaf(of_row[i], with[j], sums[i][j]);
    };
    load(d);
    store(d, 0);
    __syncthreads();
    for (unsigned int from = 0, now = 0; from < p.width; from += STAGE, now ^= 1) {
        const bool has_next = from + STAGE < p.width;
        if (has_next) load(from + STAGE + d);
        if (from + STAGE <= p.width) {
#pragma unroll
            for (unsigned int e = 0; e < STAGE; ++e) add(now, e);
        } else {
            for (unsigned int e = 0; e < p.width - from; ++e) add(now, e);
        }
        if (has_next) store(from + STAGE + d, now ^ 1);
        __syncthreads();
    }
    const unsigned int which = y / TILE, group = row + y % TILE;
    if (group >= p.steps) return;
    for (int j = 0; j < 8; ++j) {
        const unsigned int of_key_row = key + x + j % 4 + j / 4 * 32;
        if (of_key_row >= p.steps) continue;
        // The last rows of a group may be beyond the sequence, where their products are unused.
        float4* to = (float4*)&products[product_at(p, sequence, which, group, of_key_row)];
        to[0] = make_float4(sums[0][j], sums[1][j], sums[2][j], sums[3][j]);
        to[1] = make_float4(sums[4][j], sums[5][j], sums[6][j], sums[7][j]);
    }
}

// Corrections and outputs of a sequence in chunk form: a block per sequence and group of columns, two columns per
// thread. Dynamic shared memory: products of ROWS rows `[2, T, ROWS]`, then corrections `[T, columns]`. The inputs of
// the next rows are read while the current ones are computed, because few blocks fit on a multiprocessor.
extern "C" __global__ void attention_outputs(PassArgs p, MatrixArgs of_value, const u64* __restrict__ signs, const float* __restrict__ products, const int* __restrict__ value_sums, const int* __restrict__ along, const float* __restrict__ alphas, float* __restrict__ output) {
    extern __shared__ float4 memory[];
    const unsigned int threads = blockDim.x, t = threadIdx.x, sequence = blockIdx.y, n = (blockIdx.x * threads + t) * 2;
    const unsigned int half = p.steps * ROWS / 4; // [T, ROWS / 4]
    float4* of_rows = memory;
    float2* corrections = (float2*)(memory + 2 * half);
    const u64 first = (u64)sequence * p.steps;
    const Member m = member_of(p, signs, (unsigned int)first);
    const bool has[2] = {n < p.width, n + 1 < p.width};
    // Signs of the first factor of rank 1.
    const int sign[2] = {p.rank && has[0] ? sign_of(m.words + of_value.first_word, n) : 0, p.rank && has[1] ? sign_of(m.words + of_value.first_word, n + 1) : 0};
    float4 ahead[PREFETCHED];
    int values[2][ROWS], first_along[ROWS];
    float alphas_ahead[ROWS];
    auto read = [&](unsigned int from) {
        const unsigned int keys = min(from + ROWS, p.steps), items = keys * ROWS / 4;
        const float4* source = (const float4*)&products[product_at(p, sequence, 0, from, 0)];
        const u64 apart = (const float4*)&products[product_at(p, sequence, 1, from, 0)] - source;
#pragma unroll
        for (unsigned int i = 0; i < PREFETCHED; ++i) {
            const unsigned int at = t + i * threads;
            if (at < 2 * items) ahead[i] = source[at < items ? at : apart + at - items];
        }
#pragma unroll
        for (unsigned int r = 0; r < ROWS; ++r) {
            const u64 row = first + min(from + r, p.steps - 1);
            for (unsigned int c = 0; c < 2; ++c) values[c][r] = has[c] ? value_sums[row * 3 * p.width + n + c] : 0;
            first_along[r] = p.rank ? *along_of(p, along, row, VALUE) : 0;
            alphas_ahead[r] = alphas[row];
        }
    };
    read(0);
    for (unsigned int from = 0; from < p.steps; from += ROWS) {
        const unsigned int count = min(ROWS, p.steps - from), items = (from + count) * ROWS / 4;
        __syncthreads();
#pragma unroll
        for (unsigned int i = 0; i < PREFETCHED; ++i) {
            const unsigned int at = t + i * threads;
            if (at < 2 * items) of_rows[at < items ? at : half + at - items] = ahead[i];
        }
        if (2 * items > PREFETCHED * threads) {
            const float4* source = (const float4*)&products[product_at(p, sequence, 0, from, 0)];
            const u64 apart = (const float4*)&products[product_at(p, sequence, 1, from, 0)] - source;
            for (unsigned int at = t + PREFETCHED * threads; at < 2 * items; at += threads) of_rows[at < items ? at : half + at - items] = source[at < items ? at : apart + at - items];
        }
        float now[2][ROWS], out[2][ROWS], alpha[ROWS];
#pragma unroll
        for (unsigned int r = 0; r < ROWS; ++r) {
            alpha[r] = alphas_ahead[r];
            for (unsigned int c = 0; c < 2; ++c) {
                int sum = values[c][r] + first_along[r] * sign[c];
                for (unsigned int k = 1; k < p.rank && has[c]; ++k)
                    sum += along_of(p, along, first + min(from + r, p.steps - 1), VALUE)[k] * sign_of(m.words + of_value.first_word, (u64)k * p.width + n + c);
                now[c][r] = (float)sum * of_value.scale;
                out[c][r] = 0.0f;
            }
        }
        __syncthreads();
        if (from + ROWS < p.steps) read(from + ROWS);
        // Earlier rows: `from` is a multiple of ROWS.
        for (unsigned int group = 0; group < from; group += ROWS)
#pragma unroll
            for (unsigned int e = 0; e < ROWS; ++e) {
                const unsigned int j = group + e;
                const float2 u = corrections[j * threads + t];
                const float4 g[2] = {of_rows[2 * j], of_rows[2 * j + 1]}, q[2] = {of_rows[half + 2 * j], of_rows[half + 2 * j + 1]};
                const float of_key[8] = {g[0].x, g[0].y, g[0].z, g[0].w, g[1].x, g[1].y, g[1].z, g[1].w};
                const float of_query[8] = {q[0].x, q[0].y, q[0].z, q[0].w, q[1].x, q[1].y, q[1].z, q[1].w};
#pragma unroll
                for (unsigned int r = 0; r < ROWS; ++r) {
                    now[0][r] = fmaf(-of_key[r], u.x, now[0][r]);
                    now[1][r] = fmaf(-of_key[r], u.y, now[1][r]);
                    out[0][r] = fmaf(of_query[r], u.x, out[0][r]);
                    out[1][r] = fmaf(of_query[r], u.y, out[1][r]);
                }
            }
        // The current rows, each of which needs the corrections of those before it.
#pragma unroll
        for (unsigned int e = 0; e < ROWS; ++e) {
            if (e >= count) break;
            const unsigned int j = from + e;
            const float4 g[2] = {of_rows[2 * j], of_rows[2 * j + 1]}, q[2] = {of_rows[half + 2 * j], of_rows[half + 2 * j + 1]};
            const float of_key[8] = {g[0].x, g[0].y, g[0].z, g[0].w, g[1].x, g[1].y, g[1].z, g[1].w};
            const float of_query[8] = {q[0].x, q[0].y, q[0].z, q[0].w, q[1].x, q[1].y, q[1].z, q[1].w};
            const float2 u = {now[0][e] * alpha[e], now[1][e] * alpha[e]};
            corrections[j * threads + t] = u;
#pragma unroll
            for (unsigned int r = 0; r < ROWS; ++r) {
                if (r > e) {
                    now[0][r] = fmaf(-of_key[r], u.x, now[0][r]);
                    now[1][r] = fmaf(-of_key[r], u.y, now[1][r]);
                }
                if (r >= e) {
                    out[0][r] = fmaf(of_query[r], u.x, out[0][r]);
                    out[1][r] = fmaf(of_query[r], u.y, out[1][r]);
                }
            }
            for (unsigned int c = 0; c < 2; ++c)
                if (has[c]) output[(first + j) * p.width + n + c] = out[c][e];
        }
    }
}

// Outputs of a sequence step by step with a state matrix: a block per sequence and group of columns, a thread per
// column. Dynamic shared memory: state `[H, columns]`, then a query and a key.
extern "C" __global__ void attention_states(PassArgs p, DeltaRuleArgs a, MatrixArgs of_query, MatrixArgs of_key, MatrixArgs of_value, const u64* __restrict__ signs, const int* __restrict__ query_sums, const int* __restrict__ key_sums, const int* __restrict__ value_sums, const int* __restrict__ along, const float* __restrict__ alphas, const float* __restrict__ inverses, float* __restrict__ output) {
    extern __shared__ float state_memory[];
    const unsigned int columns = blockDim.x, t = threadIdx.x, n = blockIdx.x * columns + t;
    float* state = state_memory;
    float* q = state_memory + p.width * columns;
    float* k = q + p.width;
    const u64 first = (u64)blockIdx.y * p.steps;
    const Member m = member_of(p, signs, (unsigned int)first);
    for (unsigned int d = 0; d < p.width; ++d) state[d * columns + t] = 0.0f;
    for (unsigned int step = 0; step < p.steps; ++step) {
        const u64 at = first + step, row = at * p.width; // of queries, keys and values: 3 * row
        __syncthreads();
        for (unsigned int d = t; d < p.width; d += columns) {
            q[d] = feature(p, of_query, m, along_of(p, along, at, QUERY), query_sums[3 * row + d], d) * inverses[2 * at];
            k[d] = feature(p, of_key, m, along_of(p, along, at, KEY), key_sums[3 * row + d], d) * inverses[2 * at + 1];
        }
        __syncthreads();
        if (n >= p.width) continue;
        float sum = 0.0f, out = 0.0f;
        for (unsigned int d = 0; d < p.width; ++d) sum = fmaf(k[d], state[d * columns + t], sum);
        const float delta = feature(p, of_value, m, along_of(p, along, at, VALUE), value_sums[3 * row + n], n) - sum, alpha = alphas[at];
        for (unsigned int d = 0; d < p.width; ++d) {
            float s = fmaf(alpha * k[d], delta, state[d * columns + t]);
            if (a.has_f16_state) s = to_float(to_f16(s));
            state[d * columns + t] = s;
            out = fmaf(s, q[d], out);
        }
        output[row + n] = out;
    }
}
