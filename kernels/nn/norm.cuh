// LayerNorm and RMSNorm: formulas in src/nn/norm/mod.rs, threads of a row in nn/rows.cuh. A row is read once from
// memory: the first four packs of each thread stay in registers, later ones hit the L1 cache.
//
// 65,536 x 768 of bf16 on an H200, microseconds (share of 4.8 TB/s; copying reaches 81 to 87 %): forward, of a sum,
// backward.
//   packs as they are read, bf16 by integers, warps in turns over rows      90.9 (46 %)   162.6 (52 %)
//   floats, bf16 by cvt, a warp per row in 64 registers: this               53.9 (78 %)   101.4 (83 %)
//   the same in turns, with the next row ahead, with weights in registers   54.8, 55.6, 63.1
//   (variants for rows of three packs per lane; this kernel, whose lanes have up to four, 65,536 x 1024: 72.6, 77 %)
//   blocks of one or two warps                                              52.7, 52.9
//   rows, then parameters from dy and x read again                                                     224.4 (37 %)
//   both in one kernel, 256 parts: narrow rows                                                         112.8 (74 %)
//   512 parts, 1024 parts, 128 parts                                                                   120.0, 134.3, 136.2
//   blocks of four warps, 512 and 256 parts                                                            117.3, 139.1
#pragma once
#define KEPT_PACKS 4
#define KEEPS_DX (sizeof(T) < 4) // with f32, registers would spill on sm_120
#include "gen/nn-norm.cuh"
#include "nn/rows.cuh"

// Rows of whole, aligned packs stay in registers as floats; others are read again in the same order, with the same
// bits.
template <bool IS_ALIGNED, bool IS_SUM>
__device__ __forceinline__ void norm_of_row(const NormArgs& a, u64 row, const T* x, const T* residual, const T* weight, const T* bias, T* sum, T* y, float* stats, float (*slots)[MAX_WARPS]) {
    constexpr unsigned int K = IS_ALIGNED ? KEPT : 0;
    const unsigned int n = a.columns;
    const T* from = IS_SUM ? sum : x; // each thread reads what it wrote
    auto read = [&](const T* row, unsigned int i) { return IS_ALIGNED ? read_whole(row + i) : read_raw(row, i, n, a.is_aligned); };
    // All loads of the kept packs precede the first use, except for the sum of two inputs, which would need more than
    // 64 registers.
    Raw raw[KEPT];
    if (!IS_SUM) each_kept<K>(n, [&](unsigned int c, unsigned int i) { raw[c] = read(x, i); });
    float kept[KEPT][PACK];
    float total[1] = {0.0f};
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float other[PACK];
        float (&v)[PACK] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0] : other;
        unpack(!IS_SUM && is_kept<K>(c) ? raw[is_kept<K>(c) ? c : 0] : read(x, i), v);
        if (IS_SUM) {
            const Raw r = read(residual, i);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) v[e] = to_float(from_float<T>(v[e] + element(r, e)));
            write_pack(sum, i, n, IS_ALIGNED || a.is_aligned, v);
        }
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) total[0] += v[e];
    });
    float mean = 0.0f;
    if (!a.is_rms) {
        reduce_row<Sum>(total, slots);
        mean = total[0] / n;
    }
    // The mean is rounded, so the sum of differences from it corrects mean and variance.
    float parts[2] = {0.0f, 0.0f};
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float other[PACK];
        float (&v)[PACK] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0] : other;
        if (!is_kept<K>(c)) unpack(read(from, i), v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            v[e] = IS_ALIGNED || i + e < n ? v[e] - mean : 0.0f;
            parts[0] += v[e];
            parts[1] = fmaf(v[e], v[e], parts[1]);
        }
    });
    reduce_row<Sum>(parts, slots);
    const float shift = a.is_rms ? 0.0f : parts[0] / n;
    const float scale = 1.0f / sqrtf(fmaxf(fmaf(-shift, shift, parts[1] / n), 0.0f) + a.eps);
    each_pack<K>(n, [&](unsigned int c, unsigned int i) {
        float other[PACK];
        const Raw g = read(weight, i), b = bias ? read(bias, i) : Raw{};
        float (&v)[PACK] = is_kept<K>(c) ? kept[is_kept<K>(c) ? c : 0] : other;
        if (!is_kept<K>(c)) {
            unpack(read(from, i), v);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) v[e] -= mean;
        }
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            const float normalised = (v[e] - shift) * scale;
            v[e] = bias ? fmaf(normalised, element(g, e), element(b, e)) : normalised * element(g, e);
        }
        write_pack(y, i, n, IS_ALIGNED || a.is_aligned, v);
    });
    if (threadIdx.x == 0) {
        stats[2 * row] = mean + shift;
        stats[2 * row + 1] = scale;
    }
}

