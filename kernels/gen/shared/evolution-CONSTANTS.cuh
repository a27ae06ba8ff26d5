// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int MAX_RANK = 16u;
constexpr unsigned int SUM_OF_FOUR = 0u;
constexpr unsigned int TERNARY = 1u;
constexpr unsigned int MOMENTUM = 1u;
constexpr unsigned int ADAM = 2u;
constexpr unsigned int GATE_BIASES = 4294967295u;
constexpr unsigned int CENTRED_RANK = 0u;
constexpr unsigned int SIGN = 2u;
