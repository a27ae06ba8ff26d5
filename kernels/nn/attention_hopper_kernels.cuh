// Kernels of one element type, ELEMENTS. src/nn/attention/cuda/mod.rs repeats their tile sizes and shared memory.
#pragma once
#include "nn/attention_hopper.cuh"
#include "nn/attention_hopper_keys.cuh"

#define COPIED AttentionArgs a, const __grid_constant__ TensorMap queries, const __grid_constant__ TensorMap keys, const __grid_constant__ TensorMap values
#define LENGTHS const void *q_lengths, const void *k_lengths, const void *drop
#define LENGTHS_VALUES (const int*)q_lengths, (const int*)k_lengths, drop
#define ELEMENTS_OF(x) (const unsigned short*)x
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define KERNEL(...) { __VA_ARGS__; }
#else
#define KERNEL(...) {}
#endif

#define FORWARD_ARGS COPIED, const void *v, LENGTHS, void *o, float *lse
#define FORWARD_VALUES a, queries, keys, values, ELEMENTS_OF(v), LENGTHS_VALUES, (unsigned short*)o, lse
#define QUERIES_ARGS COPIED, const __grid_constant__ TensorMap gradients, const void *k, const void *v, LENGTHS, const float *lse, const float *dots, void *dq
#define QUERIES_VALUES a, Copied{queries, keys, values, gradients}, ELEMENTS_OF(k), ELEMENTS_OF(v), LENGTHS_VALUES, lse, dots, (unsigned short*)dq
#define KEYS_ARGS COPIED, const __grid_constant__ TensorMap gradients, const void *q, const void *d_o, LENGTHS, const float *lse, const float *dots, void *dk, void *dv
#define BACKWARD_ARGS COPIED, const __grid_constant__ TensorMap gradients, const void *q, const void *k, const void *v, const void *d_o, LENGTHS, const float *lse, const float *dots, float *sums, void *dk, void *dv
#define KEYS_VALUES a, Copied{queries, keys, values, gradients}, ReadTensors{ELEMENTS_OF(q), ELEMENTS_OF(d_o), 0, 0, lse, dots}, LENGTHS_VALUES, 0, (unsigned short*)dk, (unsigned short*)dv
#define BACKWARD_VALUES a, Copied{queries, keys, values, gradients}, ReadTensors{ELEMENTS_OF(q), ELEMENTS_OF(d_o), ELEMENTS_OF(k), ELEMENTS_OF(v), lse, dots}, LENGTHS_VALUES, sums, (unsigned short*)dk, (unsigned short*)dv
#define FINISH_ARGS AttentionArgs a, const void *q_lengths, const void *k_lengths, const float *sums, void *dq
#define FINISH_VALUES a, (const int*)q_lengths, (const int*)k_lengths, sums, (unsigned short*)dq

extern "C" __global__ void hopper_forward_64(FORWARD_ARGS) KERNEL((HopperForward<ELEMENTS, 64>::run(FORWARD_VALUES)))
extern "C" __global__ void hopper_forward_128(FORWARD_ARGS) KERNEL((HopperForward<ELEMENTS, 128>::run(FORWARD_VALUES)))
extern "C" __global__ void hopper_queries_backward_64(QUERIES_ARGS) KERNEL((HopperQueriesBackward<ELEMENTS, 64>::run(QUERIES_VALUES)))
extern "C" __global__ void hopper_queries_backward_128(QUERIES_ARGS) KERNEL((HopperQueriesBackward<ELEMENTS, 128>::run(QUERIES_VALUES)))
extern "C" __global__ void hopper_keys_backward_64(KEYS_ARGS) KERNEL((HopperKeysBackward<ELEMENTS, 64, false>::run(KEYS_VALUES)))
extern "C" __global__ void hopper_keys_backward_128(KEYS_ARGS) KERNEL((HopperKeysBackward<ELEMENTS, 128, false>::run(KEYS_VALUES)))
extern "C" __global__ void hopper_backward_64(BACKWARD_ARGS) KERNEL((HopperKeysBackward<ELEMENTS, 64, true>::run(BACKWARD_VALUES)))
extern "C" __global__ void hopper_backward_128(BACKWARD_ARGS) KERNEL((HopperKeysBackward<ELEMENTS, 128, true>::run(BACKWARD_VALUES)))
extern "C" __global__ void hopper_finish_queries_64(FINISH_ARGS) KERNEL((finish_queries<ELEMENTS, 64>(FINISH_VALUES)))
extern "C" __global__ void hopper_finish_queries_128(FINISH_ARGS) KERNEL((finish_queries<ELEMENTS, 128>(FINISH_VALUES)))
