// Copies to shared memory.
#pragma once

#if __CUDA_ARCH__ >= 800
// Copies `bytes` of 16 and fills up with zeros.
__device__ __forceinline__ void copy_chunk(unsigned int to, const void* from, unsigned int bytes) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT>
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// Copies `count` elements, `step` bytes from each other, as adjacent ones, and fills 16 bytes up with zeros.
template <int BYTES>
__device__ __forceinline__ void copy_elements(unsigned int to, const unsigned char* from, unsigned long long step, int count) {
    unsigned int words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < 16 / BYTES; ++i) {
        unsigned int x = 0;
        if (i < count) x = BYTES == 4 ? *(const unsigned int*)from : BYTES == 2 ? *(const unsigned short*)from : *from;
        words[i * BYTES / 4] |= x << i * BYTES % 4 * 8;
        from += step;
    }
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}
#endif
