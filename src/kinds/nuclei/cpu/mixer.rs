//! Sums over all pairs of several fields of phases: J is passed once per field, by any method, then G mixes what it gave.

use super::coupling::{Coupling, Kernel, Sums, turned};
use crate::kinds::nuclei::{Sent, real::Real};

/// What mixes fields, and room for it.
#[derive(Clone, Debug)]
pub struct Mixer<T> {
    fields: usize,
    /// `[F × F]`.
    g: Vec<T>,
    sent: Sent,
    /// What one field sends, as cosines and sines; empty when it is its phases.
    cos: Vec<T>,
    sin: Vec<T>,
    passed: Sums<T>,
}

impl<T: Real> Mixer<T> {
    /// For so many nuclei.
    pub fn new(fields: usize, n: usize) -> Self {
        let room = |n| Vec::with_capacity(n);
        let n = if fields > 1 { n } else { 0 };
        let (cos, sin, passed) = (room(n), room(n), Sums::with_capacity(n));
        Self { fields, g: vec![], sent: Sent::Phase, cos, sin, passed }
    }

    /// Takes another G from now on, and another way to send.
    pub fn take(&mut self, g: &[f64], sent: Sent) {
        self.g.clear();
        self.g.extend(g.iter().map(|g| T::of(*g)));
        self.sent = sent;
    }

    /// Bytes for so many.
    pub const fn bytes_of(fields: usize, n: usize) -> u64 {
        if fields > 1 { (n * 5 * T::BYTES) as u64 } else { 0 }
    }

    /// S of all fields and d, for `[F × n]` cosines and sines.
    pub fn sums(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, cos: &[T], sin: &[T], out: &mut Sums<T>) {
        let n = kernel.x.len();
        for array in [&mut out.re, &mut out.im] {
            array.clear();
            array.resize(cos.len(), T::ZERO);
        }
        for (from, (cos, sin)) in cos.chunks(n.max(1)).zip(sin.chunks(n.max(1))).enumerate() {
            self.pass(kernel, coupling, cos, sin);
            for (to, (re, im)) in out.re.chunks_mut(n.max(1)).zip(out.im.chunks_mut(n.max(1))).enumerate() {
                let g = self.g[to * self.fields + from];
                re.iter_mut().zip(&self.passed.re).for_each(|(sum, x)| *sum += g * *x);
                im.iter_mut().zip(&self.passed.im).for_each(|(sum, x)| *sum += g * *x);
            }
        }
        for ((re, im), (c, s)) in out.re.iter_mut().zip(&mut out.im).zip(cos.iter().zip(sin)) {
            let (c, s) = if self.sent == Sent::Double { doubled(*c, *s) } else { (*c, *s) };
            (*re, *im) = turned(*re, *im, c, s);
        }
        out.d.clear();
        out.d.extend_from_slice(&self.passed.d);
    }

    /// Σ_k J_jk times what nucleus k sends in one field.
    fn pass(&mut self, kernel: Kernel<'_, T>, coupling: &mut Coupling<T>, cos: &[T], sin: &[T]) {
        let (cos, sin) = match self.sent {
            Sent::Phase => (cos, sin),
            Sent::Double => {
                self.cos.clear();
                self.sin.clear();
                for (c, s) in cos.iter().zip(sin).map(|(c, s)| doubled(*c, *s)) {
                    self.cos.push(c);
                    self.sin.push(s);
                }
                (&self.cos[..], &self.sin[..])
            }
        };
        coupling.sums(kernel, cos, sin, &mut self.passed);
        let passed = self.passed.re.iter_mut().zip(&mut self.passed.im);
        for ((re, im), (c, s)) in passed.zip(cos.iter().zip(sin)) {
            (*re, *im) = turned(*re, *im, *c, -*s); // back from the frame of the nucleus
        }
    }
}

/// cos 2φ and sin 2φ.
fn doubled<T: Real>(cos: T, sin: T) -> (T, T) {
    (cos * cos - sin * sin, (cos + cos) * sin)
}
