//! The Hill model: fractions in [0, 1], two Hill sensors, one release factor per query.
//!
//! [`forward`] updates the state of each position once, from the caller's; [`recurrent`] continues with the state of the
//! position before, from a start of its own.

use neuropil::kinds::synaptic::presynaptic::step::{clip, sigmoid, softplus};

/// Constants; time constants in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HillConstants {
    /// Time constant of calcium: 0.85 steps, the number that the live model uses as a factor.
    pub ca_tau: f64,
    /// Time constant of the calcium buffer.
    pub tau_buf: f64,
    /// Time constant of priming.
    pub tau_prime: f64,
    /// Time constant of the readily releasable pool.
    pub tau_rrp: f64,
    /// Time constant of energy.
    pub tau_energy: f64,
    /// Calcium influx.
    pub alpha_ca: f64,
    /// Binding of calcium to the buffer.
    pub alpha_buf_on: f64,
    /// Release of calcium from the buffer.
    pub alpha_buf_off: f64,
    /// Priming.
    pub alpha_prime: f64,
    /// Loss of priming per release.
    pub alpha_unprime: f64,
    /// Refill from the reserve.
    pub alpha_refill: f64,
    /// Energy per step.
    pub energy_in: f64,
    /// Energy per release.
    pub energy_cost_rel: f64,
    /// Energy for what is missing in the reserve.
    pub energy_cost_pump: f64,
    /// Calcium at half activation of the fast sensor.
    pub syt_fast_kd: f64,
    /// Calcium at half activation of the slow sensor.
    pub syt_slow_kd: f64,
    /// Added to the clamp.
    pub complexin_bias: f64,
    /// Largest quantal size.
    pub qmax: f64,
    /// Slope of the quantal size in energy.
    pub q_beta: f64,
    /// Slope of the distance penalty.
    pub barrier_strength: f64,
    /// Smallest effect.
    pub epsilon: f64,
}

impl Default for HillConstants {
    fn default() -> Self {
        Self {
            ca_tau: 0.85,
            tau_buf: 4.0,
            tau_prime: 5.0,
            tau_rrp: 40.0,
            tau_energy: 50.0,
            alpha_ca: 0.55,
            alpha_buf_on: 0.1,
            alpha_buf_off: 0.1,
            alpha_prime: 0.1,
            alpha_unprime: 0.1,
            alpha_refill: 0.1,
            energy_in: 0.01,
            energy_cost_rel: 0.015,
            energy_cost_pump: 0.01,
            syt_fast_kd: 0.4,
            syt_slow_kd: 1.0,
            complexin_bias: 0.0,
            qmax: 2.0,
            q_beta: 1.0,
            barrier_strength: 0.1,
            epsilon: 1e-6,
        }
    }
}

/// State of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HillState {
    /// Calcium.
    pub calcium: f64,
    /// Bound buffer.
    pub buffer: f64,
    /// Readily releasable fraction.
    pub rrp: f64,
    /// Reserve fraction.
    pub reserve: f64,
    /// Primed fraction.
    pub primed: f64,
    /// Clamp.
    pub clamp: f64,
    /// Energy.
    pub energy: f64,
}

/// Start of [`recurrent`]; the clamp is the caller's.
const START: HillState =
    HillState { calcium: 0.0, buffer: 0.0, rrp: 0.8, reserve: 0.2, primed: 0.6, clamp: 0.0, energy: 0.8 };
const ENERGY_MAX: f64 = 1.6;
/// Largest size of a logit that drives calcium; a masked key counts as the negative one.
const LOGIT_MAX: f64 = 20.0;

/// One head: `q` and `k` are `[positions, dim]`, `logits` and `mask` `[positions, positions]`.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// Size of a query.
    pub dim: usize,
    /// Queries.
    pub q: &'a [f64],
    /// Keys.
    pub k: &'a [f64],
    /// Attention logits.
    pub logits: &'a [f64],
    /// Keys that drive calcium; all if absent.
    pub mask: Option<&'a [bool]>,
}

