//! Changes of a weight by one event. `w` is the absolute weight.

use super::{Pairing, Plasticity, decay::Decay, plan::PlasticityPlan};
use crate::num::exact;

/// State of a synapse during an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Synapse {
    /// Absolute value of the weight.
    pub w: f32,
    /// Eligibility at the synapse time `at`.
    pub c: f32,
    /// Synapse time of the eligibility.
    pub at: u32,
}

/// Effect of spikes on a synapse.
pub trait Law {
    /// Whether spikes change the eligibility in place of the weight.
    const HAS_ELIGIBILITY: bool = false;
    /// Applies a postsynaptic spike. `k_plus` is the presynaptic trace, `slow` the slow postsynaptic trace before the spike.
    fn post(&self, synapse: &mut Synapse, at: u32, k_plus: f32, slow: f32);
    /// Applies a presynaptic spike. `k_minus` is the postsynaptic trace, `slow` the slow presynaptic trace before the spike.
    fn pre(&self, synapse: &mut Synapse, at: u32, k_minus: f32, slow: f32);
    /// Applies the end of an update interval, with the change of a weight per eligibility. Without eligibility, nothing changes.
    #[inline]
    fn end_interval(&self, synapse: &mut Synapse, at: u32, gain: f32) {
        let _ = (synapse, at, gain);
    }
}

/// Returns `x` to the power of `mu`: 0 for `x` that is not positive, unless the exponent is 0 or 1.
#[inline]
pub fn power(x: f32, mu: f32) -> f32 {
    if mu == 0.0 {
        1.0
    } else if mu == 1.0 {
        x
    } else if x < f32::MIN_POSITIVE {
        0.0
    } else {
        exact::exp(mu * exact::ln(x))
    }
}

/// Bounds a weight by 0 and the maximum; the result is never -0.
#[inline]
pub fn bounded(w: f32, w_max: f32) -> f32 {
    if w > 0.0 { if w < w_max { w } else { w_max } } else { 0.0 }
}

/// Pair-based STDP: see [`super::PairStdp`].
#[derive(Clone, Debug, PartialEq)]
pub struct PairLaw {
    /// Amplitudes times the maximum weight.
    pub a: [f32; 2],
    /// Exponents of potentiation and depression.
    pub mu: [f32; 2],
    /// Upper bound of the weight.
    pub w_max: f32,
}

impl Law for PairLaw {
    #[inline]
    fn post(&self, synapse: &mut Synapse, _: u32, k_plus: f32, _: f32) {
        let room = power(1.0 - synapse.w / self.w_max, self.mu[0]);
        synapse.w = bounded(synapse.w + self.a[0] * (room * k_plus), self.w_max);
    }

    #[inline]
    fn pre(&self, synapse: &mut Synapse, _: u32, k_minus: f32, _: f32) {
        let room = power(synapse.w / self.w_max, self.mu[1]);
        synapse.w = bounded(synapse.w - self.a[1] * (room * k_minus), self.w_max);
    }
}

/// Power-law STDP: see [`super::PowerLaw`].
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLawOfWeight {
    /// Learning rate λ.
    pub lambda: f32,
    /// Product λ α.
    pub lambda_alpha: f32,
    /// Exponent of potentiation.
    pub mu: f32,
    /// Upper bound of the weight.
    pub w_max: f32,
}

impl Law for PowerLawOfWeight {
    #[inline]
    fn post(&self, synapse: &mut Synapse, _: u32, k_plus: f32, _: f32) {
        synapse.w = bounded(synapse.w + self.lambda * (power(synapse.w, self.mu) * k_plus), self.w_max);
    }

    #[inline]
    fn pre(&self, synapse: &mut Synapse, _: u32, k_minus: f32, _: f32) {
        synapse.w = bounded(synapse.w - self.lambda_alpha * (synapse.w * k_minus), self.w_max);
    }
}

/// Triplet STDP: see [`super::Triplet`]. Amplitudes are multiplied by the maximum weight.
#[derive(Clone, Debug, PartialEq)]
pub struct TripletLaw {
    /// Amplitudes of potentiation: of pairs and of triplets.
    pub plus: [f32; 2],
    /// Amplitudes of depression: of pairs and of triplets.
    pub minus: [f32; 2],
    /// Upper bound of the weight.
    pub w_max: f32,
}

impl Law for TripletLaw {
    #[inline]
    fn post(&self, synapse: &mut Synapse, _: u32, k_plus: f32, slow: f32) {
        synapse.w = bounded(synapse.w + k_plus * (self.plus[0] + self.plus[1] * slow), self.w_max);
    }

    #[inline]
    fn pre(&self, synapse: &mut Synapse, _: u32, k_minus: f32, slow: f32) {
        synapse.w = bounded(synapse.w - k_minus * (self.minus[0] + self.minus[1] * slow), self.w_max);
    }
}

