// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int DROPOUT = 6u;
