//! Coefficients of the step: the exact propagators of each population. A coefficient has one value for a population, or
//! one for each neuron if a parameter has a distribution or stimuli act on neurons.

use super::{
    ExternalInput, InputSource, PointNeuron,
    homeostasis::state::Thresholds,
    plan::{BLOCK, Plan, RECEPTORS},
};
use crate::{
    kinds::spiking::{params::Params, stimuli::ActiveStimuli},
    num::rng::{Draw, Purpose},
    params::Distribution,
};

/// Indices of the coefficients of a neuron. u is the membrane potential above rest.
pub mod index {
    /// Decay of u.
    pub const DECAY: usize = 0;
    /// Constant increment of u, mV.
    pub const DRIVE: usize = 1;
    /// Threshold above rest, mV.
    pub const THETA: usize = 2;
    /// u after a spike, mV.
    pub const RESET: usize = 3;
    /// Number of refractory steps.
    pub const REFRACTORY: usize = 4;
    /// Resting potential, mV.
    pub const REST: usize = 5;
    /// Contribution of the current of each receptor to u.
    pub const TO_U: [usize; 2] = [6, 7];
    /// Decay of the variables of each receptor.
    pub const SYNAPTIC_DECAY: [usize; 2] = [8, 9];
    /// Value of a unit of the sums of each receptor.
    pub const UNIT: [usize; 2] = [10, 11];
    /// Alpha synapses: contribution of the second variable of each receptor to u.
    pub const RISE_TO_U: [usize; 2] = [12, 13];
    /// Alpha synapses: contribution of the second variable of each receptor to its current.
    pub const RISE_TO_CURRENT: [usize; 2] = [14, 15];
    /// Number of coefficients.
    pub const COUNT: usize = 16;
}
use index::COUNT;

/// Place of a coefficient in [`Coefficients::values`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the first value.
    pub offset: u32,
    /// 1 if each neuron has its value, 0 if one value serves all neurons; equal for all coefficients of a population.
    pub stride: u32,
}

/// Coefficients of all populations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// Values of all coefficients.
    pub values: Vec<f32>,
    /// Place of each coefficient, by population.
    pub places: Vec<[Place; COUNT]>,
}

impl Coefficients {
    /// Derives the coefficients of the parameters, under the active stimuli, with raised thresholds.
    pub fn derive(
        params: &Params,
        plan: &Plan,
        seed: u64,
        stimuli: &ActiveStimuli<f32>,
        thresholds: &Thresholds,
    ) -> Self {
        let mut all = Self::default();
        for i in 0..plan.populations.len() {
            all.add(&Population { params, plan, seed, stimuli, thresholds, index: i });
        }
        all
    }

    fn add(&mut self, population: &Population<'_>) {
        let of = &population.plan.populations[population.index];
        let first = population.of(of.first);
        let mut rows = vec![first];
        if population.varies() {
            rows.extend((1..of.n).map(|i| population.of(of.first + i)));
        }
        let padded = of.n.next_multiple_of(BLOCK) as usize;
        let places = std::array::from_fn(|c| {
            let offset = self.values.len() as u32;
            self.values.extend(rows.iter().map(|row| row[c]));
            if rows.len() > 1 {
                self.values.resize(offset as usize + padded, first[c]);
            }
            Place { offset, stride: (rows.len() > 1).into() }
        });
        self.places.push(places);
    }

    /// Returns a coefficient of a neuron, given by its index in the population.
    pub fn value(&self, population: usize, coefficient: usize, neuron: u32) -> f32 {
        let place = self.places[population][coefficient];
        self.values[(place.offset + place.stride * neuron) as usize]
    }
}

/// Population from which coefficients are computed.
struct Population<'a> {
    params: &'a Params,
    plan: &'a Plan,
    seed: u64,
    stimuli: &'a ActiveStimuli<f32>,
    thresholds: &'a Thresholds,
    index: usize,
}

