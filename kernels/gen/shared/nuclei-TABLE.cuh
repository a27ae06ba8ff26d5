// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int FIELDS = 10u;
constexpr unsigned int PHI = 0u;
constexpr unsigned int AMP = 1u;
constexpr unsigned int OMEGA = 2u;
constexpr unsigned int SPIKE = 3u;
constexpr unsigned int F = 4u;
constexpr unsigned int H = 5u;
constexpr unsigned int S_RE = 6u;
constexpr unsigned int S_IM = 7u;
constexpr unsigned int D = 8u;
constexpr unsigned int R_LOCAL = 9u;
constexpr unsigned int ALIVE = 0u;
constexpr unsigned int FROZEN = 1u;
constexpr unsigned int BIRTH = 2u;
constexpr unsigned int PARENT = 3u;
constexpr unsigned int MARK = 4u;
constexpr unsigned int MAX_SELECTED = 4096u;