/// Inhibitory STDP: see [`super::InhibitoryStdp`].
#[derive(Clone, Debug, PartialEq)]
pub struct InhibitoryLaw {
    /// Learning rate times the maximum weight.
    pub eta: f32,
    /// Depression per presynaptic spike, 2 ρ_0 τ.
    pub alpha: f32,
    /// Upper bound of the weight.
    pub w_max: f32,
}

impl Law for InhibitoryLaw {
    #[inline]
    fn post(&self, synapse: &mut Synapse, _: u32, k_plus: f32, _: f32) {
        synapse.w = bounded(synapse.w + self.eta * k_plus, self.w_max);
    }

    #[inline]
    fn pre(&self, synapse: &mut Synapse, _: u32, k_minus: f32, _: f32) {
        synapse.w = bounded(synapse.w + self.eta * (k_minus - self.alpha), self.w_max);
    }
}

/// Third factor of an update interval: d = d_0 + k (r - r_0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThirdFactor {
    /// Constant part d_0, Hz.
    pub constant: f64,
    /// Change with the rate, k.
    pub per_rate: f64,
    /// Baseline rate r_0, Hz.
    pub baseline: f64,
    /// Rate of the modulating population per spike in an interval, Hz.
    pub rate_per_spike: f64,
    /// Change of a weight per eligibility and third factor: w_max R dt.
    pub scale: f64,
}

impl ThirdFactor {
    /// Returns the third factor, Hz, after an interval with this number of spikes of the modulating population.
    pub fn at(&self, spikes: u32) -> f64 {
        self.constant + self.per_rate * (f64::from(spikes) * self.rate_per_spike - self.baseline)
    }

    /// Returns the change of a weight per eligibility at the end of an interval with this number of spikes.
    pub fn gain(&self, spikes: u32) -> f32 {
        (self.scale * self.at(spikes)) as f32
    }
}

/// Reward-modulated STDP: see [`super::RewardStdp`].
#[derive(Clone, Debug, PartialEq)]
pub struct RewardLaw {
    /// Amplitudes of the eligibility.
    pub a: [f32; 2],
    /// Decay of the eligibility.
    pub decay: Decay,
    /// Third factor by the spikes of the modulating population.
    pub third: ThirdFactor,
    /// Upper bound of the weight.
    pub w_max: f32,
}

impl RewardLaw {
    /// Brings the eligibility to a synapse time.
    #[inline]
    fn decay_to(&self, synapse: &mut Synapse, at: u32) {
        synapse.c *= self.decay.over(at.wrapping_sub(synapse.at));
        synapse.at = at;
    }
}

impl Law for RewardLaw {
    const HAS_ELIGIBILITY: bool = true;

    #[inline]
    fn post(&self, synapse: &mut Synapse, at: u32, k_plus: f32, _: f32) {
        self.decay_to(synapse, at);
        synapse.c += self.a[0] * k_plus;
    }

    #[inline]
    fn pre(&self, synapse: &mut Synapse, at: u32, k_minus: f32, _: f32) {
        self.decay_to(synapse, at);
        synapse.c -= self.a[1] * k_minus;
    }

    #[inline]
    fn end_interval(&self, synapse: &mut Synapse, at: u32, gain: f32) {
        self.decay_to(synapse, at);
        synapse.w = bounded(synapse.w + gain * synapse.c, self.w_max);
    }
}

/// Law of a projection.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyLaw {
    /// Changes by pairs of spikes.
    Pair(PairLaw),
    /// Changes with power-law potentiation.
    PowerLaw(PowerLawOfWeight),
    /// Changes by pairs and triplets.
    Triplet(TripletLaw),
    /// Symmetric changes with a target rate.
    Inhibitory(InhibitoryLaw),
    /// Changes of an eligibility.
    Reward(RewardLaw),
    /// Short-term plasticity with the utilisation U.
    ShortTerm(f32),
}

/// Rule of a projection, as the step uses it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Changes by single events.
    pub law: AnyLaw,
    /// Decay of the presynaptic trace; of x with short-term plasticity.
    pub plus: Decay,
    /// Decay of the postsynaptic trace; of u with short-term plasticity.
    pub minus: Decay,
    /// Decays of the slow pre- and postsynaptic traces of triplets.
    pub slow: Option<[Decay; 2]>,
    /// Whether spikes set traces to 1 in place of adding 1.
    pub is_nearest: bool,
    /// Maximum weight; infinite if weights do not change.
    pub w_max: f32,
    /// Whether spikes change weights and eligibilities.
    pub is_learning: bool,
}

