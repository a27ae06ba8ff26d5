//! Readings of plastic weights: mean, standard deviation, histogram and third factor. Sums over weights are integers, so that they
//! depend neither on the order of the synapses nor on the backend.

use super::{
    constants::steps_from_ms,
    general::{Plasticity, homeostasis::plan::units_per_weight},
    params::{Params, Source},
    probes::{MEAN_WEIGHT, PROJECTIONS, THIRD_FACTOR, WEIGHT_SD, WEIGHTS},
    synapse_readings::SynapseReadings,
};
use crate::sim::{ElementSet, Histogram, ProbeId, Reading, Series};
use std::sync::Arc;

/// Number of bins of a histogram, from a weight of 0 to the maximum weight.
pub const N_BINS: usize = 200;
/// Largest number of units of a weight. Weights exceed the maximum if it was lowered.
const MAX_UNITS: i64 = 1 << 44;

/// Probes of weights.
pub const WEIGHT_PROBES: [ProbeId; 4] = [MEAN_WEIGHT, WEIGHT_SD, WEIGHTS, THIRD_FACTOR];

/// Sums over the weights of a projection.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightSums {
    w_max: f32,
    /// Units per weight, a power of two.
    scale: f64,
    n: u64,
    sum: i128,
    squares: i128,
    bins: Vec<u64>,
    /// Third factor of the last update interval, Hz; `None` without eligibility.
    pub third_factor: Option<f32>,
}

impl WeightSums {
    /// Creates sums over no weights of a projection with a maximum weight.
    pub fn new(w_max: f32) -> Self {
        let scale = units_per_weight(w_max);
        Self { w_max, scale, n: 0, sum: 0, squares: 0, bins: vec![0; N_BINS], third_factor: None }
    }

    /// Adds the weights of synapses of the projection.
    pub fn add(&mut self, weights: &[f32]) {
        for w in weights {
            let units = ((f64::from(*w) * self.scale).round() as i64).clamp(-MAX_UNITS, MAX_UNITS);
            self.sum += i128::from(units);
            self.squares += i128::from(units) * i128::from(units);
            let bin = (w.abs() / self.w_max * N_BINS as f32) as usize;
            self.bins[bin.min(N_BINS - 1)] += 1;
        }
        self.n += weights.len() as u64;
    }

    /// Returns the mean; NaN without weights.
    pub fn mean(&self) -> f32 {
        (self.sum as f64 / self.n as f64 / self.scale) as f32
    }

    /// Returns the standard deviation, with n in the denominator; NaN without weights.
    pub fn sd(&self) -> f32 {
        let n = i128::from(self.n);
        // Exact unless the product overflows.
        let exact = || n.checked_mul(self.squares)?.checked_sub(self.sum.checked_mul(self.sum)?);
        let spread = exact().map_or_else(
            || (n as f64 * self.squares as f64 - self.sum as f64 * self.sum as f64).max(0.0),
            |spread| spread as f64,
        );
        (spread.sqrt() / n as f64 / self.scale) as f32
    }
}

/// Returns index and name, such as `E → E`, of each projection of a network from rules with changing weights.
pub fn learning_projections(params: &Params) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = vec![];
    if params.network.source != Source::Rules {
        return found;
    }
    for (i, of) in params.projections.iter().enumerate().filter(|(_, of)| of.plasticity.w_max().is_some()) {
        let name = format!("{} → {}", of.from.trim(), of.to.trim());
        let numbered = (2..).map(|k| format!("{name} ({k})"));
        let is_free = |name: &String| found.iter().all(|(_, used)| used != name);
        let free = std::iter::once(name.clone()).chain(numbered).find(is_free);
        found.push((i, free.unwrap_or(name)));
    }
    found
}

/// Returns the element set of the projections with changing weights; `None` if there are none.
pub fn projection_set(params: &Params) -> Option<Arc<ElementSet>> {
    let names: Vec<String> = learning_projections(params).into_iter().map(|(_, name)| name).collect();
    let len = names.len() as u32;
    (len > 0).then(|| Arc::new(ElementSet { name: PROJECTIONS, len, names, ..ElementSet::default() }))
}

/// Samples of the tapped probes of weights until they are taken.
#[derive(Debug, Default)]
pub struct WeightReadings {
    /// Names of the projections.
    names: Vec<String>,
    /// Names of those with a third factor.
    modulated: Vec<String>,
    /// Number of steps between samples.
    every: u64,
    /// Whether each of [`WEIGHT_PROBES`] is tapped.
    tapped: [bool; WEIGHT_PROBES.len()],
    /// Mean, standard deviation, and third factor.
    series: [Series; 3],
    histogram: Histogram,
    /// Samples of single synapses, at the same steps.
    pub synapses: SynapseReadings,
}

impl WeightReadings {
    /// Creates readings without taps.
    pub fn new(params: &Params) -> Self {
        let all = learning_projections(params);
        let is_modulated = |i: usize| matches!(params.projections[i].plasticity, Plasticity::RewardStdp(_));
        let modulated = all.iter().filter(|(i, _)| is_modulated(*i)).map(|(_, name)| name.clone()).collect();
        let names = all.into_iter().map(|(_, name)| name).collect();
        let edges = Arc::new((0..=N_BINS).map(|i| i as f32 / N_BINS as f32).collect());
        let histogram = Histogram { edges, ..Histogram::default() };
        let mut readings = Self { names, modulated, histogram, ..Self::default() };
        readings.configure(params);
        readings
    }

