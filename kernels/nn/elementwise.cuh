// Elementwise operations on whole buffers: src/nn/elementwise/mod.rs. A thread takes packs of 16 bytes with the stride
// of the grid; memory-bound.
#pragma once
#include "gen/nn-elementwise.cuh"
#include "nn/rows.cuh"

// x += y
extern "C" __global__ void add_elements(u64 n, unsigned int is_aligned, const void* y, void* x) {
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK], other[PACK];
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
        read_pack((const T*)y, pack * PACK, n, is_aligned, other);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) v[e] += other[e];
        write_pack((T*)x, pack * PACK, n, is_aligned, v);
    }
}

// x *= factor
extern "C" __global__ void scale_elements(u64 n, unsigned int is_aligned, const float* factor, void* x) {
    const float f = *factor;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) v[e] *= f;
        write_pack((T*)x, pack * PACK, n, is_aligned, v);
    }
}

extern "C" __global__ void fill_elements(u64 n, unsigned int is_aligned, float value, void* x) {
    float v[PACK];
#pragma unroll
    for (unsigned int e = 0; e < PACK; ++e) v[e] = value;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) write_pack((T*)x, pack * PACK, n, is_aligned, v);
}

// Rounds from f32 to nearest, ties to even.
extern "C" __global__ void round_elements(u64 n, unsigned int is_aligned, const float* from, void* to) {
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack(from, pack * PACK, n, is_aligned, v);
        write_pack((T*)to, pack * PACK, n, is_aligned, v);
    }
}

// Widens to f32.
extern "C" __global__ void widen_elements(u64 n, unsigned int is_aligned, const void* from, float* to) {
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack((const T*)from, pack * PACK, n, is_aligned, v);
        write_pack(to, pack * PACK, n, is_aligned, v);
    }
}

// Sums columns: one block of 32 x 8 threads per 32 packs of columns and rows_per_part rows writes `[part, columns]`. A
// thread reads eight rows before it adds them. On an H200, bf16, microseconds (TB/s) of 16,384 x 768, 16,384 x 3072 and
// 65,536 x 3072:
//   this                                                            9.2 (2.7)   28.1 (3.6)   94.5 (4.3)
//   columns 32 apart, two bytes per access, row by row              12.2 (2.1)  39.4 (2.6)   133.6 (3.0)
// Of 33 x 768, where there is one row per thread, 5.6 and 4.7. Adding 128 partial sums takes 4.5; 16 read at once 5.7.
extern "C" __global__ void sum_columns(u64 rows, unsigned int columns, unsigned int is_aligned, unsigned int rows_per_part, const void* x, float* partials) {
    __shared__ float slots[8][32 * PACK];
    const u64 first = (u64)blockIdx.y * rows_per_part, last = min(first + rows_per_part, rows);
    const unsigned int start = blockIdx.x * 32 * PACK, c = start + threadIdx.x * PACK;
    float sums[PACK] = {};
    if (c < columns)
        for (u64 row = first + threadIdx.y; row < last; row += 64) {
            Raw raw[8] = {};
#pragma unroll
            for (unsigned int i = 0; i < 8; ++i)
                if (row + 8 * i < last) raw[i] = read_raw((const T*)x + (row + 8 * i) * columns, c, columns, is_aligned);
#pragma unroll
            for (unsigned int i = 0; i < 8; ++i)
#pragma unroll
                for (unsigned int e = 0; e < PACK; ++e) sums[e] += element(raw[i], e);
        }
#pragma unroll
    for (unsigned int e = 0; e < PACK; ++e) slots[threadIdx.y][threadIdx.x * PACK + e] = sums[e];
    __syncthreads();
    const unsigned int thread = threadIdx.y * 32 + threadIdx.x, n = min(columns - start, 32 * PACK);
    if (thread >= n) return;
    float sum = 0.0f;
#pragma unroll
    for (int y = 0; y < 8; ++y) sum += slots[y][thread];
    partials[(u64)blockIdx.y * columns + start + thread] = sum;
}

// One thread per column: out += its partial sums, in ascending order.
extern "C" __global__ void add_partials(unsigned int columns, unsigned int n_parts, const float* partials, float* out) {
    const unsigned int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float sum = 0.0f;
    for (unsigned int part = 0; part < n_parts; ++part) sum += partials[(u64)part * columns + c];
    out[c] += sum;
}

// One block of 256 threads per BLOCK elements: the sum of their squares.
extern "C" __global__ void sum_of_squares(u64 n, unsigned int is_aligned, const void* x, float* partials) {
    __shared__ float slots[1][MAX_WARPS];
    const u64 start = (u64)blockIdx.x * BLOCK, end = min(start + BLOCK, n);
    float sum[1] = {0.0f};
    for (u64 i = start + threadIdx.x * PACK; i < end; i += blockDim.x * PACK) {
        float v[PACK];
        read_pack((const T*)x, i, end, is_aligned, v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) sum[0] += v[e] * v[e];
    }
    reduce_row<Sum>(sum, slots);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum[0];
}

// One block of 256 threads: the sum of partial sums, in f64.
extern "C" __global__ void sum_partials(unsigned int n, const float* partials, float* out) {
    __shared__ double slots[256];
    double sum = 0.0;
    for (unsigned int i = threadIdx.x; i < n; i += 256) sum += (double)partials[i];
    slots[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned int half = 128; half > 0; half /= 2) { // 256 is a power of two
        if (threadIdx.x < half) slots[threadIdx.x] += slots[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) *out = (float)slots[0];
}

// Sets the flag if an element is infinite or NaN.
extern "C" __global__ void find_non_finite(u64 n, unsigned int is_aligned, const void* x, unsigned int* flag) {
    bool is_found = false;
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) is_found |= !(fabsf(v[e]) <= 3.402823466e38f);
    }
    if (is_found) *flag = 1; // all writers write the same value
}

// Adds counts per bin, as integers, so that their order does not matter.
extern "C" __global__ void count_elements(u64 n, unsigned int is_aligned, unsigned int first, unsigned int n_bins, const void* x, unsigned int* counts) {
    extern __shared__ unsigned int bins[];
    for (unsigned int i = threadIdx.x; i < 2 + 2 * n_bins; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (u64 pack = first_pack(); pack * PACK < n; pack += pack_step()) {
        float v[PACK];
        read_pack((const T*)x, pack * PACK, n, is_aligned, v);
#pragma unroll
        for (unsigned int e = 0; e < PACK; ++e) {
            if (pack * PACK + e >= n) continue;
            const unsigned int bits = (unsigned int)__float_as_int(v[e]), size = (bits & 0x7fffffffu) >> 21;
            unsigned int bin = 0;
            if (size >= 0x7f800000u >> 21) bin = 1;
            else if (size >= first && n_bins > 0) bin = 2 + min(size - first, n_bins - 1) + (bits >> 31) * n_bins;
            atomicAdd(&bins[bin], 1u);
        }
    }
    __syncthreads();
    for (unsigned int i = threadIdx.x; i < 2 + 2 * n_bins; i += blockDim.x) if (bins[i] > 0) atomicAdd(&counts[i], bins[i]);
}
