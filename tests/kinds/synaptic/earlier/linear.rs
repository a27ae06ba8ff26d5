//! A linear layer with slow and fast weights, both trained, and outputs with gains that are written after every call without
//! gradients:
//!
//! ```text
//! g = clip(calcium energy, 0, 1) per row;  z = x w_slow + g (x w_fast) + bias;  y = z (1 + fast + slow) + z U V
//! ```
//!
//! The writes feed back on their own outputs, and a model that runs with them diverges within about a hundred bytes.

use super::{
    matrices::{multiply, multiply_transposed, transposed_multiply},
    unit::{Constants, Unit, UnitGradients, hebbian_change},
};
use neuropil::{
    kinds::synaptic::postsynaptic::Gains,
    nn::{
        lengths::LengthError,
        norm::{self, Norm, NormKind},
        real::Real,
    },
};

/// Part of the mean input and output that a write adds to the traces.
const TRACE_RATE: f64 = 0.05;
/// Largest calcium of a write.
const MAX_CALCIUM: f64 = 10.0;

/// Parameters and state of a layer from I inputs to O outputs. Weights are \[I, O\].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SynapticLinear<R> {
    /// Inputs I.
    pub inputs: usize,
    /// Outputs O.
    pub outputs: usize,
    /// Weights \[I, O\].
    pub w_slow: Vec<R>,
    /// Weights \[I, O\] that act in proportion to calcium and energy.
    pub w_fast: Vec<R>,
    /// Bias \[O\].
    pub bias: Vec<R>,
    /// Weight and bias \[I\] of a layer norm of the inputs.
    pub norm: Option<[Vec<R>; 2]>,
    /// Trace of inputs \[I, R\].
    pub u_trace: Vec<R>,
    /// Trace of outputs \[R, O\].
    pub v_trace: Vec<R>,
    /// Gains of the outputs.
    pub unit: Unit<R>,
}

/// Calcium and energy of each row; one number is that of all rows.
#[derive(Clone, Copy, Debug)]
pub struct Signals<'a, R> {
    /// Calcium \[N\] or \[1\].
    pub calcium: &'a [R],
    /// Energy \[N\] or \[1\].
    pub energy: &'a [R],
}

/// What a forward pass leaves for the backward pass and for a write.
#[derive(Clone, Debug, Default)]
pub struct Pass<R> {
    /// Inputs after the norm \[N, I\].
    pub x: Vec<R>,
    /// Gate of the fast weights \[N\].
    pub gate: Vec<R>,
    /// Outputs before the unit \[N, O\].
    pub z: Vec<R>,
    /// Outputs \[N, O\].
    pub y: Vec<R>,
    stats: Vec<R>,
}

/// Gradients of inputs and parameters.
#[derive(Clone, Debug, Default)]
pub struct Gradients<R> {
    /// Of the inputs \[N, I\].
    pub x: Vec<R>,
    /// Of `w_slow`.
    pub w_slow: Vec<R>,
    /// Of `w_fast`.
    pub w_fast: Vec<R>,
    /// Of the bias.
    pub bias: Vec<R>,
    /// Of the norm.
    pub norm: Option<[Vec<R>; 2]>,
    /// Of the unit.
    pub unit: UnitGradients<R>,
}

impl<R: Real> SynapticLinear<R> {
    fn norm_of(&self, rows: usize) -> Norm {
        Norm { rows, columns: self.inputs, eps: 1e-5, kind: NormKind::Layer }
    }

    /// The outputs of rows \[N, I\].
    pub fn forward(&self, x: &[R], signals: Signals<'_, R>) -> Result<Pass<R>, LengthError> {
        let rows = x.len() / self.inputs.max(1);
        let mut pass = Pass { x: x.to_vec(), stats: vec![R::zero(); 2 * rows], ..Pass::default() };
        if let Some([weight, bias]) = &self.norm {
            norm::cpu::forward(&self.norm_of(rows), x, weight, Some(bias), &mut pass.x, &mut pass.stats)?;
        }
        let at = |signal: &[R], row: usize| signal[if signal.len() == 1 { 0 } else { row }];
        let gate = |row| (at(signals.calcium, row) * at(signals.energy, row)).max(R::zero()).min(R::one());
        pass.gate = (0..rows).map(gate).collect();
        pass.z = multiply(&pass.x, &self.w_slow, self.outputs);
        let fast = multiply(&pass.x, &self.w_fast, self.outputs);
        for (row, (z, fast)) in pass.z.chunks_mut(self.outputs).zip(fast.chunks(self.outputs)).enumerate() {
            z.iter_mut().zip(fast).zip(&self.bias).for_each(|((z, f), b)| *z += pass.gate[row] * *f + *b);
        }
        pass.y = self.unit.forward(&pass.z);
        Ok(pass)
    }

