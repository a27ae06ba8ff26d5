//! Self-attention of the reference: projections, rotary positions, RMS-norm, presynaptic bias. One call is a whole
//! sequence, or the next tokens after those of a [`Memory`]; these give different results, as the state advances
//! once per call. Key and value heads are tiled: query head `h` uses head `h mod kv_heads`.

use super::{attention::LogitBias, release::State};
use neuropil::num::elements::{Bf16, Element as _};

/// Added to mean squares.
const NORM_EPSILON: f64 = 1e-6;

/// Self-attention, without its data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfAttention {
    /// Features of a token, C.
    pub width: usize,
    /// Query heads.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Bias of the logits.
    pub bias: LogitBias,
}

/// Projections `[out, in]`, and gradients of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Projections {
    /// `[width, width]`
    pub q: Vec<f64>,
    /// `[kv_heads·D, width]`
    pub k: Vec<f64>,
    /// `[kv_heads·D, width]`
    pub v: Vec<f64>,
    /// `[width, width]`
    pub o: Vec<f64>,
}

/// Cosines and sines `[positions, D/2]`.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeTable {
    /// Cosines.
    pub cos: Vec<f64>,
    /// Sines.
    pub sin: Vec<f64>,
}

impl RopeTable {
    /// Angles `position·base^(-i/(D/2))` in f32, rounded to bf16.
    pub fn new(positions: usize, head_dim: usize, base: f32) -> Self {
        let half = head_dim / 2;
        let angle = |at: usize| (at / half) as f32 * (1.0 / base.powf((2 * (at % half)) as f32 / head_dim as f32));
        let table = |f: fn(f32) -> f32| {
            (0..positions * half).map(|at| f64::from(Bf16::from_f32(f(angle(at))).to_f32())).collect()
        };
        Self { cos: table(f32::cos), sin: table(f32::sin) }
    }

    /// Rotates rows of a position, halves against each other; backwards with `sign` -1.
    fn rotate(&self, position: usize, x: &mut [f64], sign: f64) {
        let half = x.len() / 2;
        for i in 0..half {
            let (cos, sin) = (self.cos[position * half + i], sign * self.sin[position * half + i]);
            let (a, b) = (x[i], x[half + i]);
            (x[i], x[half + i]) = (a * cos - b * sin, a * sin + b * cos);
        }
    }
}

/// What earlier tokens left: keys and values of each sequence and head, and the state of the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// `[sequences·kv_heads]` lists of rows `[keys, D]`.
    keys: Vec<Vec<f64>>,
    values: Vec<Vec<f64>>,
    /// State of the keys.
    pub state: State,
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
pub struct Saved {
    x: Vec<f64>,
    /// Rotated queries and keys before their norm, `[tokens, heads, D]`.
    q: Vec<f64>,
    k: Vec<f64>,
    memory: Memory,
    /// `[sequences·heads, T, T]`
    probabilities: Vec<f64>,
    slope: Vec<f64>,
    heads: Vec<f64>,
}

/// `y += x wᵀ` for rows x and w of `[out, in]`.
fn project(w: &[f64], x: &[f64], inputs: usize) -> Vec<f64> {
    let row = |x: &[f64]| w.chunks_exact(inputs).map(|w| dot(w, x)).collect::<Vec<f64>>();
    x.chunks_exact(inputs).flat_map(row).collect()
}

