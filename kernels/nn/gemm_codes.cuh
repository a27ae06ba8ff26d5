// Packed weights as bytes, see src/nn/gemm/packed.rs: a group of 16 codes is one word or two, and becomes four words of four bytes.
#pragma once

// Two bits per weight, weight k in bits 2k and 2k + 1; codes 0 to 3 stand for 0, -1, 0 and 1.
struct Linear {
    static constexpr int WORDS = 1;
    static __device__ __forceinline__ void decode(const unsigned int (&from)[1], unsigned int (&to)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            unsigned int x = from[0] >> 8 * i & 0xff; // four codes, spread to the four bits that select a byte each
            x = (x | x << 4) & 0x0f0f;
            x = (x | x << 2) & 0x3333;
            to[i] = __byte_perm(0x0100ff00, 0, x);
        }
    }
};

// The same codes, weight 4i + m in bits 2i and 2i + 1 of byte m.
struct Interleaved {
    static constexpr int WORDS = 1;
    static __device__ __forceinline__ void decode(const unsigned int (&from)[1], unsigned int (&to)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned int is_odd = from[0] >> 2 * i & 0x01010101, is_negative = is_odd & ~(from[0] >> (2 * i + 1));
            to[i] = is_odd | is_negative * 255;
        }
    }
};

// Floats E2M1 in four bits, the first in the low bits, as twice their value: 0, 1, 2, 3, 4, 6, 8 or 12, negative if bit 3 is set.
struct Fp4 {
    static constexpr int WORDS = 2;
    static __device__ __forceinline__ void decode(const unsigned int (&from)[2], unsigned int (&to)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const unsigned int four = from[i / 2] >> 16 * (i % 2) & 0xffff, at = four & 0x7777, sign = four & 0x8888;
            unsigned int is_negative; // a selector with bit 3 repeats the highest bit of its byte: byte 1 has it, byte 0 does not
            asm("prmt.b32 %0, %1, %2, %3;" : "=r"(is_negative) : "r"(0x8000), "r"(0), "r"(sign | sign >> 3));
            to[i] = (__byte_perm(0x03020100, 0x0c080604, at) & ~is_negative) | (__byte_perm(0xfdfeff00, 0xf4f8fafc, at) & is_negative);
        }
    }
};