// y = norm(x); with a residual, sum = x + residual, y = norm(sum).
extern "C" __global__ void norm_forward(NormArgs a, const void* x, const void* residual, const void* weight, const void* bias, void* sum, void* y, float* stats) {
    const u64 row = first_row(), at = row * a.columns;
    if (row >= a.rows) return;
    __shared__ float slots[2][MAX_WARPS];
    const T* added = residual ? (const T*)residual + at : nullptr;
    if (a.is_aligned && !added) norm_of_row<true, false>(a, row, (const T*)x + at, nullptr, (const T*)weight, (const T*)bias, nullptr, (T*)y + at, stats, slots);
    else if (a.is_aligned) norm_of_row<true, true>(a, row, (const T*)x + at, added, (const T*)weight, (const T*)bias, (T*)sum + at, (T*)y + at, stats, slots);
    else if (!added) norm_of_row<false, false>(a, row, (const T*)x + at, nullptr, (const T*)weight, (const T*)bias, nullptr, (T*)y + at, stats, slots);
    else norm_of_row<false, true>(a, row, (const T*)x + at, added, (const T*)weight, (const T*)bias, (T*)sum + at, (T*)y + at, stats, slots);
}

// Wide rows: dx += gradient of the rows. shifts: residual mean of the normalised row, because the stored mean is
// rounded.
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

// Limits of narrow rows: packs per lane, and concurrent rows per block.
constexpr unsigned int NARROW_PACKS = 3, NARROW_WARPS = 8;
// Whether a lane keeps its dx in registers; otherwise it is read when needed, because 128 registers do not suffice.
__device__ constexpr bool narrow_keeps_dx(float) { return false; }
__device__ constexpr bool narrow_keeps_dx(f16) { return false; }
__device__ constexpr bool narrow_keeps_dx(bf16) {
#if __CUDA_ARCH__ >= 800
    return true;
#else
    return false;
#endif
}
typedef float Halves[NARROW_WARPS / 2][2][NARROW_PACKS * 32 * PACK];

// Sums of a part over the warps of its block, `[2, columns]`.
template <bool IS_ALIGNED>
__device__ __forceinline__ void gradients_of_part(const NormArgs& a, const T* dy, const T* x, const T* weight, const float* stats, T* dx, float* partials, Halves& halves) {
    constexpr unsigned int K = NARROW_PACKS;
    const unsigned int n = a.columns, warp = threadIdx.y;
    const u64 first = (u64)blockIdx.x * a.rows_per_part, last = min(first + a.rows_per_part, a.rows);
    auto read = [&](const T* row, unsigned int i) { return IS_ALIGNED ? read_whole(row + i) : read_raw(row, i, n, a.is_aligned); };
    float g_sums[K][PACK] = {}, b_sums[K][PACK] = {};
    for (u64 row = first + warp; row < last; row += NARROW_WARPS) {
        const T *above = dy + row * n, *from = x + row * n;
        T* to = dx + row * n;
        Raw kept_dy[K], kept_x[K], kept_dx[K];
        if (IS_ALIGNED)
            each_kept<K>(n, [&](unsigned int c, unsigned int i) {
                kept_dy[c] = read(above, i), kept_x[c] = read(from, i);
                if (narrow_keeps_dx(T{})) kept_dx[c] = read(to, i);
            });
        const float mean = a.is_rms ? 0.0f : stats[2 * row], scale = stats[2 * row + 1];
        // dy, dy g, and the normalised row.
        auto get = [&](unsigned int c, unsigned int i, float (&d)[PACK], float (&dg)[PACK], float (&h)[PACK]) {
            float g[PACK];
            if (IS_ALIGNED) {
                unpack(read(weight, i), g);
                unpack(kept_dy[c], d);
                unpack(kept_x[c], h);
            } else {
                read_pack(weight, i, n, a.is_aligned, g);
                read_pack(above, i, n, a.is_aligned, d);
                read_pack(from, i, n, a.is_aligned, h);
            }
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                dg[e] = __fmul_rn(d[e], g[e]); // not fused: a row of one column has gradient 0
                h[e] = IS_ALIGNED || i + e < n ? __fmul_rn(h[e] - mean, scale) : 0.0f; // nor this with the residual mean
            }
        };
        float sums[3] = {0.0f, 0.0f, 0.0f};
        each_kept<K>(n, [&](unsigned int c, unsigned int i) {
            float d[PACK], dg[PACK], h[PACK];
            get(c, i, d, dg, h);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                sums[0] += dg[e];
                sums[1] = fmaf(dg[e], h[e], sums[1]);
                sums[2] += h[e];
            }
        });
        reduce_warp<Sum>(sums);
        // Residual mean of the normalised row, because the stored mean is rounded.
        const float shift = a.is_rms ? 0.0f : sums[2] / n;
        const float mean_d = a.is_rms ? 0.0f : sums[0] / n, mean_dn = fmaf(-shift, sums[0], sums[1]) / n;
        each_kept<K>(n, [&](unsigned int c, unsigned int i) {
            float d[PACK], dg[PACK], h[PACK], out[PACK];
            get(c, i, d, dg, h);
            unpack(IS_ALIGNED && narrow_keeps_dx(T{}) ? kept_dx[c] : read(to, i), out);
#pragma unroll
            for (unsigned int e = 0; e < PACK; ++e) {
                h[e] -= shift;
                g_sums[c][e] = fmaf(d[e], h[e], g_sums[c][e]);
                b_sums[c][e] += d[e];
                out[e] = fmaf(scale, fmaf(-h[e], mean_dn, dg[e] - mean_d), out[e]);
            }
            write_pack(to, i, n, IS_ALIGNED || a.is_aligned, out);
        });
    }
