//! Forward and backward pass of one head of one sequence.

use super::{
    KEYS, ROWS,
    call::{Call, Sequence, Tile},
    rows::{dot, exponentials, sum},
};
use crate::nn::{
    attention::{Attention, HeadLayout},
    gemm::{Epilogue, Gemm, Layout, cpu::gemm},
    real::{Loop, Real, max, wide, wide_loop},
};

/// Gradients of a query head and, if kept, of its logits.
pub struct OfQueries<R> {
    /// Gradient of queries, `[lq, head_dim]`.
    pub dq: Vec<R>,
    /// Gradient of logits, `[lq, lk]`; empty unless kept.
    pub ds: Vec<R>,
}

/// Gradients of a key and value head, `[lk, head_dim]` each.
pub struct OfKeys<R> {
    pub dk: Vec<R>,
    pub dv: Vec<R>,
}

/// Computes the matrix product `c = alpha · a b + beta · c`.
fn multiply<R: Real>(g: &Gemm<R>, a: &[R], b: &[R], c: &mut [R]) {
    gemm(g, a, b, c, Epilogue::None).expect("the declaration was checked");
}

/// Task: replaces the logits of a tile by probabilities, 0 for hidden keys. The loop is too long for a closure, as in
/// [`Exponentials`].
struct Probabilities<'a, R> {
    op: &'a Attention,
    s: &'a Sequence,
    t: &'a Tile,
    /// Log-sum-exp of the sequence's queries, `[lq]`.
    lse: &'a [R],
    /// Logits of the tile, `[rows, keys]`.
    x: &'a mut [R],
}

impl<R: Real> Loop for Probabilities<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, s, t, lse, x } = self;
        for (row, i) in x.chunks_exact_mut(t.keys.len()).zip(t.rows.clone()) {
            let seen = if lse[i] == R::neg_infinity() { 0..0 } else { t.seen(op, i, s) };
            exponentials(&mut row[seen.clone()], lse[i]);
            row[..seen.start].fill(R::zero());
            row[seen.end..].fill(R::zero());
        }
    }
}

/// Task: replaces the logits of a tile by `exp(s - max)` with the running maximum, and rescales the earlier sums and results.
struct Exponentials<'a, R> {
    op: &'a Attention,
    s: &'a Sequence,
    t: &'a Tile,
    /// Logits of the tile, `[rows, keys]`.
    x: &'a mut [R],
    /// Running maximum of each query, `[lq]`.
    maxima: &'a mut [R],
    /// Running sum of each query, `[lq]`.
    sums: &'a mut [R],
    /// Running result of each query, `[lq, head_dim]`.
    o: &'a mut [R],
}

impl<R: Real> Loop for Exponentials<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, s, t, x, maxima, sums, o } = self;
        let (zero, least, dim) = (R::zero(), R::neg_infinity(), op.head_dim);
        for (row, i) in x.chunks_exact_mut(t.keys.len()).zip(t.rows.clone()) {
            let seen = t.seen(op, i, s);
            row[..seen.start].fill(zero);
            row[seen.end..].fill(zero);
            let row = &mut row[seen];
            let top = maxima[i].max(max(row));
            if top == least && row.iter().all(|x| *x == least) {
                row.fill(zero); // no visible key yet
                continue;
            }
            let factor = R::of(R::exp_wide(maxima[i].f64() - top.f64()));
            exponentials(row, top);
            sums[i] = sums[i] * factor + sum(row);
            if factor != R::one() {
                o[i * dim..][..dim].iter_mut().for_each(|x| *x *= factor);
            }
            maxima[i] = top;
        }
    }
}

