// Matrix multiplication by wgmma, f16 or bf16 with f32 sums, for compute capability 9.0 only.
//
// Warp-specialised persistent grid: one block per SM loops over output tiles of 128 x 256. A producer warp finds the
// next tile and starts TMA copies of its operands, 64 k at a time, into a ring of four stages. Two consumer warp groups
// multiply 64 rows each, with 128 accumulators per thread, and write them while the ring fills for the next tile:
// 16-bit results, with or without bias and GELU, by TMA (gemm_boxes.cuh). Operand tiles have the 128-byte swizzle for
// every layout (K-major or not, as set in the wgmma instruction). Elements outside the matrices are zeros.
//
// Few tiles with long sums use split-K: a warp adds its split to C after the same warp of the previous split, so the
// bits do not depend on which is ready first. Groups of rows whose sizes are known only on the device are located
// there.
//
// Measured on an H200, numbers between -1 and 1 of bf16, both with adjacent k, TFLOP/s, in one run:
//                          4096^3  8192^3  8192x3072x768  65536x2304x768  65536x3072x768 with a bias, and a GELU
//   this                      774     794            524             643                       625         561
//   every result stored
//   by its thread             748     772            419             465                       394         342
//   cuBLASLt                  790     701            557             688                       698         601
// With columns of B adjacent 692, 711 of the first two in another run, and with rows of A 639, 661 (results stored by
// threads). Results with a residual, a kept GELU's argument or its gradient are still stored by threads: 65536x3072x768
// 252 to 313. Earlier, where a warp stored 16 x 32 sums in shared memory at a time and finished two quads per lane, of
// 4096^3, 8192^3, 65536 x 2304 x 768 and 65536 x 768 x 3072:
//   that                                                                     692, 726, 375, 648
//   clusters of two blocks that share the columns of B by multicast          463, 507, 358, 453
#pragma once
#include "gen/nn-gemm_wgmma.cuh" // the same kernel for both types of operands
#include "nn/gemm_fragments.cuh"
#include "nn/gemm_boxes.cuh"
#include "nn/tensor_copies.cuh"
#include "nn/wgmma.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA_128 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," WGMMA_R8(1) WGMMA_R8(2) WGMMA_R8(3) WGMMA_R8(4) WGMMA_R8(5) WGMMA_R8(6) WGMMA_R8(7) WGMMA_R8(8) WGMMA_R8(9) WGMMA_R8(10) WGMMA_R8(11) "%120,%121,%122,%123,%124,%125,%126,%127}"
#define WGMMA_D128 WGMMA_D64, WGMMA_D8(64), WGMMA_D8(72), WGMMA_D8(80), WGMMA_D8(88), WGMMA_D8(96), WGMMA_D8(104), WGMMA_D8(112), WGMMA_D8(120)

// d += 64 x 16 elements of A times 16 x 256 of B, both in shared memory. 1: the operand is MN-major (rows or columns
// adjacent), 0: K-major.
template <int A_BY_LINE, int B_BY_LINE>
__device__ __forceinline__ void add_tiles(float (&d)[128], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32." OPERANDS "." OPERANDS " " WGMMA_128 ", %128, %129, 1, 1, 1, %130, %131;"
                 : WGMMA_D128 : "l"(a), "l"(b), "n"(A_BY_LINE), "n"(B_BY_LINE));
}