#pragma unroll
    for (unsigned int half = NARROW_WARPS / 2; half > 0; half /= 2) {
        if (warp >= half && warp < 2 * half)
            each_kept<K>(n, [&](unsigned int c, unsigned int i) {
#pragma unroll
                for (unsigned int e = 0; e < PACK; e += 4) {
                    *(float4*)&halves[warp - half][0][i + e] = *(const float4*)&g_sums[c][e];
                    *(float4*)&halves[warp - half][1][i + e] = *(const float4*)&b_sums[c][e];
                }
            });
        __syncthreads();
        if (warp < half)
            each_kept<K>(n, [&](unsigned int c, unsigned int i) {
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) g_sums[c][e] += halves[warp][0][i + e], b_sums[c][e] += halves[warp][1][i + e];
            });
        __syncthreads();
    }
    if (warp > 0) return;
    each_kept<K>(n, [&](unsigned int c, unsigned int i) {
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) if (i + e < n) partials[i + e] = g_sums[c][e], partials[n + i + e] = b_sums[c][e];
    });
}

// Narrow rows: dx += gradient of the rows, and per-part sums of dy n and dy, `[part, 2, columns]`. A block of 32 x 8
// threads takes rows_per_part rows, one per warp at a time; a lane sums its own columns.
extern "C" __global__ void norm_backward_narrow(NormArgs a, const void* dy, const void* x, const void* weight, const float* stats, void* dx, float* partials) {
    __shared__ __align__(16) Halves halves;
    float* sums = partials + (u64)blockIdx.x * 2 * a.columns;
    if (a.is_aligned) gradients_of_part<true>(a, (const T*)dy, (const T*)x, (const T*)weight, stats, (T*)dx, sums, halves);
    else gradients_of_part<false>(a, (const T*)dy, (const T*)x, (const T*)weight, stats, (T*)dx, sums, halves);
}

// Wide rows: one block per 128 columns and rows_per_part rows computes the sums of dy n and dy, `[part, 2, columns]`.
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

// One block of 32 x 16 threads per 32 columns of either sum: dweight (y = 0) or, if present, dbias += the partial sums.
extern "C" __global__ void add_norm_partials(unsigned int columns, unsigned int n_parts, const float* partials, float* dweight, void* dbias) {
    __shared__ float slots[16][32];
    const unsigned int c = blockIdx.x * 32 + threadIdx.x, which = blockIdx.y;
    float sum = 0.0f;
    if (c < columns)
#pragma unroll 8
        for (unsigned int part = threadIdx.y; part < n_parts; part += 16) sum += partials[((u64)part * 2 + which) * columns + c];
    slots[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    float* to = which ? (float*)dbias : dweight;
    if (threadIdx.y > 0 || c >= columns || !to) return;
    for (int y = 1; y < 16; ++y) sum += slots[y][threadIdx.x];
    to[c] += sum;
}