impl<R: Real> Call<'_, R> {
    fn scale(&self) -> R {
        R::of(self.op.scale.into())
    }

    /// Returns the layout of a tensor's rows: one head of consecutive tokens.
    fn rows(&self, layout: &HeadLayout) -> Layout {
        Layout::rows(layout.token.max(self.op.head_dim))
    }

    /// Returns the elements of the queries from the tile's first query on.
    fn queries<'x>(&self, x: &'x [R], layout: &HeadLayout, s: &Sequence, t: &Tile, head: usize) -> &'x [R] {
        &x[self.query(layout, s, t.rows.start, head)..]
    }

    /// Returns the elements of the keys from the tile's first key on, in the head that query head `head` reads.
    fn keys<'x>(&self, x: &'x [R], layout: &HeadLayout, s: &Sequence, t: &Tile, head: usize) -> &'x [R] {
        &x[self.key(layout, s, t.keys.start, head / self.op.group())..]
    }

    /// Computes the products `alpha · queries keysᵀ` of a tile.
    fn pairs(
        &self,
        t: &Tile,
        alpha: R,
        (a, a_layout): (&[R], &HeadLayout),
        (b, b_layout): (&[R], &HeadLayout),
        out: &mut [R],
    ) {
        let g = Gemm::new(t.rows.len(), t.keys.len(), self.op.head_dim).scaled(alpha, R::zero());
        let g = Gemm { a: self.rows(a_layout), b: self.rows(b_layout).transposed(), ..g };
        multiply(&g, a, b, out);
    }

    /// Computes the logits `scale · q k + bias` of a tile, including hidden keys.
    fn logits(&self, b: usize, head: usize, t: &Tile, out: &mut [R]) {
        let (s, op, inputs) = (&self.sequences[b], self.op, &self.inputs);
        let (q, k) = (self.queries(inputs.q, &op.q, s, t, head), self.keys(inputs.k, &op.k, s, t, head));
        self.pairs(t, self.scale(), (q, &op.q), (k, &op.k), out);
        if let Some(bias) = inputs.bias {
            for (row, i) in out.chunks_exact_mut(t.keys.len()).zip(t.rows.clone()) {
                row.iter_mut().zip(t.keys.clone()).for_each(|(x, j)| *x += bias[self.bias(b, head, i, j)]);
            }
        }
    }

    /// Replaces the logits of a tile by probabilities, 0 for hidden keys.
    fn probabilities(&self, b: usize, head: usize, t: &Tile, lse: &[R], x: &mut [R]) {
        let lse = &lse[self.row(b, head)..];
        wide_loop(Probabilities { op: self.op, s: &self.sequences[b], t, lse, x });
    }

    /// Computes `o` and `lse` of the queries of a sequence.
    pub fn forward(&self, b: usize, head: usize) -> (Vec<R>, Vec<R>) {
        let (s, op, dim) = (self.sequences[b], self.op, self.op.head_dim);
        let (zero, least) = (R::zero(), R::neg_infinity());
        let (mut o, mut maxima, mut sums) = (vec![zero; s.lq * dim], vec![least; s.lq], vec![zero; s.lq]);
        let mut logits = vec![zero; ROWS.min(s.lq) * KEYS.min(s.lk)];
        for t in self.tiles(s) {
            let x = &mut logits[..t.rows.len() * t.keys.len()];
            self.logits(b, head, &t, x);
            wide_loop(Exponentials { op, s: &s, t: &t, x, maxima: &mut maxima, sums: &mut sums, o: &mut o });
            self.drop(b, head, &t, x);
            let g = Gemm::new(t.rows.len(), dim, t.keys.len()).scaled(R::one(), R::one());
            let v = self.keys(self.inputs.v, &op.v, &s, &t, head);
            multiply(&Gemm { b: self.rows(&op.v), ..g }, x, v, &mut o[t.rows.start * dim..][..t.rows.len() * dim]);
        }
        for ((row, top), sum) in o.chunks_exact_mut(dim).zip(&mut maxima).zip(sums) {
            if sum != zero {
                row.iter_mut().for_each(|x| *x /= sum);
                *top += sum.ln();
            }
        }
        (o, maxima)
    }

    /// Computes the gradients of a key and value head, and of the query heads that read it.
    pub fn backward(
        &self,
        b: usize,
        kv: usize,
        (o, lse): (&[R], &[R]),
        d_o: &[R],
        keeps: bool,
    ) -> (Vec<OfQueries<R>>, OfKeys<R>) {
        let (s, dim, group) = (self.sequences[b], self.op.head_dim, self.op.group());
        let zeros = |n: usize| vec![R::zero(); n];
        let mut keys = OfKeys { dk: zeros(s.lk * dim), dv: zeros(s.lk * dim) };
        let tile = ROWS.min(s.lq) * KEYS.min(s.lk);
        let mut work = (zeros(tile), zeros(tile));
        let heads = kv * group..(kv + 1) * group;
        let queries = heads.map(|head| self.backward_head(b, head, (o, lse), d_o, keeps, &mut keys, &mut work));
        (queries.collect(), keys)
    }

    fn backward_head(
        &self,
        b: usize,
        head: usize,
        (o, lse): (&[R], &[R]),
        d_o: &[R],
        keeps: bool,
        keys: &mut OfKeys<R>,
        (p, ds): &mut (Vec<R>, Vec<R>),
    ) -> OfQueries<R> {
        let (s, op, dim, scale) = (self.sequences[b], self.op, self.op.head_dim, self.scale());
        let mut out = OfQueries { dq: vec![R::zero(); s.lq * dim], ds: vec![] };
        if keeps {
            out.ds.resize(s.lq * s.lk, R::zero());
        }
        let row_dots = (0..s.lq).map(|i| {
            let at = self.query(&op.o, &s, i, head);
            dot(&o[at..][..dim], &d_o[at..][..dim])
        });
        let row_dots: Vec<R> = wide(|| row_dots.collect());
        for t in self.tiles(s) {
            let (rows, width) = (t.rows.len(), t.keys.len());
            let (p, ds) = (&mut p[..rows * width], &mut ds[..rows * width]);
            self.logits(b, head, &t, p);
            self.probabilities(b, head, &t, lse, p);
            let (q, d_o) = (self.queries(self.inputs.q, &op.q, &s, &t, head), self.queries(d_o, &op.o, &s, &t, head));
            let (k, v) = (self.keys(self.inputs.k, &op.k, &s, &t, head), self.keys(self.inputs.v, &op.v, &s, &t, head));
            self.pairs(&t, R::one(), (d_o, &op.o), (v, &op.v), ds);
            self.drop(b, head, &t, ds);
            wide(|| {
                for (i, (ds, p)) in ds.chunks_exact_mut(width).zip(p.chunks_exact(width)).enumerate() {
                    let d = row_dots[t.rows.start + i];
                    ds.iter_mut().zip(p).for_each(|(ds, p)| *ds = *p * (*ds - d));
                    if keeps {
                        out.ds[(t.rows.start + i) * s.lk + t.keys.start..][..width].copy_from_slice(ds);
                    }
                }
            });
            self.drop(b, head, &t, p);
            let by_keys = Gemm::new(width, dim, rows).transposed_a();
            let (dk, dv) = (&mut keys.dk[t.keys.start * dim..], &mut keys.dv[t.keys.start * dim..]);
            multiply(&Gemm { b: self.rows(&op.o), ..by_keys.scaled(R::one(), R::one()) }, p, d_o, dv);
            multiply(&Gemm { b: self.rows(&op.q), ..by_keys.scaled(scale, R::one()) }, ds, q, dk);
            let by_queries = Gemm::new(rows, dim, width).scaled(scale, R::one());
            let dq = &mut out.dq[t.rows.start * dim..][..rows * dim];
            multiply(&Gemm { b: self.rows(&op.k), ..by_queries }, ds, k, dq);
        }
        out
    }

    /// Computes the probabilities of one head, `[q_len, k_len]`.
    pub fn map(&self, b: usize, head: usize, lse: &[R], out: &mut [R]) {
        let s = self.sequences[b];
        let mut tile = vec![R::zero(); ROWS.min(s.lq) * KEYS.min(s.lk)];
        for t in self.tiles(s) {
            let (width, x) = (t.keys.len(), &mut tile[..t.rows.len() * t.keys.len()]);
            self.logits(b, head, &t, x);
            self.probabilities(b, head, &t, lse, x);
            for (row, i) in x.chunks_exact(width).zip(t.rows.clone()) {
                out[i * self.op.k_len + t.keys.start..][..width].copy_from_slice(row);
            }
        }
    }
}
