// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// A running rate, updated at spikes only.
struct alignas(4) DeviceRate {
    float hz; // Right after the last spike, Hz
    unsigned int step; // The step of the last spike
};
static_assert(sizeof(DeviceRate) == 8, "DeviceRate: size");
