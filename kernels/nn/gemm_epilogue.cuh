// Epilogue of matrix multiplication: alpha, beta, bias, activation, residual, and rounding to the format of C. All gemm
// kernels include it, so that all write the same results.
#pragma once
#include "nn/gemm_bytes.cuh"

// Formats of C and of the epilogue's data, as in src/nn/gemm/cuda/types.rs; C of integers is s32, or OUT_BYTES.
constexpr unsigned int OUT_F32 = 0, OUT_F16 = 1, OUT_BF16 = 2;
constexpr unsigned int NO_ACTIVATION = 0, GELU_TANH = 1, GELU_ERF = 2, RELU = 3, RELU_SQUARED = 4;

// Dimension that is divided into groups whose ends are known only on the device.
constexpr unsigned int SPLIT_ROWS = 1, SPLIT_DEPTH = 2;

// Operands of the epilogue, and the destination of values before the activation; null pointers disable them.
struct Data {
    const void *bias, *other; // other: residual, or argument of the activation's derivative
    void* aux;
    const float *row_scales, *column_scales; // factors of integer sums
};

// Tile of C that a block computes: offsets of its matrices in their buffers, its first row and column, the rows of A
// and the length of the sums. With split-K it is one of several splits of a long group, which are added to C one after
// the other.
struct Place {
    unsigned long long a, b, c, bias, row_scale, column_scale;
    unsigned int row, column, rows, k;
    unsigned int piece, pieces, turn; // number of the split, number of splits, and index of the counter of splits already added to C
};

__device__ __forceinline__ unsigned long long first_of(const GemmArgs& g, unsigned int matrix, unsigned long long outer, unsigned long long stride) {
    return matrix / g.batch * outer + matrix % g.batch * stride;
}

// Block number, read again: a Place derived from it after the main loop takes no registers during the loop.
__device__ __forceinline__ unsigned int block_again() {
    unsigned int block;
    asm volatile("mov.u32 %0, %ctaid.x;" : "=r"(block));
    return block;
}

// Concurrent blocks share rows and columns: eight rows of tiles, column by column.
template <int BM, int BN>
__device__ __forceinline__ Place place_in_batch(const GemmArgs& g, unsigned int block) {
    const unsigned int rows = (g.m + BM - 1) / BM, columns = (g.n + BN - 1) / BN, tile = block % (rows * columns), matrix = block / (rows * columns);
    const unsigned int group = tile / (8 * columns), height = min(rows - group * 8, 8u), inside = tile % (8 * columns);
    Place p;
    p.a = first_of(g, matrix, g.outer_a, g.stride_a);
    p.b = first_of(g, matrix, g.outer_b, g.stride_b);
    p.c = first_of(g, matrix, g.outer_c, g.stride_c);
    p.bias = 0;
    p.row_scale = (unsigned long long)matrix * g.m;
    p.column_scale = (unsigned long long)matrix * g.n;
    p.row = (group * 8 + inside % height) * BM;
    p.column = inside / height * BN;
    p.rows = g.m;
    p.k = g.k;
    p.piece = p.turn = 0;
    p.pieces = 1;
    return p;
}

