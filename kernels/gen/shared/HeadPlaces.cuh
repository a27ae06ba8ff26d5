// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Places of the heads of tokens, in elements.
struct alignas(8) HeadPlaces {
    unsigned long long offset; // Index of the first element
    unsigned long long batch; // Elements from a sequence to the next
    unsigned long long token; // Elements from a token to the next
    unsigned long long head; // Elements from a head to the next
};
static_assert(sizeof(HeadPlaces) == 32, "HeadPlaces: size");
