//! CPU definition of [`Softmax`]: scores, exponentials and sums in f64, in the order of [`sums`]; results are rounded once.

use super::{Mask, Softmax};
use crate::nn::{
    lengths::LengthError,
    real::{Loop, Real, max, sums, wide_loop},
};
use rayon::prelude::*;

/// Number of rows per task.
const TASK_ROWS: usize = 16;

/// Computes the probabilities and the log-sum-exp of each row. Lengths above the declared ones are clamped.
pub fn forward<R: Real>(
    op: &Softmax,
    x: &[R],
    mask: Mask<&[R], &[i32]>,
    y: &mut [R],
    lse: &mut [R],
) -> Result<(), LengthError> {
    op.check(x.len(), y.len(), lse.len())?;
    op.check_mask(&mask, |bias| bias.len(), |lens| lens.len())?;
    if x.is_empty() {
        lse.fill(R::neg_infinity());
        return Ok(());
    }
    let task = TASK_ROWS * op.k_len;
    let tasks = y.par_chunks_mut(task).zip(x.par_chunks(task)).zip(lse.par_chunks_mut(TASK_ROWS)).enumerate();
    tasks.for_each_init(
        || vec![0.0; op.k_len],
        |scores, (t, ((y, x), lse))| wide_loop(Forward { op, mask: &mask, first: t * TASK_ROWS, x, scores, y, lse }),
    );
    Ok(())
}

/// Forward task over a range of rows.
struct Forward<'a, R> {
    op: &'a Softmax,
    mask: &'a Mask<&'a [R], &'a [i32]>,
    /// Index of the first row.
    first: usize,
    x: &'a [R],
    scores: &'a mut [f64],
    y: &'a mut [R],
    lse: &'a mut [R],
}

impl<R: Real> Loop for Forward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, mask, first, x, scores, y, lse } = self;
        let rows = y.chunks_exact_mut(op.k_len).zip(x.chunks_exact(op.k_len)).zip(lse);
        for (row, ((y, x), lse)) in (first..).zip(rows) {
            let (head, i) = (row / op.q_len, row % op.q_len);
            let (b, h) = (head / op.heads, head % op.heads);
            let len = |lens: Option<&[i32]>, most: usize| lens.map_or(most, |l| most.min(l[b].max(0) as usize));
            let n = op.n_keys(i, len(mask.q_lens, op.q_len), len(mask.k_lens, op.k_len));
            let scores = &mut scores[..n];
            scores.iter_mut().zip(x).for_each(|(s, x)| *s = op.scale * x.f64());
            if let Some(bias) = &mask.bias {
                let [batch, head, query, key] = bias.strides;
                let from = &bias.values[b * batch + h * head + i * query..];
                scores.iter_mut().enumerate().for_each(|(j, s)| *s += from[j * key].f64());
            }
            *lse = R::of(row_forward(scores, y));
        }
    }
}

/// Computes the probabilities of the first keys from their scores; returns the log-sum-exp.
#[inline(always)]
fn row_forward<R: Real>(scores: &mut [f64], y: &mut [R]) -> f64 {
    let (y, masked) = y.split_at_mut(scores.len());
    masked.fill(R::zero());
    let largest = max(scores);
    if largest == f64::NEG_INFINITY {
        // The row has no key, or is NaN: NaN is not larger than -∞ either, and stays NaN.
        let is_nan = scores.iter().any(|s| s.is_nan());
        let (p, lse) = if is_nan { (R::nan(), f64::NAN) } else { (R::zero(), f64::NEG_INFINITY) };
        y.fill(p);
        return lse;
    }
    scores.iter_mut().for_each(|s| *s = R::exp_wide(*s - largest));
    let [sum] = sums([&*scores], |[e]| [e]);
    y.iter_mut().zip(&*scores).for_each(|(y, e)| *y = R::of(e / sum));
    largest + R::ln_wide(sum)
}

/// Computes `dx = scale y (dy - Σ y dy)`, which overwrites `dx`; keys that are not kept get 0.
pub fn backward<R: Real>(op: &Softmax, y: &[R], dy: &[R], dx: &mut [R]) -> Result<(), LengthError> {
    op.check(y.len(), dy.len(), op.n_rows())?;
    op.check(dx.len(), dy.len(), op.n_rows())?;
    if y.is_empty() {
        return Ok(());
    }
    let task = TASK_ROWS * op.k_len;
    let tasks = dx.par_chunks_mut(task).zip(y.par_chunks(task)).zip(dy.par_chunks(task));
    tasks.for_each(|((dx, y), dy)| wide_loop(Backward { op, y, dy, dx }));
    Ok(())
}

/// Backward task over a range of rows.
struct Backward<'a, R> {
    op: &'a Softmax,
    y: &'a [R],
    dy: &'a [R],
    dx: &'a mut [R],
}

impl<R: Real> Loop for Backward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let op = self.op;
        let rows = self.dx.chunks_exact_mut(op.k_len).zip(self.y.chunks_exact(op.k_len));
        for ((dx, y), dy) in rows.zip(self.dy.chunks_exact(op.k_len)) {
            // Elements of `dy` are ignored where `y` is 0, even if NaN.
            let kept = |y: f64, dy: f64| if y == 0.0 { 0.0 } else { dy };
            let [dot] = sums([y, dy], |[y, dy]| [y * kept(y, dy)]);
            for ((dx, y), dy) in dx.iter_mut().zip(y).zip(dy) {
                let (y, dy) = (y.f64(), dy.f64());
                *dx = R::of(op.scale * y * (kept(y, dy) - dot));
            }
        }
    }
}

#[cfg(test)]
mod tests;