// Group i has rows (or k) offsets[i] .. offsets[i + 1]; a lane examines every 32nd group. Rows: full tiles of all
// groups, then their last tiles with more than half of the rows, then the others, so that the shortest blocks are last.
// Depth: the first splits of all groups, then the second ones, so that no split waits for a concurrent one. False: no
// work for this block.
template <int BM, int BN>
__device__ __forceinline__ bool place_in_group(const GemmArgs& g, const void* from, unsigned int block, Place& p) {
    const unsigned int* offsets = (const unsigned int*)from;
    const bool is_rows = g.split == SPLIT_ROWS;
    const unsigned int columns = (g.n + BN - 1) / BN, tiles = is_rows ? columns : (g.m + BM - 1) / BM * columns, size = is_rows ? g.m : g.k;
    const unsigned int all = 0xffffffffu, lane = threadIdx.x % 32;
    unsigned int slot = block / tiles, turn = 0, seen = 0;
    for (unsigned int first = 0;; first += 32) {
        if (first >= g.batch) {
            if (is_rows ? turn == 2 : seen == 0) return false;
            first = seen = 0;
            ++turn;
        }
        const unsigned int group = first + lane, start = min(offsets[min(group, g.batch)], size), end = max(min(offsets[min(group + 1, g.batch)], size), start);
        const unsigned int full = (end - start) / BM, rest = (end - start) % BM;
        // In this round: blocks of the group, and blocks of the lower lanes.
        unsigned int parts, before, n;
        if (is_rows && turn == 0) {
            before = parts = full;
#pragma unroll
            for (unsigned int distance = 1; distance < 32; distance *= 2) {
                const unsigned int lower = __shfl_up_sync(all, before, distance);
                before += lane >= distance ? lower : 0;
            }
            n = __shfl_sync(all, before, 31);
            before -= parts;
        } else {
            const unsigned int pieces = group >= g.batch ? 0 : g.piece == 0 || start == end ? 1 : (end - start + g.piece - 1) / g.piece;
            parts = is_rows ? rest != 0 && (rest > BM / 2) == (turn == 1) : pieces > turn;
            const unsigned int with = __ballot_sync(all, parts != 0);
            before = __popc(with & ((1u << lane) - 1));
            n = __popc(with);
            seen |= with;
        }
        if (slot >= n) {
            slot -= n;
            continue;
        }
        // Lane of the group: the last one with blocks that begin at or before the slot.
        const unsigned int owner = 31 - __clz(__ballot_sync(all, parts != 0 && before <= slot));
        const unsigned int begin = __shfl_sync(all, start, owner), past = __shfl_sync(all, end, owner), of = first + owner;
        const unsigned int inside = turn == 0 ? slot - __shfl_sync(all, before, owner) : __shfl_sync(all, full, owner);
        const unsigned int tile = is_rows ? inside * columns + block % tiles : block % tiles;
        const unsigned int line = is_rows ? begin : begin + turn * g.piece;
        p.pieces = is_rows || g.piece == 0 ? 1 : max((past - begin + g.piece - 1) / g.piece, 1u);
        p.piece = is_rows ? 0 : turn;
        p.turn = of * tiles + tile;
        p.a = (unsigned long long)line * ((g.a_by_k != 0) == is_rows ? g.lda : 1);
        p.b = is_rows ? of * g.stride_b : (unsigned long long)line * (g.b_by_k ? 1 : g.ldb);
        p.c = is_rows ? (unsigned long long)line * g.ldc : of * g.stride_c;
        p.bias = p.column_scale = (unsigned long long)of * g.n;
        p.row_scale = is_rows ? (unsigned long long)line : (unsigned long long)of * g.m;
        p.row = tile / columns * BM;
        p.column = tile % columns * BN;
        p.rows = is_rows ? past - begin : g.m;
        p.k = is_rows ? g.k : g.piece ? min(past - line, g.piece) : past - line;
        return true;
    }
}

// Waits until the earlier splits are in C. Their blocks have smaller numbers and started before. OF_WARP: per warp.
template <bool OF_WARP = false>
__device__ __forceinline__ void begin_turn(const Place& p, void* turns) {
    if (p.piece == 0) return;
    if ((OF_WARP ? threadIdx.x % 32 : threadIdx.x) == 0)
        for (unsigned int done = 0; done != p.piece;) asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"((unsigned int*)turns + p.turn) : "memory");
    if (OF_WARP) __syncwarp();
    else __syncthreads();
}
// Lets the next split add. The last one resets the counter to 0 for the next launch.
template <bool OF_WARP = false>
__device__ __forceinline__ void end_turn(const Place& p, void* turns) {
    if (p.pieces == 1) return;
    if (OF_WARP) __syncwarp();
    else __syncthreads();
    if ((OF_WARP ? threadIdx.x % 32 : threadIdx.x) != 0) return;
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"((unsigned int*)turns + p.turn), "r"(p.piece + 1 == p.pieces ? 0 : p.piece + 1) : "memory");
}

template <int BM, int BN>
__device__ __forceinline__ bool place_of(const GemmArgs& g, const void* offsets, unsigned int block, Place& p) {
    if (g.split) return place_in_group<BM, BN>(g, offsets, block, p);
    p = place_in_batch<BM, BN>(g, block);
    return true;
}

// A block's tile, read again from shared memory, so that it takes no registers during the main loop.
__device__ __forceinline__ Place place_again(const Place& kept) {
    Place p;
    const unsigned int at = (unsigned int)__cvta_generic_to_shared(&kept);
#pragma unroll
    for (unsigned int i = 0; i < sizeof(Place) / 8; ++i) asm volatile("ld.shared.u64 %0, [%1];" : "=l"(((unsigned long long*)&p)[i]) : "r"(at + 8 * i) : "memory");
    return p;
}

// Operands of the epilogue for a tile of C.
__device__ __forceinline__ Data data_at(const GemmArgs& g, const Place& p, const Data& all) {
    const unsigned int bytes = g.out == OUT_F32 ? 4 : 2;
    Data data = all;
    if (all.bias) data.bias = (const unsigned char*)all.bias + p.bias * bytes;
    if (all.row_scales) data.row_scales += p.row_scale;
    if (all.column_scales) data.column_scales += p.column_scale;
    return data;
}

