//! The postsynaptic unit: CaMKII, PP1, BDNF, and the fast and slow gains of outputs.

use super::matrices::{multiply, multiply_transposed, transposed_multiply};
use neuropil::{kinds::synaptic::postsynaptic::Gains, nn::real::Real};

/// Constants of the online writes. Rates are per call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// Factor of fast gains and fast weights at each write.
    pub fast_decay: f64,
    /// Learning rate of fast gains and weights.
    pub fast_lr: f64,
    /// Learning rate of slow gains and weights.
    pub slow_lr: f64,
    /// Factor of the eligibility traces at each write.
    pub trace_decay: f64,
    /// Rise of CaMKII.
    pub camkii_up: f64,
    /// Calcium above which CaMKII rises.
    pub camkii_threshold: f64,
    /// Factor of PP1 at each write.
    pub pp1_retain: f64,
    /// Calcium below which PP1 rises.
    pub pp1_threshold: f64,
    /// Factor of BDNF at each write.
    pub bdnf_retain: f64,
    /// Gain of slow writes by BDNF where `bdnf_gamma` is not positive.
    pub bdnf_scale: f64,
    /// Gain of slow writes by BDNF.
    pub bdnf_gamma: f64,
    /// Largest BDNF.
    pub bdnf_max: f64,
    /// Whether BDNF follows the size of Hebbian changes; otherwise it follows CaMKII above 0.5.
    pub bdnf_follows_writes: bool,
}

impl Default for Constants {
    fn default() -> Self {
        Self {
            fast_decay: 0.95,
            fast_lr: 1.5e-3,
            slow_lr: 5e-4,
            trace_decay: 0.96,
            camkii_up: 0.05,
            camkii_threshold: 1.0,
            pp1_retain: 0.985,
            pp1_threshold: 0.7,
            bdnf_retain: 0.985,
            bdnf_scale: 1.0,
            bdnf_gamma: 0.0,
            bdnf_max: 10.0,
            bdnf_follows_writes: true,
        }
    }
}

/// Parameters and state of a unit of O outputs with R traces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit<R> {
    /// Traces R.
    pub rank: usize,
    /// Fast gains \[O\].
    pub fast: Vec<R>,
    /// Slow gains \[O\].
    pub slow: Vec<R>,
    /// Mixing of outputs, \[O, R\].
    pub u: Vec<R>,
    /// Mixing of outputs, \[R, O\].
    pub v: Vec<R>,
    /// CaMKII \[O\].
    pub camkii: Vec<R>,
    /// PP1 \[O\].
    pub pp1: Vec<R>,
    /// BDNF \[O\].
    pub bdnf: Vec<R>,
    /// Mean size of the Hebbian changes \[O\].
    pub bdnf_drive: Vec<R>,
}

/// Gradients of the parameters of a unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitGradients<R> {
    /// Of `fast` and of `slow`, which have the same.
    pub gain: Vec<R>,
    /// Of `u`.
    pub u: Vec<R>,
    /// Of `v`.
    pub v: Vec<R>,
}

impl<R: Real> Unit<R> {
    /// `y (1 + fast + slow) + y U V` of rows \[N, O\].
    pub fn forward(&self, y: &[R]) -> Vec<R> {
        let mut out = multiply(&multiply(y, &self.u, self.rank), &self.v, self.fast.len());
        for (out, y) in out.chunks_mut(self.fast.len()).zip(y.chunks(self.fast.len())) {
            for (o, out) in out.iter_mut().enumerate() {
                *out += y[o] * (R::one() + self.fast[o] + self.slow[o]);
            }
        }
        out
    }

    /// Gradients of the input rows and of the parameters.
    pub fn backward(&self, y: &[R], d_out: &[R]) -> (Vec<R>, UnitGradients<R>) {
        let n = self.fast.len();
        let d_mixed = multiply_transposed(d_out, &self.v, self.rank);
        let mut dy = multiply_transposed(&d_mixed, &self.u, n);
        let mut gain = vec![0.0; n];
        for ((dy, d_out), y) in dy.chunks_mut(n).zip(d_out.chunks(n)).zip(y.chunks(n)) {
            for o in 0..n {
                dy[o] += d_out[o] * (R::one() + self.fast[o] + self.slow[o]);
                gain[o] += y[o].f64() * d_out[o].f64();
            }
        }
        let u = transposed_multiply(y, &d_mixed, n, self.rank);
        let v = transposed_multiply(&multiply(y, &self.u, self.rank), d_out, self.rank, n);
        (dy, UnitGradients { gain: gain.into_iter().map(R::of).collect(), u, v })
    }

