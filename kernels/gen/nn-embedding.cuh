// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int CHUNK = 64u;

// Sizes of an embedding.
struct alignas(8) EmbeddingArgs {
    unsigned long long tokens; // Tokens of all sequences
    unsigned long long seq_len; // Tokens of a sequence
    unsigned long long offset; // Position of the first token of every sequence
    unsigned long long context; // Rows of the position embeddings
    unsigned int vocab; // Rows of the table
    unsigned int features; // Elements of a row
    unsigned int aligned; // Whether every row begins at a multiple of 16 bytes and ends at one
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(EmbeddingArgs) == 48, "EmbeddingArgs: size");

// One pass of a radix sort of places by their keys.
struct alignas(8) SortArgs {
    unsigned long long n; // Places that are sorted
    unsigned long long length; // Places of a segment, which one block sorts
    unsigned int keys; // Keys are less than this
    unsigned int segments; // Segments into which the places are divided
    unsigned int shift; // First bit of the digit
    unsigned int pass; // Number of this pass
    unsigned int passes; // Passes of the whole sort
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(SortArgs) == 40, "SortArgs: size");

// Embedding of tokens and positions: one warp per token, 16 bytes per access. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(256, 1) embed_tokens(EmbeddingArgs g, const unsigned int* __restrict__ tokens, const void* table, const void* positions, const void* position_ids, void* y, unsigned int* __restrict__ flag);

// Sorting tokens for the gradient of the embedding: occurrences of the first digit, one block per segment; in the other
// blocks a share of the gradients of position embeddings, one thread per position and 16 bytes of columns.
extern "C" __global__ void __launch_bounds__(256, 1) count_digits(SortArgs s, const unsigned int* __restrict__ keys, unsigned int* __restrict__ counts, unsigned int* __restrict__ flag, EmbeddingArgs g, const void* dy, void* dpositions);

// Sorting tokens for the gradient of the embedding: places in the order of a digit, in blocks as above.
extern "C" __global__ void __launch_bounds__(256, 1) sort_places(SortArgs s, const unsigned int* __restrict__ keys, const void* places, unsigned int* __restrict__ counts, unsigned int* __restrict__ sorted_keys, unsigned int* __restrict__ sorted_places, EmbeddingArgs g, const void* dy, void* dpositions);

// Gradient of the embedding: sums of chunks of equal tokens, one block per 64 sorted places. Bound by memory bandwidth.
extern "C" __global__ void __launch_bounds__(256, 4) add_gradients(EmbeddingArgs g, const unsigned int* __restrict__ keys, const unsigned int* __restrict__ places, const void* dy, float* __restrict__ partial, float* __restrict__ dtable);

// Gradient of the embedding: partial sums of frequent tokens.
extern "C" __global__ void __launch_bounds__(256, 1) add_partial_sums(EmbeddingArgs g, const unsigned int* __restrict__ keys, const float* __restrict__ partial, float* __restrict__ dtable);
