// How likely a barrier is crossed, given the order: tunnel.rs.
#pragma once

__device__ inline double tunnelling(const Rules* rules, double order) {
    const double missing = fmax(rules->r_threshold - order, 0.0);
    const double kappa = rules->square_root ? sqrt(2.0 * rules->mass * missing) : missing;
    return fmin(fmax(rules->prefactor * exp(-2.0 / rules->hbar * rules->width * kappa), 0.0), 1.0);
}

// The probability of an event in one generation, from that of one attempt.
__device__ inline double in_a_step(const Rules* rules, double p) {
    return rules->attempts > 0.0 ? -expm1(-rules->attempts * p) : p;
}