// gelu(x) = x / (1 + exp(-2 u)) = 1 / (1 + 2^(x (a + b x^2))), which does not cancel for negative x. Approximate
// exponential and quotient, each within two units in the last place: with expf and an exact quotient the epilogue took
// longer than the sums, 137 instead of 199 TFLOP/s for 8192 x 3072 x 768 of bf16 on an H200.
__device__ __forceinline__ float gelu_share(float x) {
    float power, share;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * fmaf(-0.10294324f, x * x, -2.3022082f)));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(1.0f + power));
    return share;
}
// Not inlined: kernels contain eight copies of the epilogue.
__device__ __noinline__ float gelu_erf(float x) { return 0.5f * x * erfcf(-0.70710678118654752f * x); }
__device__ __noinline__ float gelu_erf_slope(float x) {
    return 0.5f * erfcf(-0.70710678118654752f * x) + x * 0.3989422804014327f * expf(-0.5f * x * x);
}
// x = f(x), or x = x f'(z). One branch for all N, so that their evaluations overlap.
template <int N>
__device__ __forceinline__ void activate(unsigned int f, float (&x)[N]) {
    if (f == GELU_TANH) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= gelu_share(x[i]);
    } else if (f == GELU_ERF) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = gelu_erf(x[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float positive = fmaxf(x[i], 0.0f);
            x[i] = f == RELU ? positive : positive * positive;
        }
    }
}
template <int N>
__device__ __forceinline__ void times_slope(unsigned int f, float (&x)[N], const float (&z)[N]) {
    if (f == GELU_TANH) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const float s = gelu_share(z[i]), t = z[i] * s;
            x[i] *= fmaf(t - t * s, fmaf(0.21406445f, z[i] * z[i], 1.5957691216057308f), s);
        }
    } else if (f == GELU_ERF) {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= gelu_erf_slope(z[i]);
    } else {
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] *= f == RELU ? (z[i] > 0.0f ? 1.0f : 0.0f) : 2.0f * fmaxf(z[i], 0.0f);
    }
}
// Never called: the host rejects this case.
template <int N>
__device__ __forceinline__ void activate(unsigned int, int (&)[N]) {}
template <int N>
__device__ __forceinline__ void times_slope(unsigned int, int (&)[N], const int (&)[N]) {}

// Accesses N = 1 or 4 neighbours from `at` on. Four form one access, aligned to its size.
template <int N>
__device__ __forceinline__ void read(const GemmArgs& g, const void* from, unsigned long long at, float (&x)[N]) {
    if (g.out == OUT_F32) {
        if (N == 4) *(float4*)x = *(const float4*)((const float*)from + at);
        else x[0] = ((const float*)from)[at];
    } else {
        alignas(8) unsigned short bits[N];
        if (N == 4) *(uint2*)bits = *(const uint2*)((const unsigned short*)from + at);
        else bits[0] = ((const unsigned short*)from)[at];
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = g.out == OUT_F16 ? to_float(f16{bits[i]}) : to_float(bf16{bits[i]});
    }
}

template <int N>
__device__ __forceinline__ void read(const GemmArgs&, const void* from, unsigned long long at, int (&x)[N]) {
    if (N == 4) *(int4*)x = *(const int4*)((const int*)from + at);
    else x[0] = ((const int*)from)[at];
}

// Two numbers in the format of C.
__device__ __forceinline__ unsigned int pair(const GemmArgs& g, float low, float high) {
    if (g.out == OUT_F16) return to_f16(low).bits | (unsigned int)to_f16(high).bits << 16;
#if __CUDA_ARCH__ >= 800
    unsigned int bits;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(high), "f"(low));
    return bits;
#else
    return to_bf16(low).bits | (unsigned int)to_bf16(high).bits << 16;
#endif
}

template <int N>
__device__ __forceinline__ void write(const GemmArgs& g, void* to, unsigned long long at, const float (&x)[N]) {
    if (g.out == OUT_F32) {
        if (N == 4) *(float4*)((float*)to + at) = *(const float4*)x;
        else ((float*)to)[at] = x[0];
    } else {
        if constexpr (N == 4) *(uint2*)((unsigned short*)to + at) = make_uint2(pair(g, x[0], x[1]), pair(g, x[2], x[3]));
        else ((unsigned short*)to)[at] = g.out == OUT_F16 ? to_f16(x[0]).bits : to_bf16(x[0]).bits;
    }
}

template <int N>
__device__ __forceinline__ void write(const GemmArgs&, void* to, unsigned long long at, const int (&x)[N]) {
    if (N == 4) *(int4*)((int*)to + at) = *(const int4*)x;
    else ((int*)to)[at] = x[0];
}

