// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once
#include "common/elements.cuh"

constexpr unsigned int N_SYMBOLS = 27u;
constexpr unsigned int ROW = 32u;
constexpr unsigned int TABLE = 1024u;
constexpr unsigned int N_BINS = 32u;
constexpr float BIN = 0.5f;
constexpr unsigned int NON_FINITE = 4294967295u;
constexpr unsigned int STIMULUS = 2u;
constexpr unsigned int NOISE = 1u;

// Parameters as read by the kernels.
struct alignas(8) StreamParams {
    unsigned long long seed; // Seed of the project: part of the address of every draw
    unsigned long long n_text; // Symbols of the text; 0: symbols are drawn
    float learning_rate; // Step size of the weights
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(StreamParams) == 24, "StreamParams: size");

// Position in the stream.
struct alignas(8) StreamPosition {
    unsigned long long step; // Tokens read so far
    unsigned int symbol; // The last symbol
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(StreamPosition) == 16, "StreamPosition: size");

// The outcome of a token.
struct alignas(4) TokenRecord {
    unsigned int symbol; // The symbol that came
    float loss; // Negative logarithm of its probability
    unsigned int best; // The three likeliest symbols, eight bits each
    float best_p0; // Probability of the likeliest symbol
    float best_p1; // Probability of the second likeliest symbol
    float best_p2; // Probability of the third likeliest symbol
};
static_assert(sizeof(TokenRecord) == 24, "TokenRecord: size");

// One warp: predicts and learns these tokens in order. Items: tokens.
extern "C" __global__ void __launch_bounds__(32, 1) read_tokens(unsigned int n_tokens, unsigned int first, const StreamParams* __restrict__ params, const unsigned char* __restrict__ source, const unsigned int* __restrict__ owners, StreamPosition* __restrict__ position, bf16* __restrict__ weights, TokenRecord* __restrict__ records);

// One block per table: counts its weights in bins. Items: tables.
extern "C" __global__ void __launch_bounds__(256, 1) count_weights(const unsigned int* __restrict__ slots, unsigned int first, const bf16* __restrict__ weights, unsigned int* __restrict__ counts);