struct WgmmaTile {
    static constexpr unsigned int BM = 128, BN = 256, BK = 64, STAGES = 4, A_BYTES = BM * 128, B_BYTES = BN * 128, STAGE = A_BYTES + B_BYTES;
    // Tile descriptor in shared memory, after the place: number of k tiles, first row of a group, and matrix indices.
    struct InSlot {
        unsigned int tiles, line, inner, outer;
    };
    static constexpr unsigned int WARPS = 8, STAGING = 2 * BOX_BYTES; // bytes for staging a warp's accumulators
    static constexpr unsigned int SLOTS = 4, SLOT = 96, NOTHING = 0xffffffffu;    // slots for tiles that the producer has found
    // 1024 for alignment: 230,912 bytes in total, as in src/nn/gemm/cuda/tile.rs.
    static constexpr unsigned int BYTES = 1024 + STAGES * STAGE + WARPS * STAGING + STAGES * 16 + SLOTS * (SLOT + 16);
    static_assert(sizeof(Place) + sizeof(InSlot) <= SLOT, "a slot holds both");
    static_assert(16 * WIDE_OF_FRAGMENT * 4 <= STAGING, "sums that are written one by one");
    typedef float Sums[BN / 2];

    // Position in a ring, and the parity of the phase there.
    template <unsigned int LENGTH>
    struct InRing {
        unsigned int stage, parity;
        __device__ __forceinline__ void next() {
            if (++stage == LENGTH) stage = 0, parity ^= 1;
        }
    };
    typedef InRing<STAGES> Turn;

    // Output tile with the coordinates of its operands and of C in their tensors.
    struct Item {
        Place place;
        unsigned int k, line, a_inner, a_outer, b_inner, b_outer, inner, outer;
    };

    const GemmArgs& g;
    const void* offsets;
    unsigned int items, ring, staging, full, empty, slots, found, read;

    __device__ __forceinline__ WgmmaTile(const GemmArgs& g_, const void* offsets_, unsigned int items_, unsigned char* memory) : g(g_), offsets(offsets_), items(items_) {
        ring = ((unsigned int)__cvta_generic_to_shared(memory) + 1023) / 1024 * 1024;
        staging = ring + STAGES * STAGE;
        full = staging + WARPS * STAGING;
        empty = full + 8 * STAGES;
        found = empty + 8 * STAGES;
        read = found + 8 * SLOTS;
        slots = read + 8 * SLOTS;
    }

    __device__ __forceinline__ void init() const {
        if (threadIdx.x == 0) {
            for (int s = 0; s < STAGES; ++s) {
                init_barrier(full + 8 * s, 1);
                init_barrier(empty + 8 * s, WARPS);
            }
            for (int s = 0; s < SLOTS; ++s) {
                init_barrier(found + 8 * s, 1);
                init_barrier(read + 8 * s, WARPS);
            }
            publish_barriers();
        }
        __syncthreads();
    }

    // Finds a tile by number: the first splits of all tiles, then the second ones. False: this and all later numbers
    // have no work.
    __device__ __forceinline__ bool find(unsigned int number, Item& item) const {
        Place& p = item.place;
        item.k = item.line = item.a_inner = item.a_outer = item.b_inner = item.b_outer = item.inner = item.outer = 0;
        if (g.split) {
            if (!place_in_group<BM, BN>(g, offsets, number, p)) return false;
            item.line = (unsigned int)(p.a / g.lda);
            item.b_inner = g.stride_b ? (unsigned int)(p.b / g.stride_b) : 0;
            return true;
        }
        const unsigned int of_matrix = (g.m + BM - 1) / BM * ((g.n + BN - 1) / BN);
        const unsigned int pieces = g.piece ? (g.k + g.piece - 1) / g.piece : 1, tiles = items / pieces, tile = number % tiles;
        const unsigned int inner = item.inner = tile / of_matrix % g.batch, outer = item.outer = tile / of_matrix / g.batch;
        p = place_in_batch<BM, BN>(g, tile);
        if (g.piece) {
            p.piece = number / tiles;
            p.pieces = pieces;
            p.turn = tile * WARPS;
            item.k = p.piece * g.piece;
            p.k = min(g.piece, g.k - item.k);
        }
        if (g.stride_a) item.a_inner = inner;
        if (g.outer_a) item.a_outer = outer;
        if (g.stride_b) item.b_inner = inner;
        if (g.outer_b) item.b_outer = outer;
        return true;
    }

