// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Fill level of the log.
struct alignas(4) EventLog {
    unsigned int words; // Words written
    unsigned int entries; // Generations written
};
static_assert(sizeof(EventLog) == 8, "EventLog: size");
