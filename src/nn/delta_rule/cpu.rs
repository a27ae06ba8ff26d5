//! CPU definition of the delta rule, for f32 and f64.
//!
//! # Order of operations
//!
//! Sums begin at 0, corrections of the chunk form at v, and take `fma(a, b, sum)` in ascending order. Every other
//! operation is rounded once. A vector is multiplied by the reciprocal of its length. f32 uses
//! [`num::exact`](crate::num::exact) for the exponential function, so its results have the same bits everywhere. SIMD
//! lanes run over n or over steps, so that no sum is split.

use super::{EPSILON, Method};
use crate::{
    nn::real::{Real, wide},
    num::{exact, halves},
};

/// Elementary functions of the delta rule.
pub trait Functions: Real {
    /// Returns `1 - exp(-x)` for `x >= 0`.
    fn one_minus_exp(self) -> Self;
    /// Returns the logistic function `1 / (1 + exp(-x))`.
    fn sigmoid(self) -> Self;
    /// Rounds to the nearest value of IEEE binary16, ties to even.
    fn f16(self) -> Self;
}

impl Functions for f32 {
    fn one_minus_exp(self) -> Self {
        exact::one_minus_exp(self)
    }
    fn sigmoid(self) -> Self {
        1.0 / (1.0 + exact::exp(-self))
    }
    fn f16(self) -> Self {
        halves::f16(self)
    }
}

impl Functions for f64 {
    fn one_minus_exp(self) -> Self {
        -(-self).exp_m1()
    }
    fn sigmoid(self) -> Self {
        1.0 / (1.0 + (-self).exp())
    }
    fn f16(self) -> Self {
        halves::f16(self as f32).into()
    }
}

/// Scalars of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Step<R> {
    /// Gate β, 0 to 1.
    pub beta: R,
    /// Squared length of the key λ, at least [`EPSILON`].
    pub lambda: R,
    /// Strength of the update α.
    pub alpha: R,
}

fn dot<R: Real>(a: &[R], b: &[R]) -> R {
    a.iter().zip(b).fold(R::zero(), |sum, (a, b)| a.mul_add(*b, sum))
}

/// Computes the scalars of a step and replaces the query by q̂ and the key by κ. `gate` is b of the table in
/// [`delta_rule`](super), with its bias.
pub fn coefficients<R: Functions>(method: Method, query: &mut [R], key: &mut [R], gate: R) -> Step<R> {
    let epsilon = R::of(EPSILON);
    wide(|| {
        let inverse = R::one() / (dot(query, query) + epsilon).sqrt();
        query.iter_mut().for_each(|q| *q *= inverse);
        let (lambda, beta) = (dot(key, key).max(epsilon), gate.sigmoid());
        let alpha = match method {
            Method::Efla => (beta * lambda).one_minus_exp() / (lambda + epsilon),
            Method::DeltaNet => {
                let inverse = R::one() / (lambda + epsilon).sqrt();
                key.iter_mut().for_each(|k| *k *= inverse);
                beta
            }
        };
        Step { beta, lambda, alpha }
    })
}

/// Number format in which a state is stored between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StateFormat {
    /// Stored with the precision of the computation.
    #[default]
    Full,
    /// Rounded to IEEE binary16 after every update; the output reads the rounded state.
    F16,
}

/// Computes one step of the recurrence on a state `[d, n]`, where d and n run over the width of the value. `delta`
/// receives δ, `output` o.
pub fn step<R: Functions>(
    state: &mut [R],
    (query, key, value): (&[R], &[R], &[R]),
    alpha: R,
    format: StateFormat,
    delta: &mut [R],
    output: &mut [R],
) {
    let width = value.len();
    wide(|| {
        delta.fill(R::zero());
        for (key, row) in key.iter().zip(state.chunks_exact(width)) {
            delta.iter_mut().zip(row).for_each(|(sum, s)| *sum = key.mul_add(*s, *sum));
        }
        delta.iter_mut().zip(value).for_each(|(sum, v)| *sum = *v - *sum);
        output.fill(R::zero());
        for ((key, query), row) in key.iter().zip(query).zip(state.chunks_exact_mut(width)) {
            let strength = alpha * *key;
            row.iter_mut().zip(&*delta).for_each(|(s, d)| *s = strength.mul_add(*d, *s));
            if format == StateFormat::F16 {
                row.iter_mut().for_each(|s| *s = s.f16());
            }
            output.iter_mut().zip(&*row).for_each(|(sum, s)| *sum = s.mul_add(*query, *sum));
        }
    });
}

/// A sequence in chunk form from the zero state. Steps that are added one by one or many at a time have the same bits.
#[derive(Clone, Debug, Default)]
pub struct Chunk<R> {
    /// Largest number of steps.
    capacity: usize,
    /// Number of steps so far.
    len: usize,
    /// Keys, transposed: `[width, capacity]`.
    keys: Vec<R>,
    /// Corrections U, `[capacity, width]`.
    corrections: Vec<R>,
    /// Products of the current key or query with all keys.
    products: Vec<R>,
}

