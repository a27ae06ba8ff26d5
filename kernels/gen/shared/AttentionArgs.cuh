// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Sizes and strides of one attention.
struct alignas(8) AttentionArgs {
    HeadPlaces q; // Queries and their gradients
    HeadPlaces k; // Keys and their gradients
    HeadPlaces v; // Values and their gradients
    HeadPlaces o; // The result and its gradient
    unsigned long long bias_batch; // Elements of the bias from a sequence to the next
    unsigned long long bias_head; // Elements of the bias from a head to the next
    unsigned long long bias_query; // Elements of the bias from a query to the next
    unsigned long long bias_key; // Elements of the bias from a key to the next
    unsigned int batch; // Sequences in the batch
    unsigned int heads; // Query heads of a sequence
    unsigned int group; // Query heads of a key and value head
    unsigned int head_dim; // Elements of a head
    unsigned int q_len; // Queries of a sequence, at most
    unsigned int k_len; // Keys of a sequence, at most
    unsigned int q_tokens; // Number of queries in the buffers, for packed sequences
    unsigned int k_tokens; // Number of keys in the buffers, for packed sequences
    unsigned int format; // Format of the tensors, for kernels without a format of their own
    unsigned int causal; // Whether later keys are hidden
    unsigned int window; // Window, 0 for none
    unsigned int lengths; // Rule for the tokens that exist
    unsigned int aligned; // Whether rows of keys, values and queries begin at multiples of 16 bytes
    unsigned int splits; // Parts of the keys, each of a block of its own
    float scale; // Factor of the products of queries and keys
    unsigned int drop_site; // Place of dropout
    unsigned int drop_keys; // Keys of a row of the addresses of dropout
    unsigned int pad; // Padding to eight bytes
};
static_assert(sizeof(AttentionArgs) == 232, "AttentionArgs: size");
