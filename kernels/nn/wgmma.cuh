// Hopper's tensor cores: asynchronous products of tiles by wgmma, with accumulators in registers.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define WGMMA_R8(n) "%" #n "0,%" #n "1,%" #n "2,%" #n "3,%" #n "4,%" #n "5,%" #n "6,%" #n "7,%" #n "8,%" #n "9,"
#define WGMMA_16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define WGMMA_32 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," WGMMA_R8(1) WGMMA_R8(2) "%30,%31}"
#define WGMMA_64 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9," WGMMA_R8(1) WGMMA_R8(2) WGMMA_R8(3) WGMMA_R8(4) WGMMA_R8(5) "%60,%61,%62,%63}"
#define WGMMA_D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define WGMMA_D16 WGMMA_D8(0), WGMMA_D8(8)
#define WGMMA_D32 WGMMA_D16, WGMMA_D8(16), WGMMA_D8(24)
#define WGMMA_D64 WGMMA_D32, WGMMA_D8(32), WGMMA_D8(40), WGMMA_D8(48), WGMMA_D8(56)

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory"); }
// Makes copied tiles visible to wgmma.
__device__ __forceinline__ void publish_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Prevents the compiler from moving accesses to the accumulators across this point.
template <int N>
__device__ __forceinline__ void pin(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Matrix descriptor of a tile: address, bytes between blocks of 64 columns (if columns are adjacent), 1024 between
// groups of eight rows, 128-byte swizzle.
__device__ __forceinline__ unsigned long long describe(unsigned int at, unsigned int block) {
    return (unsigned long long)(at >> 4 & 0x3fff) | (unsigned long long)(block >> 4) << 16 | (unsigned long long)(1024 >> 4) << 32 | 1ull << 62;
}
#endif
