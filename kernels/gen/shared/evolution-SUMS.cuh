// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int SUM_TILE = 64u;
constexpr unsigned int SUM_PAIRS = 16u;