impl Population<'_> {
    /// Returns the external currents of the population.
    fn currents(&self) -> impl Iterator<Item = (usize, Distribution)> {
        let name = &self.plan.populations[self.index].name;
        let own = move |input: &&ExternalInput| input.population.trim() == name;
        self.params.external_inputs.iter().filter(own).enumerate().filter_map(|(i, input)| match &input.source {
            InputSource::Current(current) => Some((i, current.amplitude)),
            InputSource::Poisson(_) | InputSource::Patterns(_) => None,
        })
    }

    /// Whether the coefficients of neurons may differ.
    fn varies(&self) -> bool {
        let model = &self.params.populations[self.index].model;
        let mut is_drawn = !self.stimuli.currents.is_empty() || !self.stimuli.driven.is_empty();
        is_drawn |= self.thresholds.has(self.index);
        values_of(model, |d, _| {
            is_drawn |= d.as_constant().is_none();
            0.0
        });
        is_drawn || self.currents().any(|(_, d)| d.as_constant().is_none())
    }

    /// Returns the coefficients of a neuron.
    fn of(&self, neuron: u32) -> [f32; COUNT] {
        let draw = |d: Distribution, parameter: u64| {
            d.draw(Draw { seed: self.seed, purpose: Purpose::Parameter, step: parameter, lane: neuron })
        };
        let population = &self.plan.populations[self.index];
        let model = &self.params.populations[self.index].model;
        let mut values = values_of(model, draw);
        values.i_e += self.currents().map(|(i, d)| draw(d, 1000 + i as u64)).sum::<f64>();
        values.extra_mv = f64::from(self.stimuli.currents.get(neuron as usize).copied().unwrap_or(0.0));
        if self.stimuli.driven.get(neuron as usize).copied().unwrap_or(false) {
            values.t_ref = 0.0;
        }
        let mut out = propagators(model, &values, self.plan.dt_ms, population.exponents);
        out[index::THETA] += self.thresholds.of(self.index, neuron - population.first);
        out.map(|x| x as f32)
    }
}

/// Parameters of one neuron.
struct NeuronValues {
    /// Time constants of membrane and receptors, ms.
    tau_m: f64,
    tau_syn: [f64; RECEPTORS],
    /// Depolarisation per unit of current, mV.
    resistance: f64,
    e_l: f64,
    v_th: f64,
    v_reset: f64,
    t_ref: f64,
    i_e: f64,
    /// Additional steady-state depolarisation, mV.
    extra_mv: f64,
}

/// Evaluates the parameters of a model; `of` receives each distribution with the index of its parameter.
fn values_of(model: &PointNeuron, mut of: impl FnMut(Distribution, u64) -> f64) -> NeuronValues {
    let mut all = |c_m: Option<Distribution>, tau_syn: Option<[Distribution; 2]>, rest: [Distribution; 6]| {
        let [tau_m, e_l, v_th, v_reset, t_ref, i_e] = std::array::from_fn(|i| of(rest[i], i as u64));
        let tau_syn = tau_syn.map_or([1.0; 2], |tau| [of(tau[0], 6), of(tau[1], 7)]);
        let resistance = c_m.map_or(1.0, |c_m| tau_m / of(c_m, 8));
        NeuronValues { tau_m, tau_syn, resistance, e_l, v_th, v_reset, t_ref, i_e, extra_mv: 0.0 }
    };
    match model {
        PointNeuron::IafPscExp(m) => {
            all(Some(m.c_m), Some([m.tau_syn_ex, m.tau_syn_in]), [m.tau_m, m.e_l, m.v_th, m.v_reset, m.t_ref, m.i_e])
        }
        PointNeuron::IafPscAlpha(m) => {
            all(Some(m.c_m), Some([m.tau_syn_ex, m.tau_syn_in]), [m.tau_m, m.e_l, m.v_th, m.v_reset, m.t_ref, m.i_e])
        }
        PointNeuron::IafPscDelta(m) => all(Some(m.c_m), None, [m.tau_m, m.e_l, m.v_th, m.v_reset, m.t_ref, m.i_e]),
        PointNeuron::Cuba(m) => {
            all(None, Some([m.tau_syn_ex, m.tau_syn_in]), [m.tau_m, m.e_l, m.v_th, m.v_reset, m.t_ref, m.i_e])
        }
    }
}

