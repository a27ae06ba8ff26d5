// Copies of tiles by Hopper's tensor memory accelerator, which one thread starts, and the barriers in shared memory that count
// their bytes. Addresses are those of shared memory.
#pragma once

#if __CUDA_ARCH__ >= 900
// A barrier that opens when it has been arrived at `count` times and the announced bytes have been copied.
__device__ __forceinline__ void init_barrier(unsigned int barrier, unsigned int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
// Barriers that are set up become visible to copies.
__device__ __forceinline__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(unsigned int barrier, unsigned int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
// Waits for the end of the phase of this parity; of the phase before the first one, not at all.
__device__ __forceinline__ void wait_for_phase(unsigned int barrier, unsigned int parity) {
    unsigned int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    } while (!done);
}

// Copies a box of a tensor of four dimensions; outside of it are zeros.
__device__ __forceinline__ void copy_box(unsigned int to, const TensorMap& map, unsigned int barrier, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];"
                 ::"r"(to), "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

// The way back: a box is copied from shared memory, and what is outside of the tensor is not. What other lanes stored there is
// published before. Copies that a thread has started are one group each.
__device__ __forceinline__ void store_box(const TensorMap& map, unsigned int from, int x, int y, int z, int w) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&map), "r"(from), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// Waits until shared memory was read by all copies that this thread has started but the last LEFT.
template <int LEFT>
__device__ __forceinline__ void wait_for_stores() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(LEFT) : "memory"); }
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// What a warp group may have of the multiprocessor's registers, per thread.
template <int REGISTERS>
__device__ __forceinline__ void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
template <int REGISTERS>
__device__ __forceinline__ void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS)); }
#endif
