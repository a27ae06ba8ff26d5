// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"
#include "gen/shared/PassArgs.cuh"
#include "gen/shared/MatrixArgs.cuh"
#include "gen/shared/Draws.cuh"
#include "gen/shared/TensorArgs.cuh"

// Weights in units of the perturbation. Items: weights.
extern "C" __global__ void __launch_bounds__(256, 1) shift_weights(unsigned int n, unsigned int shift, const signed char* __restrict__ weights, signed char* __restrict__ shifted);

// Signs of the low-rank perturbation of a tensor. Items: words.
extern "C" __global__ void __launch_bounds__(256, 1) draw_signs(Draws d, TensorArgs t, unsigned int pairs, unsigned int words_per_pair, unsigned long long* __restrict__ words);

// Weights of both members of pairs with their full-rank perturbation. Items: weights of a pair.
extern "C" __global__ void __launch_bounds__(256, 1) merge_full_rank(Draws d, TensorArgs t, unsigned int pairs, unsigned int n, const signed char* __restrict__ shifted, signed char* __restrict__ merged);

// Perturbation of a vector. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) draw_vectors(Draws d, TensorArgs t, unsigned int pairs, unsigned int n, unsigned int first, signed char* __restrict__ noise);

// Sequences of pairs and their targets. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) draw_text(Draws d, unsigned int pairs, unsigned int first, unsigned int sequences, unsigned int steps, unsigned long long starts, const unsigned short* __restrict__ text, unsigned short* __restrict__ tokens, unsigned short* __restrict__ targets);

// Embedding with its perturbation, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) embed_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const unsigned long long* __restrict__ signs, const signed char* __restrict__ weights, const unsigned short* __restrict__ tokens, signed char* __restrict__ y);

// Position, GELU, rounding and norm after the input projection, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) input_rows(PassArgs p, MatrixArgs w, unsigned int rows, const unsigned long long* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ positions, const signed char* __restrict__ embedded, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y);

// Sum of attention and residual stream, and its norm, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) attention_rows_out(PassArgs p, unsigned int rows, const float* __restrict__ output, signed char* __restrict__ x, signed char* __restrict__ y);

// GELU and rounding in the feed-forward layer, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) gelu_rows(PassArgs p, MatrixArgs w, MatrixArgs down, unsigned int rows, const unsigned long long* __restrict__ signs, const signed char* __restrict__ y, const int* __restrict__ sums, signed char* __restrict__ hidden, int* __restrict__ along);

// Sum of the feed-forward layer and residual stream, and its norm, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) mlp_rows(PassArgs p, MatrixArgs w, unsigned int rows, const unsigned long long* __restrict__ signs, const int* __restrict__ along, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y);

// Cross entropy of each row, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) loss_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int adds, unsigned int first_bias, const unsigned long long* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ biases, const signed char* __restrict__ y, const int* __restrict__ sums, const unsigned short* __restrict__ targets, unsigned long long* __restrict__ losses);