impl Head<'_> {
    fn positions(&self) -> usize {
        self.q.len() / self.dim
    }

    /// Mean influx of a position.
    fn influx(&self, t: usize) -> f64 {
        let row = t * self.positions();
        let logit = |j: usize| {
            let is_masked = self.mask.is_some_and(|mask| !mask[row + j]);
            if is_masked { -LOGIT_MAX } else { clip(self.logits[row + j], -LOGIT_MAX, LOGIT_MAX) }
        };
        (0..=t).map(|j| softplus::<f64>(logit(j)).0).sum::<f64>() / (t + 1) as f64
    }

    /// `sg(q·k / sqrt(dim))`.
    fn affinity(&self, t: usize, j: usize) -> f64 {
        let (q, k) = (&self.q[t * self.dim..(t + 1) * self.dim], &self.k[j * self.dim..(j + 1) * self.dim]);
        sigmoid::<f64>(q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() / (self.dim as f64).sqrt())
    }

    /// One position: its state, and `release·quantal size` of the keys up to it.
    fn step(&self, c: &HillConstants, t: usize, s: HillState, scale_above: f64) -> (HillState, Vec<f64>) {
        let retain = |tau: f64| (-1.0 / tau).exp();
        let flux = c.alpha_buf_on * s.calcium * (1.0 - s.buffer) - c.alpha_buf_off * s.buffer;
        let calcium = (retain(c.ca_tau) * s.calcium + c.alpha_ca * self.influx(t) - flux).max(0.0);
        let buffer = clip(retain(c.tau_buf) * s.buffer + flux, 0.0, 1.0);
        let primed = clip(retain(c.tau_prime) * s.primed + c.alpha_prime * (1.0 - s.primed), 0.0, 1.0);
        let rrp = clip(retain(c.tau_rrp) * s.rrp + c.alpha_refill * s.reserve, 0.0, 1.0);
        let reserve = clip((1.0 - c.alpha_refill) * s.reserve, 0.0, 1.0);
        let energy = clip(retain(c.tau_energy) * s.energy + c.energy_in, 0.0, ENERGY_MAX);
        let sensors = 0.7 * calcium / (calcium + c.syt_fast_kd) + 0.3 * calcium / (calcium + c.syt_slow_kd);
        let fusion = sigmoid::<f64>(3.0 * sensors + 2.0 * primed - 2.0 * (s.clamp + c.complexin_bias));
        let mut released: Vec<f64> = (0..=t).map(|j| clip(fusion * self.affinity(t, j) * rrp, 0.0, 1.0)).collect();
        let sum: f64 = released.iter().sum();
        let scale = if sum > scale_above { (rrp / sum).min(1.0) } else { 1.0 };
        released.iter_mut().for_each(|r| *r *= scale);
        let used: f64 = released.iter().sum();
        let reserve = clip(reserve + used, 0.0, 1.0);
        let cost = c.energy_cost_rel * used + c.energy_cost_pump * (1.0 - reserve);
        let after = HillState {
            calcium,
            buffer,
            rrp: clip(rrp - used, 0.0, 1.0),
            reserve,
            primed: clip(primed - c.alpha_unprime * used, 0.0, 1.0),
            clamp: s.clamp,
            energy: clip(energy - cost, 0.0, ENERGY_MAX),
        };
        let quantum = c.qmax * sigmoid::<f64>(c.q_beta * (after.energy - 0.5));
        released.iter_mut().for_each(|r| *r *= quantum);
        (after, released)
    }
}

/// Bias `[positions, positions]`, `ln(epsilon)` above the diagonal; each state is updated once.
pub fn forward(c: &HillConstants, head: &Head<'_>, states: &mut [HillState]) -> Vec<f64> {
    let n = head.positions();
    let mut bias = vec![c.epsilon.ln(); n * n];
    for (t, state) in states.iter_mut().enumerate() {
        let (after, effects) = head.step(c, t, *state, c.epsilon);
        *state = after;
        for (j, effect) in effects.into_iter().enumerate() {
            bias[t * n + j] = effect.max(c.epsilon).ln() - c.barrier_strength * (t - j) as f64 / n as f64;
        }
    }
    bias
}

/// Logits with the bias added up to the diagonal, and the states after each position; `clamp` is one number per position.
pub fn recurrent(c: &HillConstants, head: &Head<'_>, clamp: &[f64]) -> (Vec<f64>, Vec<HillState>) {
    let n = head.positions();
    let (mut logits, mut state, mut states) = (head.logits.to_vec(), START, vec![]);
    for (t, clamp) in clamp.iter().enumerate() {
        let (after, effects) = head.step(c, t, HillState { clamp: *clamp, ..state }, 0.0);
        for (j, effect) in effects.into_iter().enumerate() {
            logits[t * n + j] += (effect + c.epsilon).ln() - c.barrier_strength * (t - j) as f64 / n as f64;
        }
        state = after;
        states.push(after);
    }
    (logits, states)
}
