// Generated from the Rust declarations by `UPDATE=1 cargo test --test floors generated_headers`.
#pragma once

// Constants of the LIF neuron
struct alignas(8) LifConstants {
    double theta; // Threshold above rest, mV
    double u_reset; // u after a spike, mV
    double w_syn; // Increase of g per synapse, mV
    double dt_per_tau_m; // dt / tau_m
    double b_peak; // Largest contribution of a unit of g to u
    double slack; // Bound on rounding errors of u
    double v_rest; // Resting potential, mV
};
static_assert(sizeof(LifConstants) == 56, "LifConstants: size");
