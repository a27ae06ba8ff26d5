// Kernels of one element type, ELEMENTS. src/nn/attention/cuda/mod.rs repeats their tile sizes and shared memory.
#pragma once

#define FORWARD_ARGS AttentionArgs a, const void *q, const void *k, const void *v, const void *q_lengths, const void *k_lengths, const void *drop
#define FORWARD_VALUES a, (const unsigned short*)q, (const unsigned short*)k, (const unsigned short*)v, (const int*)q_lengths, (const int*)k_lengths, drop
#define BACKWARD_ARGS FORWARD_ARGS, const void *d_o, const float *lse, const float *dots
#define BACKWARD_VALUES FORWARD_VALUES, (const unsigned short*)d_o, lse, dots
#if __CUDA_ARCH__ >= 800
#define KERNEL(...) { __VA_ARGS__; }
#else
#define KERNEL(...) {}
#endif

extern "C" __global__ void flash_forward_64(FORWARD_ARGS, void* o, float* lse) KERNEL((FlashForward<ELEMENTS, 64, 4, 2, 64, true>::run(FORWARD_VALUES, (unsigned short*)o, lse)))
extern "C" __global__ void flash_forward_128(FORWARD_ARGS, void* o, float* lse) KERNEL((FlashForward<ELEMENTS, 128, 8, 1, 64, true>::run(FORWARD_VALUES, (unsigned short*)o, lse)))
extern "C" __global__ void flash_queries_backward_64(BACKWARD_ARGS, void* dq) KERNEL((FlashQueriesBackward<ELEMENTS, 64, 4, 64>::run(BACKWARD_VALUES, (unsigned short*)dq)))
extern "C" __global__ void flash_queries_backward_128(BACKWARD_ARGS, void* dq) KERNEL((FlashQueriesBackward<ELEMENTS, 128, 4, 32>::run(BACKWARD_VALUES, (unsigned short*)dq)))
extern "C" __global__ void flash_keys_backward_64(BACKWARD_ARGS, void* dk, void* dv) KERNEL((FlashKeysBackward<ELEMENTS, 64, 4, 64, true>::run(BACKWARD_VALUES, (unsigned short*)dk, (unsigned short*)dv)))
extern "C" __global__ void flash_keys_backward_128(BACKWARD_ARGS, void* dk, void* dv) KERNEL((FlashKeysBackward<ELEMENTS, 128, 4, 32, false>::run(BACKWARD_VALUES, (unsigned short*)dk, (unsigned short*)dv)))
