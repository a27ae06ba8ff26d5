//! CPU attention over all heads with presynaptic release. For one query head, with q, k and v normalised rows:
//!
//! ```text
//! dots = s q kᵀ                     s: temperature / sqrt(D)
//! logits = dots + bias - barrier    see `presynaptic`; masked edges are -∞
//! P = softmax(logits),  y = P v
//! ```
//!
//! The backward pass, with f the derivative of an edge's bias with respect to its dot product:
//!
//! ```text
//! dlogits = P (dy vᵀ - rowsum(P dy vᵀ)),   ddots = dlogits (1 + f)
//! dq = s ddots k,   dk += s ddotsᵀ q,   dv += Pᵀ dy,   ds = Σ ddots q kᵀ = Σ q dq / s
//! ```
//!
//! Heads are parallel tasks; heads that share keys and values are backpropagated one after another.

use super::network::{Extent, refused};
use crate::{
    gpu::{Pass, StopFlag, Timing},
    kinds::{
        language::cpu::go_on,
        synaptic::presynaptic::{self, Draws, KeyState, Mode, Presynaptic},
    },
    nn::{
        gemm::{Epilogue, Gemm, Layout, cpu::gemm},
        real::{Loop, Real, max, sums, wide_loop},
    },
    sim::SimError,
};
use rayon::prelude::*;

/// Attention over all heads of a block.
#[derive(Clone, Copy)]
pub struct Heads<'a, R> {
    /// Number and length of the sequences.
    pub extent: Extent,
    /// Number of query heads, H.
    pub heads: usize,
    /// Number of key/value heads, Hkv.
    pub kv_heads: usize,
    /// Features per head, D.
    pub head_dim: usize,
    /// Scales s of the logits, `[H]`.
    pub scales: &'a [R],
    /// Mechanism of release.
    pub presynaptic: &'a Presynaptic,
    /// Addresses of the random draws of the block's first head in training; `None` for a pass without draws.
    pub draws: Option<Draws>,
    /// Whether the parts of the forward pass are timed.
    pub profiled: bool,
    /// Stop flag, checked before each head.
    pub stop: &'a StopFlag,
}

/// Queries `[tokens, H D]`, keys and values `[tokens, Hkv D]` of all heads.
#[derive(Clone, Copy)]
pub struct Rows<'a, R> {
    /// Queries, `[tokens, H D]`.
    pub q: &'a [R],
    /// Keys, `[tokens, Hkv D]`.
    pub k: &'a [R],
    /// Values, `[tokens, Hkv D]`.
    pub v: &'a [R],
}

/// Workspace of a task.
struct Scratch<R> {
    /// Dot products of all edges, `[T, T]`.
    edges: Vec<R>,
    state: KeyState<R>,
}

/// Returns the layout of the rows `[n, D]` of one head within rows of all heads.
const fn rows_of_head(width: usize) -> Layout {
    Layout::rows(width)
}

/// Replaces the logits of a row by probabilities. Logits of `-∞` become 0.
#[inline(always)]
pub fn softmax<R: Real>(row: &mut [R]) {
    let largest = max(row).f64();
    row.iter_mut().for_each(|x| *x = R::of(R::exp_wide(x.f64() - largest)));
    let [sum] = sums([&*row], |[x]| [x]);
    let factor = R::of(1.0 / sum);
    row.iter_mut().for_each(|x| *x *= factor);
}

/// Loop that replaces the logits of visible edges by probabilities, for all queries.
struct CausalSoftmax<'a, R> {
    t: usize,
    rows: &'a mut [R],
}

impl<R: Real> Loop for CausalSoftmax<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (query, row) in self.rows.chunks_exact_mut(self.t).enumerate() {
            let (visible, invisible) = row.split_at_mut(query + 1);
            softmax(visible);
            invisible.fill(R::zero());
        }
    }
}

/// Loop that replaces gradients of probabilities by gradients of dot products.
struct EdgeGradients<'a, R> {
    t: usize,
    probabilities: &'a [R],
    factor: Option<&'a [R]>,
    edges: &'a mut [R],
}

impl<R: Real> Loop for EdgeGradients<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (t, one) = (self.t, R::one());
        for (query, d) in self.edges.chunks_exact_mut(t).enumerate() {
            let p = &self.probabilities[query * t..][..=query];
            let (d, invisible) = d.split_at_mut(query + 1);
            invisible.fill(R::zero());
            let [mean] = sums([p, &*d], |[p, d]| [p * d]);
            let mean = R::of(mean);
            match self.factor {
                Some(factor) => {
                    let factor = &factor[query * t..][..=query];
                    d.iter_mut().zip(p).zip(factor).for_each(|((d, p), f)| *d = *p * (*d - mean) * (one + *f));
                }
                None => d.iter_mut().zip(p).for_each(|(d, p)| *d = *p * (*d - mean)),
            }
        }
    }
}