    /// CaMKII, PP1 and BDNF after a call with calcium \[O\]. CaMKII never falls, and nothing reads PP1.
    pub fn update(&mut self, with: &Constants, calcium: &[R], gains: Option<Gains>) {
        let (mut rise, mut rate) = (with.camkii_up, 1.0 - with.pp1_retain);
        if let Some(gains) = gains {
            (rise, rate) = ((gains.camkii * rise).min(1.0), (gains.pp1 * rate).clamp(0.0, 1.0));
        }
        for (o, calcium) in calcium.iter().enumerate() {
            let calcium = calcium.f64();
            let (up, down) = (calcium > with.camkii_threshold, calcium < with.pp1_threshold);
            let camkii = self.camkii[o].f64();
            let camkii = (camkii + if up { rise * (1.0 - camkii) } else { 0.0 }).clamp(0.0, 1.0);
            let pp1 = (1.0 - rate) * self.pp1[o].f64() + if down { rate } else { 0.0 };
            let drive = if with.bdnf_follows_writes { self.bdnf_drive[o].f64() } else { (camkii - 0.5).max(0.0) };
            let bdnf = with.bdnf_retain * self.bdnf[o].f64() + (1.0 - with.bdnf_retain) * drive;
            (self.camkii[o], self.pp1[o]) = (R::of(camkii), R::of(pp1));
            self.bdnf[o] = R::of(bdnf.clamp(0.0, with.bdnf_max));
        }
    }

    /// Adds the Hebbian change d \[O\] to the fast gains.
    pub fn write_fast(&mut self, with: &Constants, d: &[f64]) {
        for (fast, d) in self.fast.iter_mut().zip(d) {
            *fast = R::of(with.fast_decay * fast.f64() + with.fast_lr * d);
        }
    }

    /// Adds d to the slow gains, gated by CaMKII and amplified by BDNF. The gate is never closed: `sg(camkii - 0.5) - 0.3`.
    pub fn consolidate(&mut self, with: &Constants, d: &[f64]) {
        if with.bdnf_follows_writes {
            for (drive, d) in self.bdnf_drive.iter_mut().zip(d) {
                let mean = with.bdnf_retain * drive.f64() + (1.0 - with.bdnf_retain) * d.abs();
                *drive = R::of(mean.clamp(0.0, with.bdnf_max));
            }
        }
        for state in [&mut self.bdnf, &mut self.bdnf_drive] {
            if state.iter().any(|x| x.is_nan()) {
                state.fill(R::zero());
            }
        }
        if d.iter().any(|d| !d.is_finite()) {
            return;
        }
        let gamma = if with.bdnf_gamma > 0.0 { with.bdnf_gamma } else { with.bdnf_scale };
        for (o, d) in d.iter().enumerate() {
            let gain = 1.0 + gamma * self.bdnf[o].f64();
            let gain = if gain.is_finite() { gain } else { 1.0 };
            let gate = 1.0 / (1.0 + (0.5 - self.camkii[o].f64()).exp()) - 0.3;
            self.slow[o] += R::of(with.slow_lr * gain * d * gate);
        }
    }
}

/// The Hebbian change of gains from traces `u` \[I, R\] and `v` \[R, O\]: the diagonal of `D = u v` where it is square, else
/// the mean of its rows.
pub fn hebbian_change<R: Real>(u: &[R], v: &[R], rank: usize) -> Vec<f64> {
    let (inputs, outputs) = (u.len() / rank, v.len() / rank);
    let product = |i: usize, o: usize| (0..rank).map(|r| u[i * rank + r].f64() * v[r * outputs + o].f64()).sum::<f64>();
    let mean = |o: usize| (0..inputs).map(|i| product(i, o)).sum::<f64>() / inputs as f64;
    (0..outputs).map(|o| if inputs == outputs { product(o, o) } else { mean(o) }).collect()
}
