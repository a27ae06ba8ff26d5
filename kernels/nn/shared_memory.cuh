// Copies to shared memory beside other work (cp.async), and loads of fragments from it (ldmatrix).
#pragma once

#if __CUDA_ARCH__ >= 800
// Copies `bytes` of 16 and fills up with zeros.
__device__ __forceinline__ void copy_chunk(unsigned int to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// Four matrices of 8 x 8 elements of 16 bits, one address of a row per lane.
__device__ __forceinline__ void load_matrices(unsigned int (&r)[4], unsigned int at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
__device__ __forceinline__ void load_matrices_transposed(unsigned int (&r)[4], unsigned int at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
}
#endif
