//! Fast memory of a layer.

use super::{Gains, Gate, GateState};
use crate::nn::{
    lengths::{self, LengthError},
    real::Real,
};

/// Constants of a fast memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastMemory {
    /// Number of features of a token, C.
    pub width: usize,
    /// Share lambda of the memory that remains after a token.
    pub decay: f64,
    /// Maximum step eta of a write, at most 0.5.
    pub rate: f64,
    /// Maximum length n of a target.
    pub target_norm: f64,
    /// Factor s of the read-out.
    pub strength: f64,
    /// Method by which writes are gated.
    pub gate: Gate,
}

impl FastMemory {
    /// Returns the recommended constants for tokens of `width` features.
    pub fn new(width: usize) -> Self {
        Self { width, decay: 0.95, rate: 0.5, target_norm: 1.0, strength: 1.0, gate: Gate::default() }
    }
}

/// State of the fast memory of a layer for one text.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryState<R> {
    /// Matrix F, `[C, C]`; rows are outputs.
    pub f: Vec<R>,
    /// State of the gates.
    pub gate: GateState<R>,
    key: Vec<R>,
}

impl<R: Real> MemoryState<R> {
    /// Creates an empty memory with gates at rest.
    pub fn new(op: &FastMemory) -> Self {
        let n = op.width;
        Self { f: vec![R::zero(); n * n], gate: GateState::rest(n), key: vec![R::zero(); n] }
    }

    /// Computes the Frobenius norm of F.
    pub fn norm(&self) -> f64 {
        self.f.iter().map(|f| f.f64() * f.f64()).sum::<f64>().sqrt()
    }

    /// Returns the size of the arrays of this state, bytes.
    pub const fn n_bytes(&self) -> u64 {
        let elements = self.f.len() + self.gate.camkii.len() + self.gate.pp1.len() + self.key.len();
        (elements * size_of::<R>()) as u64
    }
}

impl FastMemory {
    /// Processes a token with input x and output y of the mixture, `[C]` each: adds the read-out to y, then writes the
    /// memory. `writes` contains the gains of the genomes that computed y; without it, memory and gates only decay. Fails
    /// if a length does not fit.
    pub fn step<R: Real>(
        &self,
        state: &mut MemoryState<R>,
        x: &[R],
        y: &mut [R],
        writes: Option<Gains>,
    ) -> Result<(), LengthError> {
        let n = self.width;
        lengths::check([
            ("the input of a fast memory", &[n], x.len()),
            ("the output of a fast memory", &[n], y.len()),
            ("a fast memory", &[n, n], state.f.len()),
        ])?;
        let (length, size) = (norm(x), norm(y));
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        state.key.iter_mut().zip(x).for_each(|(k, x)| *k = R::of(scale * x.f64()));
        let target = if size > self.target_norm { self.target_norm / size } else { 1.0 };
        let per_rms = if size > 0.0 { (n as f64).sqrt() / size } else { 0.0 };
        let decay = R::of(self.decay);
        for (i, (row, y)) in state.f.chunks_exact_mut(n).zip(y).enumerate() {
            let read: f64 = row.iter().zip(&state.key).map(|(f, k)| f.f64() * k.f64()).sum();
            let out = y.f64();
            let step = writes.map_or(0.0, |_| self.rate * self.gate.opening(&state.gate, i) * (target * out - read));
            let step = R::of(step);
            row.iter_mut().zip(&state.key).for_each(|(f, k)| *f = decay * *f + step * *k);
            *y += R::of(self.strength * read);
            // The calcium of a token without writes counts as 0, so that gates return to rest.
            let (calcium, gains) = (out.abs() * per_rms, writes.unwrap_or(Gains { camkii: 1.0, pp1: 1.0 }));
            self.gate.update(&mut state.gate, i, if writes.is_some() { calcium } else { 0.0 }, gains);
        }
        Ok(())
    }
}

fn norm<R: Real>(x: &[R]) -> f64 {
    x.iter().map(|x| x.f64() * x.f64()).sum::<f64>().sqrt()
}
