//! Reference for the coupling of several phase fields, ψ ∈ ℂ^{N×F}, with coupling G between fields:
//!
//! ```text
//! S_j^a = Σ_k Σ_b G_ab J_jk^{ab} e^{i(φ_k^b - φ_j^a)} A_k^b      J_jk^{ab} = e^{-|f_j^a - f_k^b|/T} e^{-|H_j^a - H_k^b|}
//! ```
//!
//! A = |ψ| is invariant under rotation of all phases. A = ψ is the rule of the original model, which couples second harmonics. If
//! f and H do not depend on the field, J factors out and is applied once per field.

use crate::kinds::nuclei::real::Real;

/// A complex number, [real, imaginary].
pub type Complex<T> = [T; 2];

/// Values of all nuclei and fields, `[N × F]`, row by row.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a, T> {
    /// Scaled errors f / T.
    pub x: &'a [T],
    /// Entropies H of the weights.
    pub h: &'a [T],
    /// Complex states ψ of the oscillators.
    pub psi: &'a [Complex<T>],
    /// `[F × F]` coupling between fields.
    pub g: &'a [T],
    /// Number of fields, F.
    pub fields: usize,
}

/// Factor of ψ_k in the sum in addition to its phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amplitude {
    /// Modulus |ψ_k|, invariant under rotation.
    Covariant,
    /// Complex ψ_k, as in the original model.
    Compat,
}

fn times<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

impl<T: Real> Fields<'_, T> {
    /// Computes e^{iφ} and A e^{iφ} of every nucleus and field.
    fn oscillators(&self, amplitude: Amplitude) -> (Vec<Complex<T>>, Vec<Complex<T>>) {
        let wave = |psi: &Complex<T>| {
            let size = (psi[0] * psi[0] + psi[1] * psi[1]).sqrt();
            let z = if size > T::ZERO { [psi[0] / size, psi[1] / size] } else { [T::ONE, T::ZERO] };
            let sent = match amplitude {
                Amplitude::Covariant => [z[0] * size, z[1] * size],
                Amplitude::Compat => times(z, *psi),
            };
            (z, sent)
        };
        self.psi.iter().map(wave).unzip()
    }

    /// Computes S by the formula, over all pairs and fields.
    pub fn sums(&self, amplitude: Amplitude) -> Vec<Complex<T>> {
        let (z, sent) = self.oscillators(amplitude);
        let sum = |j: usize| {
            let row = &self.g[j % self.fields * self.fields..][..self.fields];
            let mut sum = [T::ZERO; 2];
            for (k, sent) in sent.iter().enumerate() {
                let apart = (self.x[j] - self.x[k]).abs() + (self.h[j] - self.h[k]).abs();
                let w = row[k % self.fields] * (-apart).exp_neg();
                sum = [sum[0] + w * sent[0], sum[1] + w * sent[1]];
            }
            times(sum, [z[j][0], -z[j][1]])
        };
        (0..self.psi.len()).map(sum).collect()
    }

    /// Computes S if f and H do not depend on the field: applies J first, then G.
    pub fn factored(&self, amplitude: Amplitude) -> Vec<Complex<T>> {
        let (z, sent) = self.oscillators(amplitude);
        let f = self.fields;
        let mut out = vec![[T::ZERO; 2]; self.psi.len()];
        let mut passed = vec![[T::ZERO; 2]; f];
        for (j, out) in out.chunks_mut(f).enumerate() {
            passed.fill([T::ZERO; 2]);
            for (k, sent) in sent.chunks(f).enumerate() {
                let apart = (self.x[j * f] - self.x[k * f]).abs() + (self.h[j * f] - self.h[k * f]).abs();
                let w = (-apart).exp_neg();
                passed.iter_mut().zip(sent).for_each(|(p, s)| *p = [p[0] + w * s[0], p[1] + w * s[1]]);
            }
            for (a, out) in out.iter_mut().enumerate() {
                let mut sum = [T::ZERO; 2];
                for (g, p) in self.g[a * f..][..f].iter().zip(&passed) {
                    sum = [sum[0] + *g * p[0], sum[1] + *g * p[1]];
                }
                let own = z[j * f + a];
                *out = times(sum, [own[0], -own[1]]);
            }
        }
        out
    }
}
