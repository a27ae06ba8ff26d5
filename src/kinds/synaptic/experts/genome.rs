//! Genes of an expert and the rates that they encode.
//!
//! | gene | rate | formula | range | at 0 |
//! | --- | --- | --- | --- | --- |
//! | 0 | fatigue rate | `0.01 (2 s(x) + 0.1)` | 0.001 to 0.021 | 0.011 |
//! | 1 | energy rate | `0.005 (2 s(x) + 0.1)` | 0.0005 to 0.0105 | 0.0055 |
//! | 2 | CaMKII gain | `ln(1 + e^(x + 1))` | above 0 | 1.3133 |
//! | 3 | PP1 gain | `ln(1 + e^(x + 0.5))` | above 0 | 0.9741 |
//!
//! s is the logistic function. Genes are inherited and mutated at a split; they are not trained.

use super::GENES;
use crate::nn::real::Real;

/// Rates and gains that a genome encodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phenotype {
    /// Rate of the average of the load, per step.
    pub fatigue_rate: f64,
    /// Rate of the average of the energy budget, per step.
    pub energy_rate: f64,
    /// Gain of the rise of CaMKII.
    pub camkii_gain: f64,
    /// Gain of the rate of PP1.
    pub pp1_gain: f64,
}

impl Phenotype {
    /// Decodes a genome of [`GENES`] genes.
    pub fn of<R: Real>(genes: &[R]) -> Self {
        let [fatigue, energy, camkii, pp1] = std::array::from_fn(|g| genes[g].f64());
        Self {
            fatigue_rate: 0.01 * (2.0 * logistic(fatigue) + 0.1),
            energy_rate: 0.005 * (2.0 * logistic(energy) + 0.1),
            camkii_gain: softplus(camkii + 1.0),
            pp1_gain: softplus(pp1 + 0.5),
        }
    }

    /// Returns the values in the order of the genes.
    pub const fn values(&self) -> [f64; GENES] {
        [self.fatigue_rate, self.energy_rate, self.camkii_gain, self.pp1_gain]
    }

    /// Creates a phenotype from values in the order of [`Phenotype::values`].
    pub const fn from_values([fatigue_rate, energy_rate, camkii_gain, pp1_gain]: [f64; GENES]) -> Self {
        Self { fatigue_rate, energy_rate, camkii_gain, pp1_gain }
    }

    /// Returns the derivatives of the fatigue rate with respect to gene 0, and of the energy rate with respect to gene 1.
    pub fn slopes<R: Real>(genes: &[R]) -> [f64; 2] {
        let slope = |x: f64| 2.0 * logistic(x) * (1.0 - logistic(x));
        [0.01 * slope(genes[0].f64()), 0.005 * slope(genes[1].f64())]
    }
}

/// Computes `1 / (1 + e^-x)`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Computes `ln(1 + e^x)`. Above 20, returns x, which is equal up to rounding.
fn softplus(x: f64) -> f64 {
    if x > 20.0 { x } else { x.exp().ln_1p() }
}
