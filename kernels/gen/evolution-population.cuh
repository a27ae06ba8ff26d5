// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"
#include "gen/shared/evolution-CONSTANTS.cuh"
#include "gen/shared/PassArgs.cuh"
#include "gen/shared/MatrixArgs.cuh"
#include "gen/shared/Draws.cuh"
#include "gen/shared/TensorArgs.cuh"

// Shifts the weights to units of the perturbation, a thread per weight. Items: weights.
extern "C" __global__ void __launch_bounds__(256, 1) shift_weights(unsigned int n, unsigned int shift, const signed char* __restrict__ weights, signed char* __restrict__ shifted);

// Draws the signs of a matrix, a thread per word. Items: words.
extern "C" __global__ void __launch_bounds__(256, 1) draw_signs(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int words_per_pair, unsigned long long* __restrict__ words);

// Adds full-rank perturbations to the weights of both members of pairs, a thread per weight of a pair. Items:
// weights of a pair.
extern "C" __global__ void __launch_bounds__(256, 1) merge_full_rank(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int n, const signed char* __restrict__ shifted, signed char* __restrict__ merged);

// Draws the perturbation of a vector, a thread per element. Items: elements.
extern "C" __global__ void __launch_bounds__(256, 1) draw_vectors(const Draws* __restrict__ draws, TensorArgs t, unsigned int pairs, unsigned int n, unsigned int first, signed char* __restrict__ noise);

// Copies the sequences of pairs and their targets from the text, a thread per token. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) draw_text(const Draws* __restrict__ draws, unsigned int pairs, unsigned int first, unsigned int sequences, unsigned int steps, unsigned long long starts, const unsigned short* __restrict__ text, unsigned short* __restrict__ tokens, unsigned short* __restrict__ targets);

// Embeds tokens with the perturbation of their member, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) embed_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int stride, const unsigned long long* __restrict__ signs, const signed char* __restrict__ weights, const unsigned short* __restrict__ tokens, signed char* __restrict__ y);

// Adds positions to the input projection, applies GELU, rounds and normalises, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) input_rows(PassArgs p, MatrixArgs w, unsigned int rows, const unsigned long long* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ positions, const signed char* __restrict__ embedded, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y);

// Adds attention to the residual stream and normalises it, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) attention_rows_out(PassArgs p, unsigned int rows, const float* __restrict__ output, signed char* __restrict__ x, signed char* __restrict__ y);

// Applies GELU in the feed-forward layer and rounds, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) gelu_rows(PassArgs p, MatrixArgs w, MatrixArgs down, unsigned int rows, const unsigned long long* __restrict__ signs, const signed char* __restrict__ y, const int* __restrict__ sums, signed char* __restrict__ hidden, int* __restrict__ along);

// Adds the feed-forward layer to the residual stream and normalises it, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) mlp_rows(PassArgs p, MatrixArgs w, unsigned int rows, const unsigned long long* __restrict__ signs, const int* __restrict__ along, const int* __restrict__ sums, signed char* __restrict__ x, signed char* __restrict__ y);

// Computes the cross entropy, a warp per row. Items: tokens.
extern "C" __global__ void __launch_bounds__(256, 1) loss_rows(PassArgs p, MatrixArgs w, unsigned int rows, unsigned int adds, unsigned int first_bias, const Draws* __restrict__ draws, const unsigned long long* __restrict__ signs, const signed char* __restrict__ noise, const float* __restrict__ biases, const signed char* __restrict__ y, const int* __restrict__ sums, const unsigned short* __restrict__ targets, unsigned long long* __restrict__ losses);