    /// Applies a changed interval.
    pub fn configure(&mut self, params: &Params) {
        self.every = steps_from_ms(params.rules.weight_interval_ms, params.dt_ms()).max(1);
    }

    /// Returns the names of the projections.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the names of the projections with a third factor.
    pub fn modulated(&self) -> &[String] {
        &self.modulated
    }

    /// Sets the taps. Probes that stay tapped keep their samples.
    pub fn tap(&mut self, tapped: [bool; WEIGHT_PROBES.len()]) {
        let before = std::mem::replace(&mut self.tapped, tapped);
        for (i, probe) in WEIGHT_PROBES.into_iter().enumerate() {
            if !(before[i] && tapped[i]) {
                drop(self.take(probe));
            }
        }
    }

    /// Returns the first step after `step` at whose end weights are read; `u64::MAX` if no probe is tapped.
    pub fn next_due(&self, step: u64) -> u64 {
        if self.needs_sums() || !self.synapses.places().is_empty() {
            (step / self.every + 1) * self.every
        } else {
            u64::MAX
        }
    }

    /// Whether a probe of sums over weights is read.
    pub fn needs_sums(&self) -> bool {
        self.tapped.contains(&true) && !self.names.is_empty()
    }

    /// Adds a sample after `completed` steps, with sums by projection.
    pub fn push(&mut self, completed: u64, sums: &[WeightSums]) {
        let values: [fn(&WeightSums) -> f32; 2] = [WeightSums::mean, WeightSums::sd];
        for (i, value) in values.into_iter().enumerate().filter(|(i, _)| self.tapped[*i]) {
            self.series[i].steps.push(completed);
            self.series[i].values.extend(sums.iter().map(value));
        }
        if self.tapped[3] {
            self.series[2].steps.push(completed);
            self.series[2].values.extend(sums.iter().filter_map(|of| of.third_factor));
        }
        if self.tapped[2] {
            let count = |bin: usize| sums.iter().map(|of| of.bins[bin]).sum::<u64>() as f32;
            self.histogram.steps.push(completed);
            self.histogram.counts.extend((0..N_BINS).map(count));
        }
    }

    /// Takes the samples of a probe since the last call; `None` for other probes.
    pub fn take(&mut self, probe: ProbeId) -> Option<Reading> {
        let lanes = |names: &[String]| names.len().max(1) as u32;
        Some(match WEIGHT_PROBES.iter().position(|p| *p == probe)? {
            2 => {
                let next = Histogram { edges: self.histogram.edges.clone(), ..Histogram::default() };
                Reading::Histogram(std::mem::replace(&mut self.histogram, next))
            }
            3 => Reading::Series(Series { lanes: lanes(&self.modulated), ..std::mem::take(&mut self.series[2]) }),
            i => Reading::Series(Series { lanes: lanes(&self.names), ..std::mem::take(&mut self.series[i]) }),
        })
    }

    /// Drops samples that were not taken.
    pub fn drop_unread(&mut self) {
        WEIGHT_PROBES.into_iter().for_each(|probe| drop(self.take(probe)));
        self.synapses.drop_unread();
    }

    /// Returns the allocated memory, bytes.
    pub fn n_bytes(&self) -> u64 {
        let series: usize = self.series.iter().map(|s| s.values.capacity() * 4 + s.steps.capacity() * 8).sum();
        (series + self.histogram.counts.capacity() * 4 + self.histogram.steps.capacity() * 8) as u64
            + self.synapses.n_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_depend_on_no_order_and_are_those_of_double_precision() {
        for (w_max, offset) in [(200.0_f32, 40.0_f32), (3e-7, 1e-7), (2000.0, -228.0), (1.0, 4.0)] {
            let of = |i: u32| offset + w_max * 0.01 * (i as f32 * 0.37).sin();
            let mut weights: Vec<f32> = (0..10_000).map(of).collect();
            let mut sums = WeightSums::new(w_max);
            sums.add(&weights);
            let n = weights.len() as f64;
            let mean = weights.iter().map(|w| f64::from(*w)).sum::<f64>() / n;
            let sd = (weights.iter().map(|w| (f64::from(*w) - mean).powi(2)).sum::<f64>() / n).sqrt();
            assert!((f64::from(sums.mean()) / mean - 1.0).abs() < 1e-6, "{} {mean}", sums.mean());
            assert!((f64::from(sums.sd()) / sd - 1.0).abs() < 1e-5, "{} {sd}", sums.sd());
            weights.reverse();
            let mut reversed = WeightSums::new(w_max);
            weights.chunks(7).for_each(|part| reversed.add(part));
            assert_eq!(sums, reversed);
            assert_eq!(sums.bins.iter().sum::<u64>(), 10_000);
        }
        let mut equal = WeightSums::new(100.0);
        equal.add(&[0.1; 3]);
        assert!((equal.mean() / 0.1 - 1.0).abs() < 1e-6, "{}", equal.mean());
        assert_eq!((equal.sd(), equal.bins[0]), (0.0, 3));
    }
}