impl Rule {
    /// Creates the rule of a plastic projection.
    pub fn new(plan: &PlasticityPlan, dt_ms: f64) -> Self {
        let decay = |tau: f64| Decay::new(tau, dt_ms);
        let w_max = plan.rule.w_max().map_or(f32::INFINITY, |w_max| w_max as f32);
        let fractions = |of: f64, a: [f64; 2]| a.map(|a| (a * of) as f32);
        let (law, [plus, minus]) = match &plan.rule {
            // Static projections have no plan.
            Plasticity::Static(_) => (AnyLaw::ShortTerm(1.0), [0.0; 2]),
            Plasticity::PairStdp(r) => {
                let mu = fractions(1.0, [r.mu_plus, r.mu_minus]);
                let law = PairLaw { a: fractions(r.w_max, [r.a_plus, r.a_minus]), mu, w_max };
                (AnyLaw::Pair(law), [r.tau_plus, r.tau_minus])
            }
            Plasticity::PowerLaw(r) => {
                let [lambda, lambda_alpha] = fractions(r.lambda, [1.0, r.alpha]);
                (
                    AnyLaw::PowerLaw(PowerLawOfWeight { lambda, lambda_alpha, mu: r.mu as f32, w_max }),
                    [r.tau_plus, r.tau_minus],
                )
            }
            Plasticity::Triplet(r) => {
                let plus = fractions(r.w_max, [r.a2_plus, r.a3_plus]);
                let minus = fractions(r.w_max, [r.a2_minus, r.a3_minus]);
                (AnyLaw::Triplet(TripletLaw { plus, minus, w_max }), [r.tau_plus, r.tau_minus])
            }
            Plasticity::InhibitoryStdp(r) => {
                let (eta, alpha) = ((r.eta * r.w_max) as f32, (2.0 * r.rate * r.tau * 1e-3) as f32);
                (AnyLaw::Inhibitory(InhibitoryLaw { eta, alpha, w_max }), [r.tau, r.tau])
            }
            Plasticity::TsodyksMarkram(r) => (AnyLaw::ShortTerm(r.u as f32), [r.tau_rec, r.tau_fac]),
            Plasticity::RewardStdp(r) => {
                let secs = f64::from(plan.interval) * dt_ms * 1e-3;
                let (constant, scale) = (r.third_factor, r.w_max * secs);
                let third = match plan.modulator {
                    Some((_, n)) => {
                        let rate_per_spike = 1.0 / (f64::from(n) * secs);
                        ThirdFactor { constant, per_rate: r.per_rate, baseline: r.baseline, rate_per_spike, scale }
                    }
                    None => ThirdFactor { constant, per_rate: 0.0, baseline: 0.0, rate_per_spike: 0.0, scale },
                };
                let law = RewardLaw { a: fractions(1.0, [r.a_plus, r.a_minus]), decay: decay(r.tau_c), third, w_max };
                (AnyLaw::Reward(law), [r.tau_plus, r.tau_minus])
            }
        };
        let (slow, pairing) = match &plan.rule {
            Plasticity::Triplet(r) => (Some([decay(r.tau_x), decay(r.tau_y)]), r.pairing),
            Plasticity::PairStdp(r) => (None, r.pairing),
            _ => (None, Pairing::AllToAll),
        };
        let (is_nearest, is_learning) = (pairing == Pairing::Nearest, plan.is_learning);
        Self { law, plus: decay(plus), minus: decay(minus), slow, is_nearest, w_max, is_learning }
    }

    /// Returns the memory of the decay tables, bytes.
    pub fn n_bytes(&self) -> u64 {
        let eligibility = if let AnyLaw::Reward(law) = &self.law { Some(&law.decay) } else { None };
        let decays = [&self.plus, &self.minus].into_iter().chain(self.slow.iter().flatten()).chain(eligibility);
        decays.map(|decay| 4 * decay.table.capacity() as u64).sum()
    }

    /// Returns the change of a weight per eligibility at the end of an interval with this number of spikes of the modulating
    /// population; 0 without eligibility.
    pub fn gain(&self, spikes: u32) -> f32 {
        if let AnyLaw::Reward(law) = &self.law { law.third.gain(spikes) } else { 0.0 }
    }

    /// Returns the third factor, Hz, after an interval with this number of spikes of the modulating population; `None` without
    /// eligibility.
    pub fn third_factor(&self, spikes: u32) -> Option<f32> {
        if let AnyLaw::Reward(law) = &self.law { Some(law.third.at(spikes) as f32) } else { None }
    }

    /// Returns a trace after a spike, from its value at the previous spike and the decay since.
    #[inline]
    pub fn trace(&self, before: f32, decay: f32) -> f32 {
        if self.is_nearest { 1.0 } else { before * decay + 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_exact_where_they_can_be() {
        assert_eq!([power(0.3, 0.0), power(0.3, 1.0), power(-0.3, 1.0), power(0.0, 0.4)], [1.0, 0.3, -0.3, 0.0]);
        for x in [1e-6_f32, 0.02, 0.7, 45.61, 3e4] {
            let (found, expected) = (f64::from(power(x, 0.4)), f64::from(x).powf(0.4));
            assert!((found / expected - 1.0).abs() < 2e-6, "{x}: {found} {expected}");
        }
    }

    #[test]
    fn bounds_have_a_positive_zero() {
        assert_eq!([-1.0, -0.0, 0.5, 2.0].map(|w| bounded(w, 1.0).to_bits()), [0.0, 0.0, 0.5, 1.0].map(f32::to_bits));
    }
}
