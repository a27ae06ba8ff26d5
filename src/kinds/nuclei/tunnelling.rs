//! Probability of crossing the barrier as a function of the order parameter.

use super::{
    choices::Barrier,
    params::{Population, Tunnelling},
};

impl Tunnelling {
    /// Computes p(R), the probability of crossing the barrier, in [0, 1].
    pub fn probability(&self, order: f64) -> f64 {
        let missing = (self.r_threshold - order).max(0.0);
        let kappa = match self.barrier {
            Barrier::Linear => missing,
            Barrier::SquareRoot => (2.0 * self.mass * missing).sqrt(),
        };
        (self.prefactor * (-2.0 / self.hbar * self.width * kappa).exp()).clamp(0.0, 1.0)
    }
}

impl Population {
    /// Returns the probability of an event per generation, given the probability `p` per attempt.
    pub fn in_a_step(&self, p: f64) -> f64 {
        if self.attempts_per_step > 0.0 { -(-self.attempts_per_step * p).exp_m1() } else { p }
    }

    /// Returns the probability of death per generation.
    pub fn p_death(&self) -> f64 {
        -(-self.death_rate).exp_m1()
    }

    /// Returns the maximum number of decays per generation in a population of `n` nuclei.
    pub fn k_of(&self, n: usize) -> usize {
        (self.k_worst as usize).max((self.worst_share * n as f64).ceil() as usize)
    }
}

/// Computes the exact transmission through a rectangular barrier of height `v` and length `l` at energy `e` < `v`, for mass and
/// ħ of 1. The square-root law approximates it for long barriers.
pub fn rectangular(v: f64, e: f64, l: f64) -> f64 {
    let kappa = (2.0 * (v - e)).sqrt();
    let sinh = (kappa * l).sinh();
    1.0 / (1.0 + v * v * sinh * sinh / (4.0 * e * (v - e)))
}
