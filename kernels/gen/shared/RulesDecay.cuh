// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Table of the decay of a trace, see [`Decay`](crate::kinds::spiking::general::plasticity::decay::Decay).
struct alignas(4) RulesDecay {
    unsigned int first; // Index of its first entry
    unsigned int last; // Number of its entries less one
};
static_assert(sizeof(RulesDecay) == 8, "RulesDecay: size");
