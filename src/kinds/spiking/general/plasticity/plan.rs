//! Check of a plastic projection: its delays, and the depth of its histories.

use super::Plasticity;
use crate::kinds::spiking::general::{Projection, delay::delay_steps, homeostasis::plan::ScalingPlan};

/// Largest dendritic delay of a plastic projection, steps.
const MAX_DENDRITIC: u32 = 4000;
/// Number of postsynaptic spikes that a history holds beyond those of the delays.
const SPARE: u32 = 48;

/// Plasticity of a projection that can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct PlasticityPlan {
    /// The rule and its parameters.
    pub rule: Plasticity,
    /// Whether spikes change weights and eligibilities.
    pub is_learning: bool,
    /// Axonal delay, steps.
    pub axonal: u32,
    /// Smallest dendritic delay, steps, at least 1.
    pub dendritic_min: u32,
    /// Largest dendritic delay, steps.
    pub dendritic_max: u32,
    /// Interval between changes of weights by eligibility, steps; 0 for other rules.
    pub interval: u32,
    /// Number of spikes that a history holds, a power of two; 0 without histories.
    pub depth: u32,
    /// Population that modulates the third factor, with the number of its neurons.
    pub modulator: Option<(usize, u32)>,
    /// Scaling of the weights of each postsynaptic neuron; `None` without.
    pub scaling: Option<ScalingPlan>,
}

impl PlasticityPlan {
    /// Returns the synapse time of the update interval that ends before a step; `None` if none does.
    pub fn interval_end(&self, step: u64) -> Option<u64> {
        let at = step.checked_sub(1 + u64::from(self.dendritic_min)).filter(|at| *at > 0)?;
        (self.interval > 0 && at.is_multiple_of(self.interval.into())).then_some(at)
    }
}

impl Plasticity {
    /// Returns the maximum weight; `None` if weights do not change.
    pub const fn w_max(&self) -> Option<f64> {
        match self {
            Self::Static(_) | Self::TsodyksMarkram(_) => None,
            Self::PairStdp(rule) => Some(rule.w_max),
            Self::PowerLaw(rule) => Some(rule.w_max),
            Self::Triplet(rule) => Some(rule.w_max),
            Self::InhibitoryStdp(rule) => Some(rule.w_max),
            Self::RewardStdp(rule) => Some(rule.w_max),
        }
    }

    /// Whether both rules are of one type, so that a running network can change from one to the other.
    pub fn is_same_type(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// Returns the plan of the plasticity of a projection with delays from `delay_min`, `delays` of them, and a median weight; `None`
/// for a static projection. `named` finds a population by its name. Fails if the rule cannot be followed.
pub fn plan(
    of: &Projection,
    named: impl Fn(&str) -> Result<(usize, u32), String>,
    dt_ms: f64,
    (delay_min, delays): (u32, u32),
    median_weight: f64,
) -> Result<Option<PlasticityPlan>, String> {
    let (rule, axonal_ms) = (&of.plasticity, of.axonal_delay);
    if matches!(rule, Plasticity::Static(_)) {
        return Ok(None);
    }
    check_numbers(rule)?;
    let most = delay_min - 1;
    let axonal = delay_steps(axonal_ms, dt_ms);
    if !(0.0..=f64::from(most)).contains(&axonal) {
        return Err(format!(
            "axonal_delay: {axonal_ms} ms is not possible; with a smallest delay of {} ms it is 0 to {} ms, because the dendritic \
             part is at least one time step",
            f64::from(delay_min) * dt_ms,
            f64::from(most) * dt_ms
        ));
    }
    let axonal = axonal as u32;
    let (dendritic_min, dendritic_max) = (delay_min - axonal, delay_min + delays - 1 - axonal);
    if dendritic_max > MAX_DENDRITIC {
        return Err(format!(
            "delay: {dendritic_max} steps of dendritic delay; plastic projections have at most {MAX_DENDRITIC}. Shorten the delay or \
             raise axonal_delay"
        ));
    }
    if let Some(w_max) = rule.w_max().filter(|w_max| median_weight.abs() > *w_max) {
        return Err(format!(
            "plasticity.w_max: {w_max} is below the median weight of {}. Raise the maximum weight or lower the weight",
            median_weight.abs()
        ));
    }
    let interval = match rule {
        Plasticity::RewardStdp(rule) => delay_steps(rule.interval, dt_ms).max(1.0) as u32,
        _ => 0,
    };
    let modulator = match rule {
        Plasticity::RewardStdp(rule) if !rule.modulator.trim().is_empty() => {
            Some(named(&rule.modulator).map_err(|why| format!("plasticity.modulator: {why}"))?)
        }
        _ => None,
    };
    let spikes = interval + dendritic_min + dendritic_max + SPARE;
    let depth = if rule.w_max().is_some() { spikes.next_power_of_two() } else { 0 };
    let scaling = if rule.w_max().is_some() { ScalingPlan::new(&of.scaling, dt_ms)? } else { None };
    let (rule, is_learning) = (rule.clone(), of.learning);
    Ok(Some(PlasticityPlan {
        rule,
        is_learning,
        axonal,
        dendritic_min,
        dendritic_max,
        interval,
        depth,
        modulator,
        scaling,
    }))
}

/// Checks that all numbers of a rule are finite, and that the maximum weight is above 0.
fn check_numbers(rule: &Plasticity) -> Result<(), String> {
    let numbers = match rule {
        Plasticity::Static(_) => vec![],
        Plasticity::PairStdp(r) => vec![r.tau_plus, r.tau_minus, r.a_plus, r.a_minus, r.mu_plus, r.mu_minus],
        Plasticity::PowerLaw(r) => vec![r.tau_plus, r.tau_minus, r.lambda, r.alpha, r.mu],
        Plasticity::Triplet(r) => {
            vec![r.tau_plus, r.tau_minus, r.tau_x, r.tau_y, r.a2_plus, r.a2_minus, r.a3_plus, r.a3_minus]
        }
        Plasticity::InhibitoryStdp(r) => vec![r.tau, r.eta, r.rate],
        Plasticity::TsodyksMarkram(r) => vec![r.u, r.tau_rec, r.tau_fac],
        Plasticity::RewardStdp(r) => {
            let third = [r.third_factor, r.per_rate, r.baseline, r.interval];
            [vec![r.tau_plus, r.tau_minus, r.a_plus, r.a_minus, r.tau_c], third.to_vec()].concat()
        }
    };
    if numbers.iter().any(|x| !x.is_finite()) {
        return Err("plasticity: values are finite numbers".to_owned());
    }
    if rule.w_max().is_some_and(|w_max| !(w_max > 0.0 && w_max.is_finite())) {
        return Err("plasticity.w_max: the maximum weight is above 0 and finite".to_owned());
    }
    Ok(())
}
