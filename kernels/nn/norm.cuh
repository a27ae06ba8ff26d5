// LayerNorm and RMSNorm: formulas in src/nn/norm/mod.rs, threads of a row in nn/rows.cuh. A row is read once from memory: later
// passes find it in registers or in the first-level cache.
#pragma once
#include "gen/nn-norm_f32.cuh"
#include "nn/rows.cuh"

// y = norm(x); with a residual, sum = x + residual, y = norm(sum).
extern "C" __global__ void norm_forward(NormArgs a, const void* x, const void* residual, const void* weight, const void* bias, void* sum, void* y, float* stats) {
    __shared__ float slots[2][MAX_WARPS];
    const unsigned int n = a.columns;
    for (u64 row = first_row(); row < a.rows; row += row_step()) {
        const u64 at = row * n;
        const T* from = (const T*)x + at;
        float kept[KEPT + 1][PACK];
        float total[1] = {0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read_pack(from, i, n, a.is_aligned, kept[c]);
            if (residual) {
                float other[PACK];
                read_pack((const T*)residual + at, i, n, a.is_aligned, other);
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) kept[c][e] = to_float(from_float<T>(kept[c][e] + other[e]));
                write_pack((T*)sum + at, i, n, a.is_aligned, kept[c]);
            }
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) total[0] += kept[c][e];
        });
        if (residual) from = (const T*)sum + at; // each thread reads what it wrote
        float mean = 0.0f;
        if (!a.is_rms) {
            reduce_row<Sum>(total, slots);
            mean = total[0] / n;
        }
        // The mean is rounded: the sum of differences from it corrects mean and variance.
        float parts[2] = {0.0f, 0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read_pack(from, i, n, a.is_aligned, kept[c]);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                const float d = i + e < n ? kept[c][e] - mean : 0.0f;
                parts[0] += d;
                parts[1] += d * d;
            }
        });
        reduce_row<Sum>(parts, slots);
        const float shift = a.is_rms ? 0.0f : parts[0] / n;
        const float scale = 1.0f / sqrtf(fmaxf(parts[1] / n - shift * shift, 0.0f) + a.eps);
        each_pack(n, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read_pack(from, i, n, a.is_aligned, kept[c]);
            float g[PACK], b[PACK];
            read_pack((const T*)weight, i, n, a.is_aligned, g);
            if (bias) read_pack((const T*)bias, i, n, a.is_aligned, b);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                const float normalised = ((kept[c][e] - mean) - shift) * scale;
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
        const float mean = a.is_rms ? 0.0f : stats[2 * row], scale = stats[2 * row + 1];
        float d[KEPT + 1][PACK], h[KEPT + 1][PACK]; // dy g, and the normalised row
        auto read = [&](unsigned int c, unsigned int i) {
            float g[PACK];
            read_pack((const T*)dy + at, i, n, a.is_aligned, d[c]);
            read_pack((const T*)weight, i, n, a.is_aligned, g);
            read_pack((const T*)x + at, i, n, a.is_aligned, h[c]);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                d[c][e] *= g[e];
                h[c][e] = i + e < n ? (h[c][e] - mean) * scale : 0.0f;
            }
        };
        float sums[3] = {0.0f, 0.0f, 0.0f};
        each_pack(n, [&](unsigned int c, unsigned int i) {
            read(c, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                sums[0] += d[c][e];
                sums[1] += d[c][e] * h[c][e];
                sums[2] += h[c][e];
            }
        });
        reduce_row<Sum>(sums, slots);
        const float shift = a.is_rms ? 0.0f : sums[2] / n;
        const float mean_d = a.is_rms ? 0.0f : sums[0] / n, mean_dn = (sums[1] - shift * sums[0]) / n;
        each_pack(n, [&](unsigned int c, unsigned int i) {
            if (c == KEPT) read(c, i);
            float out[PACK];
            read_pack((const T*)dx + at, i, n, a.is_aligned, out);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) out[e] += scale * (d[c][e] - mean_d - (h[c][e] - shift) * mean_dn);
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
