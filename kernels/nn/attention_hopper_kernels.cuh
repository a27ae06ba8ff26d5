// The kernels of one element type, ELEMENTS. Their tiles and bytes of shared memory are repeated in src/nn/attention/cuda/mod.rs.
#pragma once

#define FORWARD_ARGS AttentionArgs a, const void *q, const void *k, const void *v, const void *q_lengths, const void *k_lengths, const void *drop
#define FORWARD_VALUES a, (const unsigned short*)q, (const unsigned short*)k, (const unsigned short*)v, (const int*)q_lengths, (const int*)k_lengths, drop
#define BACKWARD_ARGS FORWARD_ARGS, const void *d_o, const float *lse, const float *dots
#define BACKWARD_VALUES FORWARD_VALUES, (const unsigned short*)d_o, lse, dots
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define KERNEL(...) { __VA_ARGS__; }
#else
#define KERNEL(...) {}
#endif

extern "C" __global__ void hopper_forward_64(FORWARD_ARGS, void* o, float* lse) KERNEL((HopperForward<ELEMENTS, 64, 2>::run(FORWARD_VALUES, (unsigned short*)o, lse)))
extern "C" __global__ void hopper_forward_128(FORWARD_ARGS, void* o, float* lse) KERNEL((HopperForward<ELEMENTS, 128, 2>::run(FORWARD_VALUES, (unsigned short*)o, lse)))
extern "C" __global__ void hopper_queries_backward_64(BACKWARD_ARGS, void* dq) KERNEL((HopperQueriesBackward<ELEMENTS, 64, 2>::run(BACKWARD_VALUES, (unsigned short*)dq)))
extern "C" __global__ void hopper_queries_backward_128(BACKWARD_ARGS, void* dq) KERNEL((HopperQueriesBackward<ELEMENTS, 128, 2>::run(BACKWARD_VALUES, (unsigned short*)dq)))
extern "C" __global__ void hopper_keys_backward_64(BACKWARD_ARGS, void* dk, void* dv) KERNEL((HopperKeysBackward<ELEMENTS, 64, 2>::run(BACKWARD_VALUES, (unsigned short*)dk, (unsigned short*)dv)))
extern "C" __global__ void hopper_keys_backward_128(BACKWARD_ARGS, void* dk, void* dv) KERNEL((HopperKeysBackward<ELEMENTS, 128, 2>::run(BACKWARD_VALUES, (unsigned short*)dk, (unsigned short*)dv)))
