//! Checked homeostatic rules, with intervals in steps.

use super::{Adaptation, Scaling};
use crate::kinds::spiking::general::delay::delay_steps;

/// Number of binary digits of a weight that is close to the maximum, in sums of weights.
const DIGITS: i32 = 30;

/// Returns the number of units per weight in sums of weights, a power of two. Sums in these units are exact integers.
pub fn units_per_weight(w_max: f32) -> f64 {
    let exponent = (w_max.to_bits() >> 23) as i32 - 127;
    2_f64.powi(DIGITS - exponent)
}

/// Adaptation of a population that can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptationPlan {
    /// Rise of the threshold per spike, mV.
    pub increase: f64,
    /// Decay of the rise over an interval.
    pub decay: f64,
    /// Interval, steps, at least 1.
    pub interval: u64,
}

/// Scaling of a projection that can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalingPlan {
    /// Target of the scaling.
    pub target: Target,
    /// Interval, steps, at least 1.
    pub interval: u64,
}

/// Target of a scaling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Sum of the absolute weights of a neuron.
    Sum(f64),
    /// Number of spikes of a neuron in an interval, and the relative change of a weight per spike more or less.
    Spikes {
        /// Number of spikes in an interval.
        n: f64,
        /// Relative change of a weight per spike.
        beta: f64,
    },
}

/// Returns the number of steps of an interval, at least 1.
fn steps(interval_ms: f64, dt_ms: f64) -> u64 {
    delay_steps(interval_ms, dt_ms).max(1.0) as u64
}

impl AdaptationPlan {
    /// Returns the plan of a population; `None` for constant thresholds. Fails if a value is not possible.
    pub fn new(of: &Adaptation, dt_ms: f64) -> Result<Option<Self>, String> {
        let Adaptation::Threshold(of) = of else { return Ok(None) };
        if !(of.increase.is_finite() && of.tau > 0.0 && of.interval > 0.0 && of.interval.is_finite()) {
            return Err("adaptation: values are finite, the time constant and the interval above 0".to_owned());
        }
        let interval = steps(of.interval, dt_ms);
        let decay = (-(interval as f64) * dt_ms / of.tau).exp();
        Ok(Some(Self { increase: of.increase, decay, interval }))
    }
}

impl ScalingPlan {
    /// Returns the plan of a projection; `None` without scaling. Fails if a value is not possible.
    pub fn new(of: &Scaling, dt_ms: f64) -> Result<Option<Self>, String> {
        let (interval, values) = match of {
            Scaling::Unscaled(_) => return Ok(None),
            Scaling::Sum(of) => (of.interval, [of.sum, 0.0]),
            Scaling::Rate(of) => (of.interval, [of.rate, of.beta]),
        };
        let is_possible = |x: f64| x.is_finite() && x >= 0.0;
        if !(values.into_iter().all(is_possible) && is_possible(interval) && interval > 0.0) {
            return Err("scaling: values are finite and at least 0, the interval above 0".to_owned());
        }
        let interval = steps(interval, dt_ms);
        let target = match of {
            Scaling::Rate(of) => Target::Spikes { n: of.rate * interval as f64 * dt_ms * 1e-3, beta: of.beta },
            _ => Target::Sum(values[0]),
        };
        Ok(Some(Self { target, interval }))
    }

    /// Whether the factors depend on sums of weights; if not, on spikes.
    pub const fn needs_sums(&self) -> bool {
        matches!(self.target, Target::Sum(_))
    }

    /// Returns the number of units per weight in the sums, for a maximum weight.
    pub fn scale(w_max: f32) -> f32 {
        units_per_weight(w_max) as f32
    }

    /// Returns the factors of the weights of neurons with these sums of weights, in units, or numbers of spikes in the last
    /// interval. A neuron without weights has a factor of 1.
    pub fn factors(&self, values: &[u64], w_max: f32) -> Vec<f32> {
        let scale = units_per_weight(w_max);
        let of_sum = |target: f64, sum: u64| if sum == 0 { 1.0 } else { target * scale / sum as f64 };
        let factor = |value: &u64| match self.target {
            Target::Sum(target) => of_sum(target, *value),
            Target::Spikes { n, beta } => (1.0 + beta * (n - *value as f64)).max(0.0),
        };
        values.iter().map(|value| (factor(value) as f32).min(f32::MAX)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::spiking::general::homeostasis::{RateScaling, SumScaling};

    #[test]
    fn factors_lead_to_the_target() {
        let plan = ScalingPlan::new(&Scaling::Sum(SumScaling { sum: 300.0, interval: 100.0 }), 0.1).expect("a plan");
        let plan = plan.expect("scaling");
        let unit = units_per_weight(10.0);
        assert_eq!(plan.interval, 1000);
        assert_eq!(plan.factors(&[(150.0 * unit) as u64, (600.0 * unit) as u64, 0], 10.0), [2.0, 0.5, 1.0]);
        let rate = Scaling::Rate(RateScaling { rate: 20.0, beta: 0.25, interval: 100.0 });
        let plan = ScalingPlan::new(&rate, 0.1).expect("a plan").expect("scaling");
        assert_eq!(plan.factors(&[0, 2, 4, 100], 10.0), [1.5, 1.0, 0.5, 0.0]);
    }

    #[test]
    fn values_that_are_not_possible_are_refused() {
        assert!(ScalingPlan::new(&Scaling::Sum(SumScaling { sum: f64::NAN, interval: 1.0 }), 0.1).is_err());
        let threshold = super::super::AdaptiveThreshold { tau: 0.0, ..Default::default() };
        assert!(AdaptationPlan::new(&Adaptation::Threshold(threshold), 0.1).is_err());
    }
}
