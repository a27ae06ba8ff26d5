// Epilogue for a warp's 16 rows of accumulators that are rounded to 16 bits, with an optional bias and GELU: they pass
// through shared memory, 64 columns at a time, and TMA copies them to C, so that whole lines are written and no lane
// waits.
#pragma once
#include "nn/gemm_fragments.cuh"
#include "nn/tensor_copies.cuh"
#include "nn/wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr unsigned int BOX_BYTES = 16 * 128;

// Origin of a box in the tensor of C.
struct BoxPlace {
    unsigned int column, row, inner, outer;
};

// Stores four 8 x 8 matrices of 16-bit values, one row of 16 bytes at the address of each lane.
__device__ __forceinline__ void store_matrices(unsigned int to, const unsigned int (&w)[4]) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
}

// The host describes C as a tensor if C has the type of the operands and eight neighbours form one access. The box of a
// group's last rows would include rows of the next group.
__device__ __forceinline__ bool is_by_boxes(const GemmArgs& g, const Data& data, const Place& p, unsigned int row) {
    const bool is_simple = g.quads && g.out == OWN_OUT && g.beta == 0.0f && p.pieces == 1 && !data.aux && !data.other;
    return is_simple && (g.activation == NO_ACTIVATION || g.activation == GELU_TANH) && (!g.split || row + 16 <= p.rows);
}

// Reads two neighbours in the type of C.
__device__ __forceinline__ float2 read_two(const void* from, unsigned int at) {
    const unsigned int two = *(const unsigned int*)((const unsigned short*)from + at);
    const unsigned short low = two, high = two >> 16;
    return OWN_OUT == OUT_F16 ? make_float2(to_float(f16{low}), to_float(f16{high})) : make_float2(to_float(bf16{low}), to_float(bf16{high}));
}

// Double buffer of boxes: one is filled while the other is copied.
template <int BOXES, bool IS_GELU>
__device__ __forceinline__ void write_boxes_as(const GemmArgs& g, const void* bias, const TensorMap& boxes, const BoxPlace& p, const float* sums, unsigned int room) {
    const unsigned int lane = threadIdx.x % 32, line = lane % 16;
#pragma unroll
    for (int box = 0; box < BOXES; ++box) {
        const unsigned int column = p.column + box * 64, to = room + box % 2 * BOX_BYTES;
        if (column >= g.n) break;
        // The last tile may have ended in either half.
        if (box) wait_for_stores<1>();
        else wait_for_stores<0>();
        __syncwarp();
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            unsigned int w[4]; // of columns 8 j: rows 0 to 7, rows 8 to 15; of the next eight columns the same
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const float* x = sums + box * 32 + (j + i / 2) * 4 + i % 2 * 2;
                const unsigned int first = column + 8 * (j + i / 2);
                float x0 = x[0] * g.alpha, x1 = x[1] * g.alpha;
                if (bias && first < g.n) {
                    const float2 two = read_two(bias, first + lane % 4 * 2);
                    x0 += two.x, x1 += two.y;
                }
                if (IS_GELU) x0 *= gelu_share(x0), x1 *= gelu_share(x1);
                w[i] = OWN_OUT == OUT_F16 ? narrow_two(x0, x1, f16{}) : narrow_two(x0, x1, bf16{});
            }
            store_matrices(to + line * 128 + ((j + lane / 16) ^ line % 8) * 16, w);
        }
        publish_copies();
        __syncwarp();
        if (lane == 0) store_box(boxes, to, column, p.row, p.inner, p.outer);
    }
}

template <int BOXES>
__device__ __forceinline__ void write_boxes(const GemmArgs& g, const Data& data, const TensorMap& boxes, const BoxPlace& p, const float* sums, unsigned int room) {
    if (g.activation == GELU_TANH) write_boxes_as<BOXES, true>(g, data.bias, boxes, p, sums, room);
    else write_boxes_as<BOXES, false>(g, data.bias, boxes, p, sums, room);
}
#endif