/// Returns the exact propagators over one step (Rotter & Diesmann, Biol. Cybern. 81:381, 1999).
fn propagators(model: &PointNeuron, of: &NeuronValues, dt: f64, exponents: [i32; RECEPTORS]) -> [f64; COUNT] {
    use index::*;
    let mut out = [0.0; COUNT];
    let decay = (-dt / of.tau_m).exp();
    out[DECAY] = decay;
    out[DRIVE] = -(-dt / of.tau_m).exp_m1() * (of.resistance * of.i_e + of.extra_mv);
    out[THETA] = of.v_th - of.e_l;
    out[RESET] = of.v_reset - of.e_l;
    out[REFRACTORY] = (of.t_ref / dt + 1e-3).floor().max(0.0);
    out[REST] = of.e_l;
    for r in 0..RECEPTORS {
        let tau = of.tau_syn[r];
        let unit = 2_f64.powi(exponents[r]);
        let synaptic = (-dt / tau).exp();
        out[SYNAPTIC_DECAY[r]] = synaptic;
        match model {
            PointNeuron::IafPscDelta(_) => out[UNIT[r]] = unit,
            PointNeuron::IafPscExp(_) | PointNeuron::Cuba(_) => {
                out[UNIT[r]] = unit;
                out[TO_U[r]] = of.resistance * coupling(dt, of.tau_m, tau);
            }
            PointNeuron::IafPscAlpha(_) => {
                out[UNIT[r]] = unit * std::f64::consts::E / tau;
                out[TO_U[r]] = of.resistance * coupling(dt, of.tau_m, tau);
                out[RISE_TO_U[r]] = of.resistance / of.tau_m * rise(dt, of.tau_m, tau);
                out[RISE_TO_CURRENT[r]] = dt * synaptic;
            }
        }
    }
    out
}

/// Returns u of `τ_m u' = I - u` after time `t`, for a current I that is 1 at the start and decays with `tau`. The
/// formula uses `expm1`, so that it stays exact if the time constants are nearly or exactly equal.
fn coupling(t: f64, tau_m: f64, tau: f64) -> f64 {
    let (a, d) = ((-t / tau_m).exp(), (-t / tau).exp());
    let y = t * (tau_m - tau).abs() / (tau_m * tau);
    a.max(d) * (t / tau_m) * if y == 0.0 { 1.0 } else { -(-y).exp_m1() / y }
}

/// Returns u of `u' = I - u / τ_m` after time `t`, for an alpha current I = t exp(-t / tau).
fn rise(t: f64, tau_m: f64, tau: f64) -> f64 {
    let x = t * (1.0 / tau - 1.0 / tau_m);
    // The ratio is (1 - e^-x (1 + x)) / x², computed as a series for small x.
    let ratio = if x.abs() < 1e-2 {
        0.5 - x / 3.0 + x * x / 8.0 - x * x * x / 30.0 + x.powi(4) / 144.0
    } else {
        (1.0 - (-x).exp() * (1.0 + x)) / (x * x)
    };
    (-t / tau_m).exp() * t * t * ratio
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integrates with 100,000 Euler steps and compares.
    #[test]
    fn propagators_solve_the_equations() {
        for (tau_m, tau, t) in [(10.0, 0.5, 0.1), (10.0, 10.0, 0.1), (20.0, 19.99, 1.0), (5.0, 8.0, 0.5)] {
            let n = 100_000;
            let h = t / f64::from(n);
            let (mut u, mut i, mut v, mut s, mut r) = (0.0, 1.0, 0.0, 0.0, 1.0);
            for _ in 0..n {
                (u, i) = (u + h * (i - u) / tau_m, i - h * i / tau);
                (v, s, r) = (v + h * (s - v / tau_m), s + h * (r - s / tau), r - h * r / tau);
            }
            assert!((coupling(t, tau_m, tau) - u).abs() < 1e-4 * u, "{tau_m} {tau}");
            assert!((rise(t, tau_m, tau) - v).abs() < 1e-4 * v, "{tau_m} {tau}: {} {v}", rise(t, tau_m, tau));
            assert!((t * (-t / tau).exp() - s).abs() < 1e-4 * s);
        }
    }
}
