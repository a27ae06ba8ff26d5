//! CPU definition of [`Norm`]: every sum in f64, in the order of [`sums`]; results are rounded once.

use super::{Norm, NormKind};
use crate::nn::{
    lengths::LengthError,
    real::{Loop, Real, sums, wide_loop},
};
use rayon::prelude::*;

/// Number of rows per task. Gradients of parameters are summed per task, then over tasks in their order, so that the number of
/// threads changes no bit.
const TASK_ROWS: usize = 64;

/// Computes `y = norm(x)`; also writes the statistics of each row for [`backward`].
pub fn forward<R: Real>(
    op: &Norm,
    x: &[R],
    weight: &[R],
    bias: Option<&[R]>,
    y: &mut [R],
    stats: &mut [R],
) -> Result<(), LengthError> {
    op.check(x.len(), y.len(), weight.len(), bias.map(<[R]>::len), stats.len())?;
    if x.is_empty() {
        return Ok(());
    }
    let task = TASK_ROWS * op.columns;
    let tasks = x.par_chunks(task).zip(y.par_chunks_mut(task)).zip(stats.par_chunks_mut(2 * TASK_ROWS));
    tasks.for_each(|((x, y), stats)| {
        wide_loop(Forward { op, x, weight, bias, y, stats });
    });
    Ok(())
}

/// Task of [`forward`]; like [`Backward`], too long for a closure.
struct Forward<'a, R> {
    op: &'a Norm,
    x: &'a [R],
    weight: &'a [R],
    bias: Option<&'a [R]>,
    y: &'a mut [R],
    stats: &'a mut [R],
}

impl<R: Real> Loop for Forward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, x, weight, bias, y, stats } = self;
        let rows = x.chunks_exact(op.columns).zip(y.chunks_exact_mut(op.columns));
        for ((x, y), stats) in rows.zip(stats.chunks_exact_mut(2)) {
            let (mean, scale) = statistics(op, x);
            normalise(x, (mean, scale), weight, bias, y);
            (stats[0], stats[1]) = (R::of(mean), R::of(scale));
        }
    }
}

/// Computes the mean and scale of one row.
#[inline(always)]
fn statistics<R: Real>(op: &Norm, x: &[R]) -> (f64, f64) {
    let n = op.columns as f64;
    let mean = match op.kind {
        NormKind::Layer => sums([x], |[x]| [x])[0] / n,
        NormKind::Rms => 0.0,
    };
    let [squares] = sums([x], |[x]| [(x - mean) * (x - mean)]);
    (mean, 1.0 / (squares / n + op.eps).sqrt())
}

#[inline(always)]
fn normalise<R: Real>(x: &[R], (mean, scale): (f64, f64), weight: &[R], bias: Option<&[R]>, y: &mut [R]) {
    let terms = y.iter_mut().zip(x).zip(weight);
    let normalised = |x: &R| (x.f64() - mean) * scale;
    match bias {
        Some(bias) => terms.zip(bias).for_each(|(((y, x), g), b)| *y = R::of(normalised(x) * g.f64() + b.f64())),
        None => terms.for_each(|((y, x), g)| *y = R::of(normalised(x) * g.f64())),
    }
}

/// Adds the gradients of input, weight and bias to `dx`, `dweight` and `dbias`.
pub fn backward<R: Real>(
    op: &Norm,
    dy: &[R],
    x: &[R],
    weight: &[R],
    stats: &[R],
    dx: &mut [R],
    dweight: &mut [R],
    mut dbias: Option<&mut [R]>,
) -> Result<(), LengthError> {
    op.check(x.len(), dy.len(), weight.len(), dbias.as_ref().map(|b| b.len()), stats.len())?;
    op.check(dx.len(), dy.len(), dweight.len(), None, stats.len())?;
    if x.is_empty() {
        return Ok(());
    }
    let (columns, task) = (op.columns, TASK_ROWS * op.columns);
    let tasks = dy.par_chunks(task).zip(x.par_chunks(task)).zip(dx.par_chunks_mut(task));
    let partial: Vec<Gradients> = tasks
        .zip(stats.par_chunks(2 * TASK_ROWS))
        .map(|(((dy, x), dx), stats)| {
            let mut sum = Gradients { weight: vec![0.0; columns], bias: vec![0.0; columns] };
            wide_loop(Backward { op, dy, x, weight, stats, dx, sum: &mut sum });
            sum
        })
        .collect();
    let total = |sum: &mut [R], of: fn(&Gradients) -> &[f64]| {
        for (c, sum) in sum.iter_mut().enumerate() {
            *sum += R::of(partial.iter().map(|p| of(p)[c]).sum::<f64>());
        }
    };
    total(dweight, |p| &p.weight);
    if let Some(dbias) = &mut dbias {
        total(dbias, |p| &p.bias);
    }
    Ok(())
}

/// Parameter gradients, summed over the rows of a task.
struct Gradients {
    weight: Vec<f64>,
    bias: Vec<f64>,
}

/// Task of [`backward`].
struct Backward<'a, R> {
    op: &'a Norm,
    dy: &'a [R],
    x: &'a [R],
    weight: &'a [R],
    stats: &'a [R],
    dx: &'a mut [R],
    sum: &'a mut Gradients,
}

impl<R: Real> Loop for Backward<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { op, dy, x, weight, stats, dx, sum } = self;
        let rows = dy.chunks_exact(op.columns).zip(x.chunks_exact(op.columns)).zip(dx.chunks_exact_mut(op.columns));
        for (((dy, x), dx), stats) in rows.zip(stats.chunks_exact(2)) {
            backward_row(op, dy, x, weight, (stats[0].f64(), stats[1].f64()), dx, sum);
        }
    }
}

#[inline(always)]
fn backward_row<R: Real>(
    op: &Norm,
    dy: &[R],
    x: &[R],
    weight: &[R],
    (mean, scale): (f64, f64),
    dx: &mut [R],
    sum: &mut Gradients,
) {
    let n = op.columns as f64;
    // The stored mean was rounded to R: subtract the remaining mean of the normalised row too.
    let mean = match op.kind {
        NormKind::Layer => mean + sums([x], |[x]| [x - mean])[0] / n,
        NormKind::Rms => mean,
    };
    let [d, dn] = sums([dy, x, weight], |[dy, x, g]| [dy * g, dy * g * ((x - mean) * scale)]);
    let d = if op.kind == NormKind::Layer { d / n } else { 0.0 };
    let dn = dn / n;
    for (((dx, dy), x), g) in dx.iter_mut().zip(dy).zip(x).zip(weight) {
        let normalised = (x.f64() - mean) * scale;
        *dx += R::of(scale * (dy.f64() * g.f64() - d - normalised * dn));
    }
    for ((sum, dy), x) in sum.weight.iter_mut().zip(dy).zip(x) {
        *sum += dy.f64() * ((x.f64() - mean) * scale);
    }
    for (sum, dy) in sum.bias.iter_mut().zip(dy) {
        *sum += dy.f64();
    }
}

#[cfg(test)]
mod tests;
