//! The chunk form for [`LANES`] sequences side by side, in f32. A lane of a SIMD vector is a sequence, so that every
//! operation fills a vector and no sum is split. Each lane has the bits of [`cpu`](super::cpu).

use super::{EPSILON, Method, cpu::Step};
use crate::{nn::real::wide_fn, num::exact};

/// Number of sequences side by side.
pub const LANES: usize = 16;
/// Number of earlier steps whose products are computed together, so that additions do not wait for each other.
const TOGETHER: usize = 4;

type Lane = [f32; LANES];

/// Memory of the sequences, reused between calls.
#[derive(Clone, Debug, Default)]
pub struct Chunks {
    width: usize,
    steps: usize,
    /// q̂, κ, v, U and o, `[steps, width]` each.
    query: Vec<Lane>,
    key: Vec<Lane>,
    value: Vec<Lane>,
    corrections: Vec<Lane>,
    output: Vec<Lane>,
    alphas: Vec<Lane>,
    /// Products of a key and a query with earlier keys, `[steps]` each.
    with_key: Vec<Lane>,
    with_query: Vec<Lane>,
}

#[inline(always)]
#[expect(
    clippy::disallowed_methods,
    reason = "fused where the definition says so, and compiled for processors that have it"
)]
fn add_product(sum: &mut Lane, a: &Lane, b: &Lane) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = a.mul_add(*b, *sum);
    }
}

#[inline(always)]
#[expect(
    clippy::disallowed_methods,
    reason = "fused where the definition says so, and compiled for processors that have it"
)]
fn subtract_product(sum: &mut Lane, a: &Lane, b: &Lane) {
    for (sum, (a, b)) in sum.iter_mut().zip(a.iter().zip(b)) {
        *sum = (-a).mul_add(*b, *sum);
    }
}

#[inline(always)]
fn map(mut of: Lane, f: impl Fn(f32) -> f32) -> Lane {
    for x in &mut of {
        *x = f(*x);
    }
    of
}

#[inline(always)]
fn multiply(x: &mut Lane, by: &Lane) {
    for (x, by) in x.iter_mut().zip(by) {
        *x *= by;
    }
}

#[inline(always)]
fn scale(of: &mut [Lane], by: &Lane) {
    for row in of {
        multiply(row, by);
    }
}

impl Chunks {
    /// Computes sequences of `steps` steps: queries, keys and values `[LANES, steps, width]`, not yet normalised, and gates
    /// `[LANES, steps]`. Writes the scalars of each step and the outputs in the same layout.
    pub fn compute(
        &mut self,
        method: Method,
        (query, key, value): (&[f32], &[f32], &[f32]),
        gates: &[f32],
        (steps, output): (&mut [Step<f32>], &mut [f32]),
    ) {
        self.reset(value.len() / gates.len().max(1), gates.len() / LANES);
        compute(self, method, query, key, value, gates, steps, output);
    }

    fn reset(&mut self, width: usize, steps: usize) {
        (self.width, self.steps) = (width, steps);
        let all = [&mut self.query, &mut self.key, &mut self.value, &mut self.corrections, &mut self.output];
        all.into_iter().for_each(|values| values.resize(steps * width, [0.0; LANES]));
        let rows = [&mut self.alphas, &mut self.with_key, &mut self.with_query];
        rows.into_iter().for_each(|values| values.resize(steps, [0.0; LANES]));
    }

