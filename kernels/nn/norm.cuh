// LayerNorm and RMSNorm: formulas in src/nn/norm/mod.rs, threads of a row in nn/rows.cuh. A row is read once from memory: the
// first four packs of each thread are loaded before any is used and stay in registers, later ones are found in the first-level
// cache. With one pack per thread, 96 threads per row of 768 bf16, both kernels reached 1.5 TB/s on an H200.
#pragma once
#define KEPT_PACKS 4
#define KEEPS_DX (sizeof(T) < 4) // with f32, registers would spill on sm_120
#include "gen/nn-norm_f32.cuh"
#include "nn/rows.cuh"

// y = norm(x); with a residual, sum = x + residual, y = norm(sum).
extern "C" __global__ void norm_forward(NormArgs a, const void* x, const void* residual, const void* weight, const void* bias, void* sum, void* y, float* stats) {
    __shared__ float slots[2][MAX_WARPS];
    const unsigned int n = a.columns;
    for (u64 row = first_row(); row < a.rows; row += row_step()) {
        const u64 at = row * n;
        const T* from = (const T*)x + at;
        Raw kept[KEPT] = {};
        if (residual) {
            each_pack(n, [&](unsigned int, unsigned int i) {
                float v[PACK], other[PACK];
                read_pack(from, i, n, a.is_aligned, v);
                read_pack((const T*)residual + at, i, n, a.is_aligned, other);
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) v[e] += other[e];
                write_pack((T*)sum + at, i, n, a.is_aligned, v);
            });
            from = (const T*)sum + at; // each thread reads what it wrote
        }
        each_kept(n, [&](unsigned int c, unsigned int i) { kept[c] = read_raw(from, i, n, a.is_aligned); });
        auto get = [&](unsigned int c, unsigned int i, float (&v)[PACK]) {
            if (c < KEPT) unpack(kept[c < KEPT ? c : 0], v);
            else unpack(read_raw(from, i, n, a.is_aligned), v);
        };
        float total[1] = {0.0f};
        float mean = 0.0f;
        if (!a.is_rms) {
            each_pack(n, [&](unsigned int c, unsigned int i) {
                float v[PACK];
                get(c, i, v);
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) total[0] += v[e];
            });
            reduce_row<Sum>(total, slots);
            mean = total[0] / n;
        }
        // The mean is rounded: the sum of differences from it corrects mean and variance.
        float parts[2] = {0.0f, 0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            float v[PACK];
            get(c, i, v);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                const float d = i + e < n ? v[e] - mean : 0.0f;
                parts[0] += d;
                parts[1] += d * d;
            }
        });
        reduce_row<Sum>(parts, slots);
        const float shift = a.is_rms ? 0.0f : parts[0] / n;
        const float scale = 1.0f / sqrtf(fmaxf(parts[1] / n - shift * shift, 0.0f) + a.eps);
        each_pack(n, [&](unsigned int c, unsigned int i) {
            float v[PACK], g[PACK], b[PACK];
            read_pack((const T*)weight, i, n, a.is_aligned, g);
            if (bias) read_pack((const T*)bias, i, n, a.is_aligned, b);
            get(c, i, v);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                const float normalised = ((v[e] - mean) - shift) * scale;
                g[e] = bias ? normalised * g[e] + b[e] : normalised * g[e];
            }
            write_pack((T*)y + at, i, n, a.is_aligned, g);
        });
        if (threadIdx.x == 0) {
            stats[2 * row] = mean + shift;
            stats[2 * row + 1] = scale;
        }
    }
}

