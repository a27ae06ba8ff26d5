// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A source of kicks.
struct alignas(8) KickSource {
    double weight; // Increase of u per event, mV
    unsigned int address; // Purpose and stream of the draws of the source
    unsigned int draws; // Whether events are drawn; 0 for listed kicks
};
static_assert(sizeof(KickSource) == 16, "KickSource: size");