    /// Normalises the query and, if the method does, the key of a step. Returns β, λ and α.
    #[inline(always)]
    fn normalise(&mut self, method: Method, at: usize, gate: &Lane) -> [Lane; 3] {
        let epsilon = EPSILON as f32;
        let row = at * self.width..(at + 1) * self.width;
        let (query, key) = (&mut self.query[row.clone()], &mut self.key[row]);
        let (mut of_query, mut of_key) = ([0.0; LANES], [0.0; LANES]);
        for (q, k) in query.iter().zip(&*key) {
            add_product(&mut of_query, q, q);
            add_product(&mut of_key, k, k);
        }
        scale(query, &map(of_query, |sum| 1.0 / (sum + epsilon).sqrt()));
        let lambda = map(of_key, |sum| sum.max(epsilon));
        let beta = map(*gate, |gate| 1.0 / (1.0 + exact::exp(-gate)));
        let mut alpha = beta;
        match method {
            Method::Efla => {
                for lane in 0..LANES {
                    alpha[lane] = exact::one_minus_exp(beta[lane] * lambda[lane]) / (lambda[lane] + epsilon);
                }
            }
            Method::DeltaNet => scale(key, &map(lambda, |lambda| 1.0 / (lambda + epsilon).sqrt())),
        }
        self.alphas[at] = alpha;
        [beta, lambda, alpha]
    }

    /// Computes the correction and the output of a step.
    #[inline(always)]
    fn step(&mut self, at: usize) {
        let width = self.width;
        let row = at * width..(at + 1) * width;
        self.products(at);
        let (before, now) = self.corrections.split_at_mut(row.start);
        let now = &mut now[..width];
        let (key, query) = (&self.with_key[..at], &self.with_query[..=at]);
        let outputs = &mut self.output[row.clone()];
        let values = &self.value[row];
        let alpha = self.alphas[at];
        // Two columns have enough independent sums; arrays of sums would not stay in registers.
        let whole = width - width % 2;
        for n in (0..whole).step_by(2) {
            let ([mut left, mut right], [mut left_out, mut right_out]) =
                ([values[n], values[n + 1]], [[0.0; LANES]; 2]);
            for (earlier, (k, q)) in key.iter().zip(query).enumerate() {
                let u = &before[earlier * width + n..][..2];
                subtract_product(&mut left, k, &u[0]);
                subtract_product(&mut right, k, &u[1]);
                add_product(&mut left_out, q, &u[0]);
                add_product(&mut right_out, q, &u[1]);
            }
            multiply(&mut left, &alpha);
            multiply(&mut right, &alpha);
            add_product(&mut left_out, &query[at], &left);
            add_product(&mut right_out, &query[at], &right);
            (now[n], now[n + 1], outputs[n], outputs[n + 1]) = (left, right, left_out, right_out);
        }
        for n in whole..width {
            let (mut sum, mut output) = (values[n], [0.0; LANES]);
            for (earlier, (k, q)) in key.iter().zip(query).enumerate() {
                let u = &before[earlier * width + n];
                subtract_product(&mut sum, k, u);
                add_product(&mut output, q, u);
            }
            multiply(&mut sum, &alpha);
            add_product(&mut output, &query[at], &sum);
            (now[n], outputs[n]) = (sum, output);
        }
    }

    /// Computes the products of the key and the query of a step with the keys of all steps up to it.
    #[inline(always)]
    fn products(&mut self, at: usize) {
        let width = self.width;
        let row = at * width..(at + 1) * width;
        let (key, query) = (&self.key[row.clone()], &self.query[row]);
        let mut first = 0;
        while first + TOGETHER <= at {
            let (mut of_key, mut of_query) = ([[0.0; LANES]; TOGETHER], [[0.0; LANES]; TOGETHER]);
            for (d, (k, q)) in key.iter().zip(query).enumerate() {
                for i in 0..TOGETHER {
                    let earlier = &self.key[(first + i) * width + d];
                    add_product(&mut of_key[i], k, earlier);
                    add_product(&mut of_query[i], q, earlier);
                }
            }
            self.with_key[first..first + TOGETHER].copy_from_slice(&of_key);
            self.with_query[first..first + TOGETHER].copy_from_slice(&of_query);
            first += TOGETHER;
        }
        for earlier in first..=at {
            let (mut of_key, mut of_query) = ([0.0; LANES], [0.0; LANES]);
            for (d, (k, q)) in key.iter().zip(query).enumerate() {
                let earlier = &self.key[earlier * width + d];
                add_product(&mut of_key, k, earlier);
                add_product(&mut of_query, q, earlier);
            }
            (self.with_key[earlier], self.with_query[earlier]) = (of_key, of_query);
        }
    }
}

