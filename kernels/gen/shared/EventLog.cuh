// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Fill level of the log.
struct alignas(4) EventLog {
    unsigned int words; // Words in the log, of all entries
    unsigned int entries; // Entries in the log, one per generation
};
static_assert(sizeof(EventLog) == 8, "EventLog: size");
