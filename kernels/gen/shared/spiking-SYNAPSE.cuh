// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int TARGET_BITS = 26u;
constexpr unsigned int WEIGHT_CONSTANT = 0u;
constexpr unsigned int WEIGHT_NARROW = 1u;
constexpr unsigned int WEIGHT_WIDE = 2u;
