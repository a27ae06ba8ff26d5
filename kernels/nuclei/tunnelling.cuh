// Probability of crossing the barrier as a function of the order parameter; see tunnelling.rs.
#pragma once

__device__ inline double tunnelling(const KernelParams* params, double order) {
    const double missing = fmax(params->r_threshold - order, 0.0);
    const double kappa = params->square_root ? sqrt(2.0 * params->mass * missing) : missing;
    return fmin(fmax(params->prefactor * exp(-2.0 / params->hbar * params->width * kappa), 0.0), 1.0);
}

// Probability of an event per generation, from that of one attempt.
__device__ inline double in_a_step(const KernelParams* params, double p) {
    return params->attempts > 0.0 ? -expm1(-params->attempts * p) : p;
}
