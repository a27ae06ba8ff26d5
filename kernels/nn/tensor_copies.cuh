// Tile copies by Hopper's tensor memory accelerator (TMA), which one thread starts, and the mbarriers in shared memory
// that count their bytes. Addresses are shared-memory addresses.
#pragma once

#if __CUDA_ARCH__ >= 900
// Initialises a barrier whose phase completes after `count` arrivals and all announced bytes.
__device__ __forceinline__ void init_barrier(unsigned int barrier, unsigned int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// Makes initialised barriers visible to copies.
__device__ __forceinline__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits for the end of the phase with this parity; does not wait for the phase before the first one.
__device__ __forceinline__ void wait_for_phase(unsigned int barrier, unsigned int parity) {
    unsigned int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// Copies a box of a four-dimensional tensor to shared memory; elements outside the tensor are zeros.
__device__ __forceinline__ void copy_box(unsigned int to, const TensorMap& map, unsigned int barrier, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

// Copies a box from shared memory to the tensor, except elements outside it. Stores of other lanes must have been
// published before. Each copy is a bulk group of its own.
__device__ __forceinline__ void store_box(const TensorMap& map, unsigned int from, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until all but the last LEFT copies that this thread has started have read shared memory.
template <int LEFT>
__device__ __forceinline__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory"); }
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Sets the number of registers per thread of a warp group.
template <int REGISTERS>
__device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template <int REGISTERS>
__device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
#endif
