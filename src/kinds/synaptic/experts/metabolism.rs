//! Update of fatigue, energy and load balancing after a step.
//!
//! Here u is the share of tokens that selected the expert, `ρ = u A / k` its load relative to the fair load among A living
//! experts, and `a_f`, `a_e` are the rates of the expert's genome:
//!
//! | | |
//! | --- | --- |
//! | fatigue | `(1 - a_f) fatigue + a_f u` |
//! | energy | `(1 - a_e) energy + a_e (1 - κ ρ)`, κ = 0.1: tends to 0.9 at the fair load |
//! | balance | `balance ± rate`, increased below the fair load (Wang et al. 2024) |
//!
//! Fatigue and energy stay in 0..=1. Empty slots keep their state.

use super::{Balancing, GENES, LoadStatistics, Phenotype, Router, RouterState};
use crate::nn::real::Real;

/// Updates fatigue, energy and balance of living experts.
pub fn update<R: Real>(op: &Router, statistics: &LoadStatistics, genome: &[R], state: &mut RouterState) {
    let fair = op.top_k as f64 / state.n_alive().max(1) as f64;
    for e in (0..op.experts).filter(|e| state.alive[*e] != 0) {
        let rates = Phenotype::of(&genome[e * GENES..][..GENES]);
        let load = statistics.load(e);
        average(&mut state.fatigue[e], rates.fatigue_rate, load);
        average(&mut state.energy[e], rates.energy_rate, 1.0 - op.energy_cost * load / fair);
        if let Balancing::Bias { rate } = op.balancing {
            let below = fair - load;
            let step = if below == 0.0 { 0.0 } else { rate.copysign(below) };
            state.balance[e] = (f64::from(state.balance[e]) + step) as f32;
        }
    }
}

/// Moves a value in 0..=1 towards a target by the share `rate` of the distance.
fn average(value: &mut f32, rate: f64, target: f64) {
    *value = (f64::from(*value) * (1.0 - rate) + rate * target).clamp(0.0, 1.0) as f32;
}