/// Gradients of [`project`]: of w and of x, which is added to.
fn project_back(w: &[f64], x: &[f64], inputs: usize, dy: &[f64], dx: &mut [f64]) -> Vec<f64> {
    let mut dw = vec![0.0; w.len()];
    let outputs = w.len() / inputs;
    for ((x, dx), dy) in x.chunks_exact(inputs).zip(dx.chunks_exact_mut(inputs)).zip(dy.chunks_exact(outputs)) {
        for (o, dy) in dy.iter().enumerate() {
            let at = o * inputs..(o + 1) * inputs;
            dw[at.clone()].iter_mut().zip(x).for_each(|(dw, x)| *dw += dy * x);
            dx.iter_mut().zip(&w[at]).for_each(|(dx, w)| *dx += dy * w);
        }
    }
    dw
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn inverse_rms(x: &[f64]) -> f64 {
    1.0 / (dot(x, x) / x.len() as f64 + NORM_EPSILON).sqrt()
}

/// Gradient of `x / rms(x)`.
fn norm_back(x: &[f64], dy: &[f64]) -> Vec<f64> {
    let r = inverse_rms(x);
    let mean = dot(x, dy) / x.len() as f64;
    x.iter().zip(dy).map(|(x, dy)| r * (dy - x * r * r * mean)).collect()
}

impl SelfAttention {
    const fn dim(&self) -> usize {
        self.width / self.heads
    }

    /// Nothing remembered of some sequences.
    pub fn memory(&self, sequences: usize) -> Memory {
        let none = vec![vec![]; sequences * self.kv_heads];
        let state = State::fresh(&self.bias.constants, sequences * self.heads, 0);
        Memory { keys: none.clone(), values: none, state }
    }

    /// The next tokens `[sequences, tokens, width]`. Returns the output, of the same shape. `ema` is the running mean of the
    /// effect of the layer.
    pub fn forward(
        &self,
        x: &[f64],
        w: &Projections,
        rope: &RopeTable,
        memory: &mut Memory,
        ema: &mut f64,
    ) -> (Vec<f64>, Saved) {
        let (dim, sequences) = (self.dim(), memory.keys.len() / self.kv_heads);
        let tokens = x.len() / self.width / sequences;
        let first = memory.state.keys;
        let keys = first + tokens;
        let [mut q, mut k] = [&w.q, &w.k].map(|w| project(w, x, self.width));
        let v = project(&w.v, x, self.width);
        for (x, heads) in [(&mut q, self.heads), (&mut k, self.kv_heads)] {
            for (row, x) in x.chunks_exact_mut(dim).enumerate() {
                rope.rotate(first + row / heads % tokens, x, 1.0);
            }
        }
        let normed = |x: &[f64]| {
            let r = inverse_rms(x);
            x.iter().map(|x| x * r).collect::<Vec<f64>>()
        };
        for (row, (k, v)) in k.chunks_exact(dim).zip(v.chunks_exact(dim)).enumerate() {
            let to = row / self.kv_heads / tokens * self.kv_heads + row % self.kv_heads;
            memory.keys[to].extend(normed(k));
            memory.values[to].extend_from_slice(v);
        }
        memory.state.extend(&self.bias.constants, keys);
        let mut dots = vec![];
        for head in 0..sequences * self.heads {
            let all = &memory.keys[self.kv(head)];
            for t in 0..tokens {
                let query = normed(&q[self.row(head, t, tokens)]);
                dots.extend(all.chunks_exact(dim).map(|key| dot(&query, key) / (dim as f64).sqrt()));
            }
        }
        let (mut p, slope) = self.bias.forward(tokens, &dots, &mut memory.state, ema);
        let mut y = vec![0.0; x.len()];
        for (row, p) in p.chunks_exact_mut(keys).enumerate() {
            let largest = p.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            p.iter_mut().for_each(|p| *p = (*p - largest).exp());
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|p| *p /= sum);
            let (head, t) = (row / tokens, row % tokens);
            let y = &mut y[self.row(head, t, tokens)];
            for (p, v) in p.iter().zip(memory.values[self.kv(head)].chunks_exact(dim)) {
                y.iter_mut().zip(v).for_each(|(y, v)| *y += p * v);
            }
        }
        let out = project(&w.o, &y, self.width);
        let saved = Saved { x: x.to_vec(), q, k, memory: memory.clone(), probabilities: p, slope, heads: y };
        (out, saved)
    }

    /// Keys and values of a query head of a sequence.
    const fn kv(&self, head: usize) -> usize {
        head / self.heads * self.kv_heads + head % self.heads % self.kv_heads
    }

    /// Place of a query head's row of a token.
    fn row(&self, head: usize, t: usize, tokens: usize) -> std::ops::Range<usize> {
        let at = ((head / self.heads * tokens + t) * self.heads + head % self.heads) * self.dim();
        at..at + self.dim()
    }

    /// Gradients of the input and the projections, of a call that had a whole sequence.
    pub fn backward(&self, w: &Projections, rope: &RopeTable, s: &Saved, dout: &[f64]) -> (Vec<f64>, Projections) {
        let (dim, sequences) = (self.dim(), s.memory.keys.len() / self.kv_heads);
        let tokens = s.x.len() / self.width / sequences;
        let scale = 1.0 / (dim as f64).sqrt();
        let mut dheads = vec![0.0; s.heads.len()];
        let o = project_back(&w.o, &s.heads, self.width, dout, &mut dheads);
        let (mut dq, mut dk, mut dv) = (vec![0.0; s.q.len()], vec![0.0; s.k.len()], vec![0.0; s.k.len()]);
        for head in 0..sequences * self.heads {
            let (keys, values) = (&s.memory.keys[self.kv(head)], &s.memory.values[self.kv(head)]);
            for t in 0..tokens {
                let at = (head * tokens + t) * tokens..(head * tokens + t + 1) * tokens;
                let (p, slope, own) = (&s.probabilities[at.clone()], &s.slope[at], self.row(head, t, tokens));
                let dy = &dheads[own.clone()];
                let dp: Vec<f64> = values.chunks_exact(dim).map(|v| dot(v, dy)).collect();
                let mean = dot(p, &dp);
                let query = {
                    let r = inverse_rms(&s.q[own.clone()]);
                    s.q[own.clone()].iter().map(|q| q * r).collect::<Vec<f64>>()
                };
                for j in 0..=t {
                    let ddot = scale * p[j] * (dp[j] - mean) * (1.0 + slope[j]);
                    let kv = self.kv(head);
                    let to = ((kv / self.kv_heads * tokens + j) * self.kv_heads + kv % self.kv_heads) * dim;
                    for i in 0..dim {
                        dq[own.start + i] += ddot * keys[j * dim + i];
                        dk[to + i] += ddot * query[i];
                        dv[to + i] += p[j] * dy[i];
                    }
                }
            }
        }
        for (x, d, heads) in [(&s.q, &mut dq, self.heads), (&s.k, &mut dk, self.kv_heads)] {
            for (row, (x, d)) in x.chunks_exact(dim).zip(d.chunks_exact_mut(dim)).enumerate() {
                let back = norm_back(x, d);
                d.copy_from_slice(&back);
                rope.rotate(row / heads % tokens, d, -1.0);
            }
        }
        let mut dx = vec![0.0; s.x.len()];
        let q = project_back(&w.q, &s.x, self.width, &dq, &mut dx);
        let k = project_back(&w.k, &s.x, self.width, &dk, &mut dx);
        let v = project_back(&w.v, &s.x, self.width, &dv, &mut dx);
        (dx, Projections { q, k, v, o })
    }
}