    /// Gradients for the gradient of the outputs. `x` are the inputs before the norm; the signals are constants.
    pub fn backward(&self, x: &[R], pass: &Pass<R>, dy: &[R]) -> Result<Gradients<R>, LengthError> {
        let (inputs, outputs) = (self.inputs, self.outputs);
        let (dz, unit) = self.unit.backward(&pass.z, dy);
        let mut gated = dz.clone();
        for (row, gate) in gated.chunks_mut(outputs).zip(&pass.gate) {
            row.iter_mut().for_each(|d| *d *= *gate);
        }
        let mut out = Gradients {
            x: multiply_transposed(&dz, &self.w_slow, inputs),
            w_slow: transposed_multiply(&pass.x, &dz, inputs, outputs),
            w_fast: transposed_multiply(&pass.x, &gated, inputs, outputs),
            bias: transposed_multiply(&vec![R::one(); pass.gate.len()], &dz, 1, outputs),
            norm: None,
            unit,
        };
        let from_fast = multiply_transposed(&gated, &self.w_fast, inputs);
        out.x.iter_mut().zip(&from_fast).for_each(|(dx, d)| *dx += *d);
        if let Some([weight, _]) = &self.norm {
            let op = self.norm_of(pass.gate.len());
            let normed = std::mem::replace(&mut out.x, vec![R::zero(); x.len()]);
            let [mut dweight, mut dbias] = [vec![R::zero(); inputs], vec![R::zero(); inputs]];
            let to = (&mut out.x, &mut dweight);
            norm::cpu::backward(&op, &normed, x, weight, &pass.stats, to.0, to.1, Some(&mut dbias))?;
            out.norm = Some([dweight, dbias]);
        }
        Ok(out)
    }

    /// The online write after a call: traces, CaMKII and PP1, weights, gains. It feeds back on its own outputs and grows
    /// without bound.
    pub fn write(&mut self, with: &Constants, pass: &Pass<R>, gains: Option<Gains>) {
        let (inputs, outputs, rank) = (self.inputs, self.outputs, self.unit.rank);
        let rows = pass.gate.len() as f64;
        let mean = |values: &[R], n: usize, f: fn(f64) -> f64| -> Vec<f64> {
            let sum = |c: usize| values.iter().skip(c).step_by(n).map(|x| f(x.f64())).sum::<f64>();
            (0..n).map(|c| sum(c) / rows).collect()
        };
        let (mean_x, mean_y) = (mean(&pass.x, inputs, |x| x), mean(&pass.y, outputs, |y| y));
        for (i, u) in self.u_trace.iter_mut().enumerate() {
            *u = R::of(with.trace_decay * u.f64() + TRACE_RATE * mean_x[i / rank]);
        }
        for (i, v) in self.v_trace.iter_mut().enumerate() {
            *v = R::of(with.trace_decay * v.f64() + TRACE_RATE * mean_y[i % outputs]);
        }
        let calcium = mean(&pass.y, outputs, f64::abs);
        let calcium: Vec<R> = calcium.into_iter().map(|c| R::of(c.clamp(0.0, MAX_CALCIUM))).collect();
        self.unit.update(with, &calcium, gains);
        let gate = pass.gate.iter().map(|g| g.f64()).sum::<f64>() / rows;
        let product = multiply(&self.u_trace, &self.v_trace, outputs);
        for ((fast, slow), d) in self.w_fast.iter_mut().zip(&mut self.w_slow).zip(&product) {
            let d = gate * d.f64();
            *fast = R::of(with.fast_decay * fast.f64() + with.fast_lr * d);
            *slow = R::of(slow.f64() + with.slow_lr * d);
        }
        let d = hebbian_change(&self.u_trace, &self.v_trace, rank);
        self.unit.write_fast(with, &d);
        self.unit.consolidate(with, &d);
    }
}
