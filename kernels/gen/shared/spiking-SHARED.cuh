// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

constexpr unsigned int TRAIN_STEPS = 64u;
constexpr unsigned int CLOSED = 1u;
constexpr unsigned int DRIVEN = 2u;
constexpr unsigned int CURRENT = 4u;
constexpr unsigned int TABLE = 1024u;
constexpr unsigned int MAX_WINDOW_STEPS = 32u;
constexpr unsigned int COPIES = 8u;
constexpr unsigned int COUNTERS = 288u;
constexpr unsigned int HASH = 258u;
constexpr unsigned int NON_FINITE = 260u;
constexpr unsigned int LANE_BITS = 26u;
constexpr unsigned int CHUNK = 128u;
constexpr unsigned int NEURONS_PER_BLOCK = 512u;
constexpr unsigned int MAX_NEURONS_PER_BLOCK = 1088u;
constexpr unsigned int MAX_BLOCKS = 256u;
constexpr unsigned int MAX_PENDING_QUADS = 2560u;
constexpr unsigned int MAX_LOCAL_SPIKES = 1024u;
constexpr unsigned int MAX_TRACED = 128u;
constexpr unsigned int TRACE_WORDS = 40u;
constexpr unsigned int MEMBER_BITS = 11u;
constexpr unsigned int SORTED_BY_DEVICE = 8192u;
