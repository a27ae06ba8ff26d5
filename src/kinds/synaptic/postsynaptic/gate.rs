//! Gates of writes: the degree to which each feature may be written, from the history of the feature's calcium.
//!
//! The calcium of a feature is its output relative to the root mean square of all features, `|y_i| / rms(y)`, so that
//! thresholds have equal meanings in every layer and throughout training.

use crate::nn::real::Real;

/// Factors of the rates of CaMKII and PP1, from the genome of an expert.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Factor of the rise of CaMKII.
    pub camkii: f64,
    /// Factor of the rate of PP1.
    pub pp1: f64,
}

/// Computes `1 / (1 + e^-x)`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Gate that opens with CaMKII and closes with PP1, `gate = sg(b (camkii - pp1))`:
///
/// ```text
/// camkii += up [c > up_threshold] (1 - camkii) - down [c < down_threshold] camkii
/// pp1    += (1 - pp1_retain) ([c < down_threshold] - pp1)
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CamkiiPp1 {
    /// Rise of CaMKII per token.
    pub up: f64,
    /// Calcium above which CaMKII rises.
    pub up_threshold: f64,
    /// Fall of CaMKII per token.
    pub down: f64,
    /// Calcium below which CaMKII falls and PP1 rises.
    pub down_threshold: f64,
    /// Share of PP1 that remains after a token.
    pub pp1_retain: f64,
    /// Steepness b. With 8, the gate is 0.02 at rest and 0.98 if CaMKII exceeds PP1 by 0.5; with 1, the gate is nearly
    /// constant.
    pub steepness: f64,
}

impl Default for CamkiiPp1 {
    fn default() -> Self {
        Self { up: 0.05, up_threshold: 1.0, down: 0.02, down_threshold: 0.7, pp1_retain: 0.985, steepness: 8.0 }
    }
}

/// Bistable efficacy rho (Graupner and Brunel 2012, doi 10.1073/pnas.1109359109), `gate = sg(b (rho - rho*))`:
///
/// ```text
/// tau drho/dt = -rho (1 - rho) (rho* - rho) + gamma_p (1 - rho) [c > theta_p] - gamma_d rho [c > theta_d]
/// ```
///
/// The equation is integrated by Euler steps of one token. Without calcium, rho tends to 0 below rho* and to 1 above it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latch {
    /// Time constant tau, tokens. The default is 700 s at 20 tokens per second.
    pub tau: f64,
    /// Rate of potentiation gamma_p, while calcium exceeds theta_p.
    pub gamma_p: f64,
    /// Rate of depression gamma_d, while calcium exceeds theta_d.
    pub gamma_d: f64,
    /// Calcium threshold of potentiation, theta_p.
    pub theta_p: f64,
    /// Calcium threshold of depression, theta_d.
    pub theta_d: f64,
    /// Border rho* between the two states.
    pub border: f64,
    /// Steepness b of the gate around rho*.
    pub steepness: f64,
}

impl Default for Latch {
    fn default() -> Self {
        Self { tau: 14_000.0, gamma_p: 1600.0, gamma_d: 300.0, theta_p: 1.3, theta_d: 1.0, border: 0.5, steepness: 8.0 }
    }
}

/// Method by which writes are gated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gate {
    /// The gate is 1 for every feature.
    Open,
    /// The gate depends on CaMKII and PP1.
    CamkiiPp1(CamkiiPp1),
    /// The gate depends on a bistable efficacy.
    Latch(Latch),
}

impl Default for Gate {
    fn default() -> Self {
        Self::CamkiiPp1(CamkiiPp1::default())
    }
}

/// State of the gates of a layer, one per feature.
#[derive(Clone, Debug, PartialEq)]
pub struct GateState<R> {
    /// CaMKII, or the efficacy of a latch; 0..=1, `[C]`.
    pub camkii: Vec<R>,
    /// Activity of PP1, 0..=1, `[C]`; a latch does not use it.
    pub pp1: Vec<R>,
}

impl<R: Real> GateState<R> {
    /// Creates the gates at rest: CaMKII 0 and PP1 0.5.
    pub fn rest(features: usize) -> Self {
        Self { camkii: vec![R::zero(); features], pp1: vec![R::of(0.5); features] }
    }
}

impl Gate {
    /// Computes the opening of the gate of a feature, 0..=1.
    pub fn opening<R: Real>(&self, state: &GateState<R>, feature: usize) -> f64 {
        match self {
            Self::Open => 1.0,
            Self::CamkiiPp1(op) => logistic(op.steepness * (state.camkii[feature].f64() - state.pp1[feature].f64())),
            Self::Latch(op) => logistic(op.steepness * (state.camkii[feature].f64() - op.border)),
        }
    }

    /// Updates the gate of a feature from the feature's calcium. The gains come from the genomes of the experts that
    /// computed the output: they scale the rise of CaMKII (or potentiation) and the rate of PP1 (or depression).
    pub fn update<R: Real>(&self, state: &mut GateState<R>, feature: usize, calcium: f64, gains: Gains) {
        let camkii = state.camkii[feature].f64();
        match self {
            Self::Open => {}
            Self::CamkiiPp1(op) => {
                let (rises, falls) = (calcium > op.up_threshold, calcium < op.down_threshold);
                let rise = if rises { (gains.camkii * op.up).min(1.0) * (1.0 - camkii) } else { 0.0 };
                let fall = if falls { op.down * camkii } else { 0.0 };
                let rate = (gains.pp1 * (1.0 - op.pp1_retain)).clamp(0.0, 1.0);
                let pp1 = state.pp1[feature].f64();
                state.camkii[feature] = R::of((camkii + rise - fall).clamp(0.0, 1.0));
                state.pp1[feature] = R::of(pp1 + rate * (if falls { 1.0 } else { 0.0 } - pp1));
            }
            Self::Latch(op) => {
                let drift = -camkii * (1.0 - camkii) * (op.border - camkii);
                let up = if calcium > op.theta_p { gains.camkii * op.gamma_p * (1.0 - camkii) } else { 0.0 };
                let down = if calcium > op.theta_d { gains.pp1 * op.gamma_d * camkii } else { 0.0 };
                state.camkii[feature] = R::of((camkii + (drift + up - down) / op.tau.max(1.0)).clamp(0.0, 1.0));
            }
        }
    }
}
