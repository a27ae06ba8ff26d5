// Copies of single elements to shared memory.
#pragma once
#include "nn/shared_memory.cuh"

#if __CUDA_ARCH__ >= 800
// Copies `count` elements with a stride of `step` bytes to adjacent ones, and pads with zeros to 16 bytes.
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