    // Producer warp: one lane starts the copies and publishes the tiles.
    __device__ __forceinline__ void produce(const TensorMap& a, const TensorMap& b) const {
        Turn turn = {0, 1};
        InRing<SLOTS> slot = {0, 1};
        Item item;
        for (unsigned int number = blockIdx.x;; number += gridDim.x, slot.next()) {
            const bool exists = number < items && find(number, item);
            const Place& p = item.place;
            wait_for_phase(read + 8 * slot.stage, slot.parity);
            if (threadIdx.x % 32 == 0) {
                Place* kept = (Place*)__cvta_shared_to_generic(slots + slot.stage * SLOT);
                *kept = p;
                *(InSlot*)(kept + 1) = {exists ? (p.k + BK - 1) / BK : NOTHING, item.line, item.inner, item.outer};
                arrive(found + 8 * slot.stage);
            }
            if (!exists) break;
            const unsigned int row = item.line + p.row, end = item.k + p.k;
            for (unsigned int k = item.k; k < end; k += BK, turn.next()) {
                wait_for_phase(empty + 8 * turn.stage, turn.parity);
                if (threadIdx.x % 32) continue;
                const unsigned int barrier = full + 8 * turn.stage, to_a = ring + turn.stage * STAGE, to_b = to_a + A_BYTES;
                arrive_and_expect(barrier, STAGE);
                if (g.a_by_k) copy_box(to_a, a, barrier, k, row, item.a_inner, item.a_outer);
                else
#pragma unroll
                    for (int i = 0; i < BM / 64; ++i) copy_box(to_a + i * 8192, a, barrier, row + i * 64, k, item.a_inner, item.a_outer);
                if (g.b_by_k) copy_box(to_b, b, barrier, k, p.column, item.b_inner, item.b_outer);
                else
#pragma unroll
                    for (int i = 0; i < BN / 64; ++i) copy_box(to_b + i * 8192, b, barrier, p.column + i * 64, k, item.b_inner, item.b_outer);
            }
        }
    }

    static __device__ __forceinline__ void arrive_as_warp(unsigned int barrier) {
        if (threadIdx.x % 32 == 0) arrive(barrier);
    }

    template <bool A_BY_K, bool B_BY_K>
    __device__ __forceinline__ void multiply(Sums& sums, Turn& turn, unsigned int tiles) const {
        constexpr unsigned int A_STEP = A_BY_K ? 32 : 2048, B_STEP = B_BY_K ? 32 : 2048;
        unsigned int last = 0;
#pragma unroll 1
        for (unsigned int t = 0; t < tiles; ++t) {
            wait_for_phase(full + 8 * turn.stage, turn.parity);
            const unsigned int at = ring + turn.stage * STAGE;
            const unsigned long long a = describe(at + (threadIdx.x / 128 - 1) * 8192, A_BY_K ? 16 : 8192), b = describe(at + A_BYTES, B_BY_K ? 16 : 8192);
            begin_products();
#pragma unroll
            for (int step = 0; step < 4; ++step) add_tiles<!A_BY_K, !B_BY_K>(sums, a + (step * A_STEP >> 4), b + (step * B_STEP >> 4));
            commit_products();
            wait_for_products<1>();
            if (t) arrive_as_warp(empty + 8 * last);
            last = turn.stage;
            turn.next();
        }
        wait_for_products<0>();
        if (tiles) arrive_as_warp(empty + 8 * last);
    }

