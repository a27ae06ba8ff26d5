//! Coupling sums of several phase fields: J is applied once per field by any algorithm, then G combines the results.

use super::coupling::{Coupling, Kernel, Sums, turned};
use crate::kinds::nuclei::{choices::SentPhase, real::Real};

/// Field coupling G, and its workspace.
#[derive(Clone, Debug)]
pub struct Mixer<T> {
    fields: usize,
    /// `[F × F]` coupling matrix.
    g: Vec<T>,
    sent: SentPhase,
    /// Doubled phasors of one field, as cosines and sines; empty when phases are not doubled.
    cos: Vec<T>,
    sin: Vec<T>,
    received: Sums<T>,
}

impl<T: Real> Mixer<T> {
    /// Allocates the workspace for up to `n` nuclei.
    pub fn new(fields: usize, n: usize) -> Self {
        let room = |n| Vec::with_capacity(n);
        let n = if fields > 1 { n } else { 0 };
        let (cos, sin, received) = (room(n), room(n), Sums::with_capacity(n));
        Self { fields, g: vec![], sent: SentPhase::Phase, cos, sin, received }
    }

    /// Sets G and the transmitted phase.
    pub fn set(&mut self, g: &[f64], sent: SentPhase) {
        self.g.clear();
        self.g.extend(g.iter().map(|g| T::of(*g)));
        self.sent = sent;
    }

    /// Returns the memory for up to `n` nuclei, bytes.
    pub const fn bytes_of(fields: usize, n: usize) -> u64 {
        if fields > 1 { (n * 5 * T::BYTES) as u64 } else { 0 }
    }

    /// Computes S of all fields and d from `[F × n]` cosines and sines.
    pub fn sums(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        let n = kernel.x.len();
        for array in [&mut out.re, &mut out.im] {
            array.clear();
            array.resize(cos.len(), T::ZERO);
        }
        for (from, (cos, sin)) in cos.chunks(n.max(1)).zip(sin.chunks(n.max(1))).enumerate() {
            self.apply_j(kernel, coupling, cos, sin);
            for (to, (re, im)) in out.re.chunks_mut(n.max(1)).zip(out.im.chunks_mut(n.max(1))).enumerate() {
                let g = self.g[to * self.fields + from];
                re.iter_mut().zip(&self.received.re).for_each(|(sum, x)| *sum += g * *x);
                im.iter_mut().zip(&self.received.im).for_each(|(sum, x)| *sum += g * *x);
            }
        }
        for ((re, im), (c, s)) in out.re.iter_mut().zip(&mut out.im).zip(cos.iter().zip(sin)) {
            let (c, s) = if self.sent == SentPhase::Double { doubled(*c, *s) } else { (*c, *s) };
            (*re, *im) = turned(*re, *im, c, s);
        }
        out.d.clear();
        out.d.extend_from_slice(&self.received.d);
    }

    /// Computes Σ_k J_jk of the transmitted phasors of one field.
    fn apply_j(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, cos: &[T], sin: &[T]) {
        let (cos, sin) = match self.sent {
            SentPhase::Phase => (cos, sin),
            SentPhase::Double => {
                self.cos.clear();
                self.sin.clear();
                for (c, s) in cos.iter().zip(sin).map(|(c, s)| doubled(*c, *s)) {
                    self.cos.push(c);
                    self.sin.push(s);
                }
                (&self.cos[..], &self.sin[..])
            }
        };
        coupling.sums(kernel, cos, sin, &mut self.received);
        let received = self.received.re.iter_mut().zip(&mut self.received.im);
        for ((re, im), (c, s)) in received.zip(cos.iter().zip(sin)) {
            (*re, *im) = turned(*re, *im, *c, -*s); // out of the frame of the nucleus
        }
    }
}

/// Computes cos 2φ and sin 2φ.
fn doubled<T: Real>(cos: T, sin: T) -> (T, T) {
    (cos * cos - sin * sin, (cos + cos) * sin)
}