__device__ __forceinline__ float alpha_of(const GemmArgs& g, float) { return g.alpha; }
__device__ __forceinline__ int alpha_of(const GemmArgs& g, int) { return g.alpha_int; }
__device__ __forceinline__ float beta_of(const GemmArgs& g, float) { return g.beta; }
__device__ __forceinline__ int beta_of(const GemmArgs& g, int) { return g.beta_int; }
__device__ __forceinline__ float add_product(float a, float b, float c) { return fmaf(a, b, c); }
__device__ __forceinline__ int add_product(int a, int b, int c) { return a * b + c; }

// Writes N neighbours of a row of C from their sums.
template <class Sum, int N>
__device__ __forceinline__ void finish(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, Sum (&x)[N]) {
    const unsigned long long at = p.c + row * g.ldc + column;
    const Sum alpha = alpha_of(g, x[0]), beta = p.piece ? (Sum)1 : beta_of(g, x[0]);
    alignas(16) Sum y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] *= alpha;
    if (beta != 0) {
        read(g, c, at, y);
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] = add_product(beta, y[i], x[i]);
    }
    if (data.bias) {
        if (g.bias_by_row) {
            Sum bias[1];
            read(g, data.bias, row, bias);
#pragma unroll
            for (int i = 0; i < N; ++i) y[i] = bias[0];
        } else {
            read(g, data.bias, column, y);
        }
#pragma unroll
        for (int i = 0; i < N; ++i) x[i] += y[i];
    }
    if (data.aux) write(g, data.aux, at, x);
    if (data.other) {
        read(g, data.other, at, y);
        if (g.is_gradient) times_slope(g.activation, x, y);
        else
#pragma unroll
            for (int i = 0; i < N; ++i) x[i] += y[i];
    } else if (g.activation != NO_ACTIVATION) {
        activate(g.activation, x);
    }
    write(g, c, at, x);
}

// Writes N neighbours of a row of bytes.
template <int N>
__device__ __forceinline__ void write_bytes(const GemmArgs& g, void* c, unsigned long long at, const int (&sums)[N]) {
    alignas(4) signed char y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = (signed char)byte_of(sums[i], g.alpha, g.beta, g.activation == GELU_TANH);
    if (N == 4) *(char4*)((signed char*)c + at) = *(const char4*)y;
    else ((signed char*)c)[at] = y[0];
}

// Writes integer sums unchanged, as bytes, or scaled as floats.
template <int N>
__device__ __forceinline__ void finish_sums(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, float (&x)[N]) {
    if (row < p.rows && column < g.n) finish(g, c, data, p, row, column, x);
}
template <int N>
__device__ __forceinline__ void finish_sums(const GemmArgs& g, void* c, const Data& data, const Place& p, unsigned int row, unsigned int column, int (&x)[N]) {
    if (row >= p.rows || column >= g.n) return;
    if (g.out == OUT_BYTES) return write_bytes(g, c, p.c + row * g.ldc + column, x);
    if (!g.is_scaled) return finish(g, c, data, p, row, column, x);
    const float scale = data.row_scales ? data.row_scales[row] : 1.0f;
    alignas(16) float y[N];
#pragma unroll
    for (int i = 0; i < N; ++i) y[i] = (float)x[i] * scale * (data.column_scales ? data.column_scales[column + i] : 1.0f);
    finish(g, c, data, p, row, column, y);
}

// Writes `rows` x COLUMNS elements of C, from row `from` of the block's tile on, from accumulators in shared memory
// with WIDE elements per row.
template <int COLUMNS, int WIDE, int THREADS, class Sum>
__device__ __forceinline__ void finish_rows(const GemmArgs& g, void* c, const Data& all, const Place& p, const Sum* sums, unsigned int rows, unsigned int from) {
    const Data data = data_at(g, p, all);
    if (g.quads) {
#pragma unroll 2
        for (unsigned int i = threadIdx.x; i < rows * (COLUMNS / 4); i += THREADS) {
            const unsigned int line = i / (COLUMNS / 4), at = i % (COLUMNS / 4) * 4;
            alignas(16) Sum x[4];
            *(uint4*)x = *(const uint4*)(sums + line * WIDE + at);
            finish_sums(g, c, data, p, p.row + from + line, p.column + at, x);
        }
    } else {
#pragma unroll 1
        for (unsigned int i = threadIdx.x; i < rows * COLUMNS; i += THREADS) {
            const unsigned int line = i / COLUMNS, at = i % COLUMNS;
            Sum x[1] = {sums[line * WIDE + at]};
            finish_sums(g, c, data, p, p.row + from + line, p.column + at, x);
        }
    }
}