impl<R: Functions> Chunk<R> {
    /// Empties the sequence and reserves capacity for `capacity` steps of width `width`.
    pub fn reset(&mut self, width: usize, capacity: usize) {
        (self.capacity, self.len) = (capacity, 0);
        self.keys.resize(width * capacity, R::zero());
        self.corrections.resize(capacity * width, R::zero());
        self.products.resize(capacity, R::zero());
    }

    /// Returns the corrections U of all steps, `[steps, width]`.
    pub fn corrections(&self) -> &[R] {
        let width = self.corrections.len() / self.capacity.max(1);
        &self.corrections[..self.len * width]
    }

    /// Adds steps: q̂, κ and v `[steps, width]`, α of each step. `output` receives o, `[steps, width]`.
    ///
    /// # Panics
    /// Panics if the steps exceed the capacity.
    pub fn extend(&mut self, (queries, keys, values): (&[R], &[R], &[R]), alphas: &[R], output: &mut [R]) {
        let width = values.len() / alphas.len().max(1);
        wide(|| {
            for (t, alpha) in alphas.iter().enumerate() {
                let row = t * width..(t + 1) * width;
                let of = (&queries[row.clone()], &keys[row.clone()], &values[row.clone()]);
                self.push(of, *alpha, &mut output[row]);
            }
        });
    }

    #[inline(always)]
    fn push(&mut self, (query, key, value): (&[R], &[R], &[R]), alpha: R, output: &mut [R]) {
        let Self { capacity, len, keys, corrections, products } = self;
        let (width, t) = (value.len(), *len);
        with_keys(key, keys, *capacity, t, products);
        key.iter().enumerate().for_each(|(d, k)| keys[d * *capacity + t] = *k);
        let (before, now) = corrections.split_at_mut(t * width);
        let now = &mut now[..width];
        now.copy_from_slice(value);
        for (product, earlier) in products[..t].iter().zip(before.chunks_exact(width)) {
            now.iter_mut().zip(earlier).for_each(|(sum, u)| *sum = (-*product).mul_add(*u, *sum));
        }
        now.iter_mut().for_each(|sum| *sum *= alpha);
        with_keys(query, keys, *capacity, t + 1, products);
        output.fill(R::zero());
        for (product, written) in products[..=t].iter().zip(corrections.chunks_exact(width)) {
            output.iter_mut().zip(written).for_each(|(sum, u)| *sum = product.mul_add(*u, *sum));
        }
        *len += 1;
    }
}

/// Writes the products of a vector with the first `n` keys of `transposed`, `[width, steps]`.
#[inline(always)]
fn with_keys<R: Real>(vector: &[R], transposed: &[R], steps: usize, n: usize, products: &mut [R]) {
    let products = &mut products[..n];
    products.fill(R::zero());
    for (x, keys) in vector.iter().zip(transposed.chunks_exact(steps)) {
        products.iter_mut().zip(keys).for_each(|(sum, k)| *sum = x.mul_add(*k, *sum));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::rng::philox4x32;

    /// Uniform numbers in [-1, 1).
    fn numbers(n: usize, purpose: u32) -> Vec<f64> {
        let one = |i: usize| philox4x32([i as u32, purpose, 0, 0], [1, 2])[0];
        (0..n).map(|i| f64::from(one(i)) / f64::from(1u32 << 31) - 1.0).collect()
    }

    #[test]
    fn chunk_equals_recurrence_for_both_methods() {
        for (steps, width) in [(1, 4), (7, 5), (33, 16)] {
            for method in [Method::Efla, Method::DeltaNet] {
                let [mut q, mut k, v] = [0, 1, 2].map(|purpose| numbers(steps * width, purpose));
                let gates = numbers(steps, 3);
                let rows = q.chunks_exact_mut(width).zip(k.chunks_exact_mut(width)).zip(&gates);
                let alphas: Vec<f64> = rows.map(|((q, k), b)| coefficients(method, q, k, *b).alpha).collect();
                let mut chunked = vec![f64::NAN; steps * width];
                let mut chunk = Chunk::default();
                chunk.reset(width, steps + 1);
                let (first, rest) = chunked.split_at_mut(steps / 2 * width);
                let n = first.len();
                chunk.extend((&q[..n], &k[..n], &v[..n]), &alphas[..n / width], first);
                chunk.extend((&q[n..], &k[n..], &v[n..]), &alphas[n / width..], rest);
                assert_eq!(chunk.corrections().len(), steps * width);
                let (mut state, mut delta) = (vec![0.0; width * width], vec![0.0; width]);
                let mut output = vec![0.0; width];
                for (t, alpha) in alphas.iter().enumerate() {
                    let row = t * width..(t + 1) * width;
                    let of = (&q[row.clone()], &k[row.clone()], &v[row.clone()]);
                    step(&mut state, of, *alpha, StateFormat::Full, &mut delta, &mut output);
                    for (a, b) in output.iter().zip(&chunked[row]) {
                        assert!((a - b).abs() < 1e-13, "{method:?} {steps} x {width}, step {t}: {a} {b}");
                    }
                }
            }
        }
    }
}