wide_fn! {
    fn compute(
        chunks: &mut Chunks,
        method: Method,
        query: &[f32],
        key: &[f32],
        value: &[f32],
        gates: &[f32],
        steps: &mut [Step<f32>],
        output: &mut [f32],
    ) {
        let n = chunks.steps;
        gather(query, &mut chunks.query);
        gather(key, &mut chunks.key);
        gather(value, &mut chunks.value);
        for at in 0..n {
            let mut gate = [0.0; LANES];
            for lane in 0..LANES {
                gate[lane] = gates[lane * n + at];
            }
            let [beta, lambda, alpha] = chunks.normalise(method, at, &gate);
            for lane in 0..LANES {
                steps[lane * n + at] = Step { beta: beta[lane], lambda: lambda[lane], alpha: alpha[lane] };
            }
        }
        for at in 0..n {
            chunks.step(at);
        }
        scatter(&chunks.output, output);
    }
}

/// Copies `[LANES, n]` to lanes, a few elements of all lanes at a time.
#[inline(always)]
fn gather(from: &[f32], to: &mut [Lane]) {
    let n = to.len();
    for (part, to) in to.chunks_mut(LANES).enumerate() {
        for lane in 0..LANES {
            let from = &from[lane * n + part * LANES..][..to.len()];
            for (to, x) in to.iter_mut().zip(from) {
                to[lane] = *x;
            }
        }
    }
}

/// Copies lanes to `[LANES, n]`.
#[inline(always)]
fn scatter(from: &[Lane], to: &mut [f32]) {
    let n = from.len();
    for (part, from) in from.chunks(LANES).enumerate() {
        for lane in 0..LANES {
            let to = &mut to[lane * n + part * LANES..][..from.len()];
            for (to, x) in to.iter_mut().zip(from) {
                *to = x[lane];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::cpu::{Chunk, coefficients},
        *,
    };
    use crate::num::rng::philox4x32;

    fn numbers(n: usize, purpose: u32) -> Vec<f32> {
        let one = |i: usize| philox4x32([i as u32, purpose, 0, 0], [1, 2])[0];
        (0..n).map(|i| 4.0 * (one(i) as f32 / (1u32 << 31) as f32 - 1.0)).collect()
    }

    #[test]
    fn lanes_have_the_bits_of_single_sequences() {
        for (width, steps) in [(1, 1), (5, 7), (16, 9), (32, 33)] {
            for method in [Method::Efla, Method::DeltaNet] {
                let n = LANES * steps * width;
                let [mut query, mut key, value] = [0, 1, 2].map(|purpose| numbers(n, purpose));
                let gates = numbers(LANES * steps, 3);
                let (mut got, mut output) = (vec![Step::default(); LANES * steps], vec![f32::NAN; n]);
                let mut chunks = Chunks::default();
                for _ in 0..2 {
                    chunks.compute(method, (&query, &key, &value), &gates, (&mut got, &mut output));
                }
                let rows = query.chunks_exact_mut(width).zip(key.chunks_exact_mut(width)).zip(&gates);
                let want: Vec<Step<f32>> = rows.map(|((q, k), gate)| coefficients(method, q, k, *gate)).collect();
                assert_eq!(got, want, "{method:?}");
                let alphas: Vec<f32> = want.iter().map(|step| step.alpha).collect();
                let mut single = vec![f32::NAN; steps * width];
                for lane in 0..LANES {
                    let part = lane * steps * width..(lane + 1) * steps * width;
                    let of = (&query[part.clone()], &key[part.clone()], &value[part.clone()]);
                    let mut chunk = Chunk::default();
                    chunk.reset(width, steps);
                    chunk.extend(of, &alphas[lane * steps..][..steps], &mut single);
                    assert_eq!(output[part], single, "{method:?}, {steps} steps of width {width}");
                }
            }
        }
    }
}