    __device__ __forceinline__ void consume(void* c, const TensorMap& boxes, const Data& data, void* turns) const {
        Turn turn = {0, 0};
        InRing<SLOTS> slot = {0, 0};
#pragma unroll 1
        for (;; slot.next()) {
            wait_for_phase(found + 8 * slot.stage, slot.parity);
            const Place* place = (const Place*)__cvta_shared_to_generic(slots + slot.stage * SLOT);
            const unsigned int tiles = ((const volatile InSlot*)(place + 1))->tiles;
            if (tiles == NOTHING) break;
            Sums sums;
#pragma unroll
            for (int i = 0; i < BN / 2; ++i) sums[i] = 0.0f;
            if (g.a_by_k && g.b_by_k) multiply<true, true>(sums, turn, tiles);
            else if (g.a_by_k) multiply<true, false>(sums, turn, tiles);
            else if (g.b_by_k) multiply<false, true>(sums, turn, tiles);
            else multiply<false, false>(sums, turn, tiles);
            pin(sums);
            write(c, boxes, data, turns, *place, sums);
            __syncwarp();
            arrive_as_warp(read + 8 * slot.stage);
        }
        wait_for_stores<0>();
        __syncwarp();
    }

    // Straight-line variant for the most frequent case.
    template <unsigned int OUT>
    __device__ __forceinline__ void write_plain(void* c, const Data& data, const Place& p, unsigned int row, const Sums& sums) const {
#pragma unroll
        for (int i = 0; i < BN / 32; ++i)
            if (p.column + 32 * i < g.n) finish_plain<OUT>(g, c, data, p, row, p.column + 32 * i, sums + 16 * i);
    }

    // Writes a warp's 16 rows, 32 accumulators of each at a time, so that the code exists once.
    __device__ __forceinline__ void write(void* c, const TensorMap& boxes, const Data& all, void* turns, const Place& p, const Sums& sums) const {
        const Data data = data_at(g, p, all);
        const unsigned int warp = threadIdx.x / 32 - 4, row = p.row + warp * 16;
        if (row >= p.rows && p.pieces == 1) return;
        void* turn = (unsigned int*)turns + warp;
        if (is_by_boxes(g, data, p, row)) {
            const InSlot& slot = *(const InSlot*)(&p + 1);
            return write_boxes<BN / 64>(g, data, boxes, {p.column, slot.line + row, slot.inner, slot.outer}, sums, staging + warp * STAGING);
        }
        if (is_plain(g, data, p)) {
            if (g.out == OUT_F32) return write_plain<OUT_F32>(c, data, p, row, sums);
            if (g.out == OWN_OUT) return write_plain<OWN_OUT>(c, data, p, row, sums);
        }
        begin_turn<true>(p, turn);
#pragma unroll 1
        for (int chunk = 0; chunk < BN / 32; ++chunk) {
            const unsigned int column = p.column + chunk * 32;
            if (row >= p.rows || column >= g.n) break;
            float x[16];
#pragma unroll
            for (int i = 0; i < BN / 32; ++i)
                if (i == chunk)
#pragma unroll
                    for (int j = 0; j < 16; ++j) x[j] = sums[16 * i + j];
            if (g.quads) finish_fragment(g, c, data, p, row, column, x);
            else finish_elements(g, c, data, p, row, column, x, staging + warp * STAGING);
        }
        end_turn<true>(p, turn);
    }

    static __device__ __forceinline__ void run(const GemmArgs& g, unsigned int items, const TensorMap& a, const TensorMap& b, const TensorMap& boxes, void* c, const Data& data, const void* offsets, void* turns) {
        extern __shared__ __align__(1024) unsigned char memory[];
        const WgmmaTile tile(g, offsets, items, memory);
        tile.init();
        if (threadIdx.x < 128) {
            give_registers<56>();
            if (threadIdx.x < 32) tile.produce(a, b);
        } else {
            take_registers<224>();
            tile.consume(c, boxes, data, turns);
        }
    }
};
#endif

extern "C" __global__ void gemm_wgmma(GemmArgs g, unsigned int items, const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, const __grid_constant__ TensorMap boxes, void* c, const void* bias, const void* other, void* aux, const void* offsets, void* turns) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    WgmmaTile::run(g, items, a, b, boxes, c, Data{bias, other, aux, nullptr, nullptr}, offsets, turns);
#endif
}