// dx += gradient of the rows. shifts: what is left of the mean in the normalised row, as the stored mean is rounded.
extern "C" __global__ void norm_backward(NormArgs a, const void* dy, const void* x, const void* weight, const float* stats, void* dx, float* shifts) {
    __shared__ float slots[3][MAX_WARPS];
    const unsigned int n = a.columns;
    for (u64 row = first_row(); row < a.rows; row += row_step()) {
        const u64 at = row * n;
        const T *above = (const T*)dy + at, *from = (const T*)x + at;
        Raw kept_dy[KEPT] = {}, kept_x[KEPT] = {}, kept_dx[KEPT] = {};
        each_kept(n, [&](unsigned int c, unsigned int i) {
            kept_dy[c] = read_raw(above, i, n, a.is_aligned);
            kept_x[c] = read_raw(from, i, n, a.is_aligned);
            if (KEEPS_DX) kept_dx[c] = read_raw((const T*)dx + at, i, n, a.is_aligned);
        });
        const float mean = a.is_rms ? 0.0f : stats[2 * row], scale = stats[2 * row + 1];
        // dy g, and the normalised row.
        auto get = [&](unsigned int c, unsigned int i, float (&d)[PACK], float (&h)[PACK]) {
            float g[PACK];
            read_pack((const T*)weight, i, n, a.is_aligned, g);
            unpack(c < KEPT ? kept_dy[c < KEPT ? c : 0] : read_raw(above, i, n, a.is_aligned), d);
            unpack(c < KEPT ? kept_x[c < KEPT ? c : 0] : read_raw(from, i, n, a.is_aligned), h);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                d[e] = __fmul_rn(d[e], g[e]); // not fused: a row of one column has gradient 0
                h[e] = i + e < n ? (h[e] - mean) * scale : 0.0f;
            }
        };
        float sums[3] = {0.0f, 0.0f, 0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            float d[PACK], h[PACK];
            get(c, i, d, h);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                sums[0] += d[e];
                sums[1] += d[e] * h[e];
                sums[2] += h[e];
            }
        });
        reduce_row<Sum>(sums, slots);
        const float shift = a.is_rms ? 0.0f : sums[2] / n;
        const float mean_d = a.is_rms ? 0.0f : sums[0] / n, mean_dn = (sums[1] - shift * sums[0]) / n;
        each_pack(n, [&](unsigned int c, unsigned int i) {
            float d[PACK], h[PACK], out[PACK];
            get(c, i, d, h);
            unpack(KEEPS_DX && c < KEPT ? kept_dx[c < KEPT ? c : 0] : read_raw((const T*)dx + at, i, n, a.is_aligned), out);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) out[e] += scale * (d[e] - mean_d - (h[e] - shift) * mean_dn);
            write_pack((T*)dx + at, i, n, a.is_aligned, out);
        });
        if (threadIdx.x == 0) shifts[row] = shift;
    }
}

// A block per 128 columns and rows_per_part rows: their sums of dy n and of dy, `[part, 2, columns]`.
extern "C" __global__ void norm_parameters(NormArgs a, const void* dy, const void* x, const float* stats, const float* shifts, float* partials) {
    __shared__ float slots[2][8][128];
    const u64 first = (u64)blockIdx.y * a.rows_per_part, last = min(first + a.rows_per_part, a.rows);
    float g[4] = {}, b[4] = {};
    for (u64 row = first + threadIdx.y; row < last; row += blockDim.y) {
        const float mean = a.is_rms ? 0.0f : stats[2 * row], scale = stats[2 * row + 1], shift = shifts[row];
#pragma unroll
        for (unsigned int e = 0; e < 4; ++e) {
            const unsigned int c = blockIdx.x * 128 + e * 32 + threadIdx.x;
            if (c >= a.columns) continue;
            const float d = to_float(((const T*)dy)[row * a.columns + c]);
            g[e] += d * ((to_float(((const T*)x)[row * a.columns + c]) - mean) * scale - shift);
            b[e] += d;
        }
    }
#pragma unroll
    for (unsigned int e = 0; e < 4; ++e) {
        slots[0][threadIdx.y][e * 32 + threadIdx.x] = g[e];
        slots[1][threadIdx.y][e * 32 + threadIdx.x] = b[e];
    }
    __syncthreads();
    // 256 threads: 128 columns of each sum.
    const unsigned int thread = threadIdx.y * 32 + threadIdx.x, which = thread / 128, c = thread % 128;
    float sum = 0.0f;
    for (int y = 0; y < 8; ++y) sum += slots[which][y][c];
    const unsigned int at = blockIdx.x * 128 + c;
    if (at < a.columns) partials[((u64)blockIdx.y * 2 + which) * a.columns + at] = sum;
}

// A thread per column: dweight and, if it is there, dbias += their partial sums, in ascending order.
extern "C" __global__ void add_norm_partials(unsigned int columns, unsigned int n_parts, const float* partials, float* dweight, void* dbias) {
    const unsigned int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float g = 0.0f, b = 0.0f;
    for (unsigned int part = 0; part < n_parts; ++part) {
        g += partials[(u64)part * 2 * columns + c];
        b += partials[((u64)part * 2 + 1) * columns + c];
    }
    dweight[c] += g;
    if (dbias) ((float*)dbias)[c] += b;
}