impl<R: Real + Default> Heads<'_, R> {
    /// Whether the mode has derivatives of the bias of edges.
    pub fn has_factor(presynaptic: &Presynaptic) -> bool {
        presynaptic.mode != Mode::Off
    }

    /// Writes probabilities `[B, H, T, T]`, derivatives of the bias (same shape, or empty), and outputs `[tokens, H D]`;
    /// `by_head` is workspace of the size of the outputs. Returns the times of the parts, averaged over the threads. Fails
    /// if the sizes do not match or the pass is stopped.
    pub fn forward(
        &self,
        x: Rows<'_, R>,
        probabilities: &mut [R],
        factor: &mut [R],
        by_head: &mut [R],
        y: &mut [R],
    ) -> Result<Vec<Timing>, SimError> {
        let (t, d) = (self.extent.seq_len, self.head_dim);
        let factors: Vec<Option<&mut [R]>> = match factor.is_empty() {
            true => (0..self.extent.sequences * self.heads).map(|_| None).collect(),
            false => factor.chunks_mut(t * t).map(Some).collect(),
        };
        let tasks = probabilities.par_chunks_mut(t * t).zip(factors).zip(by_head.par_chunks_mut(t * d));
        let tasks = tasks.with_max_len(1).enumerate().map_init(
            || self.scratch(),
            |scratch, (i, ((probabilities, factor), y))| self.head_forward(i, x, scratch, (probabilities, factor), y),
        );
        let timings = tasks.collect::<Result<Vec<_>, SimError>>()?;
        self.gather_tokens(self.heads, by_head, y);
        let mut sums: Vec<Timing> = vec![];
        for timing in timings.into_iter().flatten() {
            match sums.iter_mut().find(|sum| sum.name == timing.name) {
                Some(sum) => sum.nanos += timing.nanos,
                None => sums.push(timing),
            }
        }
        let of_all = |sum: Timing| {
            let mut timing = Timing { items: self.extent.n_tokens() as u64, ..Timing::of(sum.name) };
            timing.launch(sum.nanos / rayon::current_num_threads() as u64);
            timing
        };
        Ok(sums.into_iter().map(of_all).collect())
    }

    fn scratch(&self) -> Scratch<R> {
        let t = self.extent.seq_len;
        Scratch { edges: vec![R::zero(); t * t], state: KeyState::fresh(self.presynaptic, t) }
    }

    /// Returns the rows of sequence b, starting at the columns of a head.
    fn of_head<'x>(&self, b: usize, heads: usize, head: usize, x: &'x [R]) -> &'x [R] {
        &x[(b * self.extent.seq_len * heads + head) * self.head_dim..]
    }

    fn head_forward(
        &self,
        i: usize,
        x: Rows<'_, R>,
        scratch: &mut Scratch<R>,
        (probabilities, factor): (&mut [R], Option<&mut [R]>),
        y: &mut [R],
    ) -> Result<Vec<Timing>, SimError> {
        go_on(self.stop)?;
        let mut pass = Pass::default();
        pass.profiled = self.profiled;
        let (b, head, t, d) = (i / self.heads, i % self.heads, self.extent.seq_len, self.head_dim);
        let kv = head / (self.heads / self.kv_heads);
        let q = self.of_head(b, self.heads, head, x.q);
        let [k, v] = [x.k, x.v].map(|x| self.of_head(b, self.kv_heads, kv, x));
        let (wide_rows, narrow) = (rows_of_head(self.heads * d), rows_of_head(self.kv_heads * d));
        let scores = Gemm { a: wide_rows, b: narrow.transposed(), ..Gemm::new(t, t, d) };
        let scores = scores.scaled(self.scales[head], R::zero());
        let (dots, state) = (&mut scratch.edges[..], &mut scratch.state);
        pass.span("scores", 0, || gemm(&scores, q, k, dots, Epilogue::None)).map_err(refused)?;
        let draws = self.draws.map(|draws| Draws { head: draws.head + i as u32, ..draws });
        state.reset(self.presynaptic);
        pass.span("release", 0, || {
            presynaptic::forward(self.presynaptic, 0, t, dots, probabilities, factor, state, draws.as_ref());
        });
        pass.span("softmax", 0, || wide_loop(CausalSoftmax { t, rows: probabilities }));
        let values = Gemm { b: narrow, ..Gemm::new(t, d, t) };
        pass.span("values", 0, || gemm(&values, probabilities, v, y, Epilogue::None)).map_err(refused)?;
        Ok(pass.timings)
    }

    /// Transposes `[B, heads, T, D]` to `[B, T, heads, D]`.
    fn gather_tokens(&self, heads: usize, by_head: &[R], by_token: &mut [R]) {
        let (t, d) = (self.extent.seq_len, self.head_dim);
        let sequences = by_token.par_chunks_mut(t * heads * d).zip(by_head.par_chunks(t * heads * d));
        sequences.for_each(|(to, from)| {
            for (head, rows) in from.chunks_exact(t * d).enumerate() {
                for (token, row) in rows.chunks_exact(d).enumerate() {
                    to[(token * heads + head) * d..][..d].copy_from_slice(row);
                }
            }
        });
    }

    /// Writes the gradients of queries (`[tokens, H D]`), keys and values (`[tokens, Hkv D]` each) from `dy` (`[tokens, H
    /// D]`), the gradient of the output. `by_head` is workspace of `[tokens, H D]`, `kv_by_head` of keys and values. Fails
    /// if the sizes do not match or the pass is stopped.
    pub fn backward(
        &self,
        x: Rows<'_, R>,
        dy: &[R],
        (probabilities, factor): (&[R], &[R]),
        (by_head, kv_by_head): (&mut [R], &mut [R]),
        [dq, dk, dv]: [&mut [R]; 3],
    ) -> Result<(), SimError> {
        let (t, d, group) = (self.extent.seq_len, self.head_dim, self.heads / self.kv_heads);
        let (keys, values) = kv_by_head.split_at_mut(dk.len());
        let tasks = by_head.par_chunks_mut(group * t * d).zip(keys.par_chunks_mut(t * d));
        let tasks = tasks.zip(values.par_chunks_mut(t * d));
        tasks.with_max_len(1).enumerate().try_for_each_init(
            || vec![R::zero(); t * t],
            |scratch, (i, ((dq, dk), dv))| {
                dk.fill(R::zero());
                dv.fill(R::zero());
                for (h, dq) in dq.chunks_exact_mut(t * d).enumerate() {
                    let head = i * group + h;
                    let edges = head * t * t..(head + 1) * t * t;
                    let factor = if factor.is_empty() { None } else { Some(&factor[edges.clone()]) };
                    self.head_backward(head, x, dy, (&probabilities[edges], factor), scratch, [dq, dk, dv])?;
                }
                Ok::<(), SimError>(())
            },
        )?;
        self.gather_tokens(self.heads, by_head, dq);
        self.gather_tokens(self.kv_heads, keys, dk);
        self.gather_tokens(self.kv_heads, values, dv);
        Ok(())
    }

    /// Backpropagates through one head: writes `dq`, adds to `dk` and `dv`. Fails if the sizes do not match or the pass is
    /// stopped.
    fn head_backward(
        &self,
        i: usize,
        x: Rows<'_, R>,
        dy: &[R],
        (probabilities, factor): (&[R], Option<&[R]>),
        edges: &mut [R],
        [dq, dk, dv]: [&mut [R]; 3],
    ) -> Result<(), SimError> {
        go_on(self.stop)?;
        let (b, head, t, d) = (i / self.heads, i % self.heads, self.extent.seq_len, self.head_dim);
        let kv = head / (self.heads / self.kv_heads);
        let [q, dy] = [x.q, dy].map(|x| self.of_head(b, self.heads, head, x));
        let [k, v] = [x.k, x.v].map(|x| self.of_head(b, self.kv_heads, kv, x));
        let (wide_rows, narrow) = (rows_of_head(self.heads * d), rows_of_head(self.kv_heads * d));
        let by_value = Gemm { a: wide_rows, b: narrow.transposed(), ..Gemm::new(t, t, d) };
        gemm(&by_value, dy, v, edges, Epilogue::None).map_err(refused)?;
        wide_loop(EdgeGradients { t, probabilities, factor, edges });
        let (scale, one) = (self.scales[head], R::one());
        let dq_op = Gemm { b: narrow, ..Gemm::new(t, d, t) }.scaled(scale, R::zero());
        gemm(&dq_op, edges, k, dq, Epilogue::None).map_err(refused)?;
        let down = Gemm { b: wide_rows, ..Gemm::new(t, d, t).transposed_a() };
        gemm(&down.scaled(scale, one), edges, q, dk, Epilogue::None).map_err(refused)?;
        gemm(&down.scaled(one, one), probabilities, dy, dv, Epilogue::None).map_err(refused)
    }
}
