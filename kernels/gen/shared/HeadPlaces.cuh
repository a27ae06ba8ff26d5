// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Where the heads of tokens are, in elements.
struct alignas(8) HeadPlaces {
    unsigned long long offset; // Index of the first element
    unsigned long long batch; // From a sequence to the next
    unsigned long long token; // From a token to the next
    unsigned long long head; // From a head to the next
};
static_assert(sizeof(HeadPlaces) == 32, "HeadPlaces: size");
