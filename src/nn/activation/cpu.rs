//! CPU definition of activation functions: in f64 with the elementary functions of [`Real`], rounded once.

use super::Activation;
use crate::nn::{
    lengths::LengthError,
    real::{Loop, Real, wide, wide_loop},
};
use rayon::prelude::*;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

/// Slope `2 sqrt(2/π)` of [`gelu_argument`] at 0.
const GELU_SLOPE: f64 = FRAC_2_SQRT_PI * std::f64::consts::SQRT_2;
const GELU_CUBE: f64 = 0.044_715;
/// Number of elements per task.
const TASK: usize = 16_384;

/// Computes `y = act(x)`; `x` is `[rows, columns]`, or `[rows, 2 columns]` for SwiGLU.
pub fn forward<R: Real>(act: Activation, rows: usize, columns: usize, x: &[R], y: &mut [R]) -> Result<(), LengthError> {
    act.check(rows, columns, x.len(), y.len())?;
    match act {
        Activation::GeluTanh => map(x, y, |x| x * logistic::<R>(gelu_argument(x))),
        Activation::GeluErf => map(x, y, |x| x * normal_cdf::<R>(x)),
        Activation::Relu => map(x, y, |x| if x < 0.0 { 0.0 } else { x }),
        Activation::ReluSquared => map(x, y, |x| if x < 0.0 { 0.0 } else { x * x }),
        Activation::SwiGlu if columns > 0 => {
            let task = TASK.div_ceil(columns);
            y.par_chunks_mut(task * columns).zip(x.par_chunks(2 * task * columns)).for_each(|(y, x)| {
                wide(|| {
                    for (y, x) in y.chunks_exact_mut(columns).zip(x.chunks_exact(2 * columns)) {
                        let (a, b) = x.split_at(columns);
                        for ((y, a), b) in y.iter_mut().zip(a).zip(b) {
                            *y = R::of(a.f64() * logistic::<R>(a.f64()) * b.f64());
                        }
                    }
                });
            });
        }
        Activation::SwiGlu => {}
    }
    Ok(())
}

/// Computes `dx = dy · act'(x)`; overwrites `dx`.
pub fn backward<R: Real>(
    act: Activation,
    rows: usize,
    columns: usize,
    x: &[R],
    dy: &[R],
    dx: &mut [R],
) -> Result<(), LengthError> {
    act.check(rows, columns, x.len(), dy.len())?;
    act.check(rows, columns, dx.len(), dy.len())?;
    match act {
        Activation::GeluTanh => map2(x, dy, dx, |x, dy| {
            // 0.5 (1 + tanh(u)) is the logistic function of 2 u.
            let s = logistic::<R>(gelu_argument(x));
            dy * (s + x * s * (1.0 - s) * (GELU_SLOPE * (1.0 + 3.0 * GELU_CUBE * x * x)))
        }),
        Activation::GeluErf => map2(x, dy, dx, |x, dy| {
            let density = 0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * R::exp_wide(-0.5 * x * x);
            dy * (normal_cdf::<R>(x) + x * density)
        }),
        Activation::Relu => map2(x, dy, dx, |x, dy| if x > 0.0 { dy } else { 0.0 }),
        Activation::ReluSquared => map2(x, dy, dx, |x, dy| if x > 0.0 { 2.0 * x * dy } else { 0.0 }),
        Activation::SwiGlu if columns > 0 => {
            let task = TASK.div_ceil(columns);
            let tasks = dx.par_chunks_mut(2 * task * columns).zip(x.par_chunks(2 * task * columns));
            tasks.zip(dy.par_chunks(task * columns)).for_each(|((dx, x), dy)| {
                wide(|| {
                    let rows = dx.chunks_exact_mut(2 * columns).zip(x.chunks_exact(2 * columns));
                    for ((dx, x), dy) in rows.zip(dy.chunks_exact(columns)) {
                        let ((a, b), (da, db)) = (x.split_at(columns), dx.split_at_mut(columns));
                        for ((((da, db), a), b), dy) in da.iter_mut().zip(db).zip(a).zip(b).zip(dy) {
                            let (a, b, dy) = (a.f64(), b.f64(), dy.f64());
                            let s = logistic::<R>(a);
                            *da = R::of(dy * b * s * (1.0 + a * (1.0 - s)));
                            *db = R::of(dy * a * s);
                        }
                    }
                });
            });
        }
        Activation::SwiGlu => {}
    }
    Ok(())
}

/// Returns twice the argument of the tanh in GELU: `2 sqrt(2/π) (x + 0.044715 x³)`.
#[inline(always)]
fn gelu_argument(x: f64) -> f64 {
    GELU_SLOPE * (x + GELU_CUBE * x * x * x)
}

/// Computes the logistic function `1 / (1 + e^-x)`.
#[inline(always)]
fn logistic<R: Real>(x: f64) -> f64 {
    1.0 / (1.0 + R::exp_wide(-x))
}

/// Computes the cumulative distribution function of the standard normal distribution.
#[inline(always)]
fn normal_cdf<R: Real>(x: f64) -> f64 {
    0.5 * R::erfc_wide(x * -FRAC_1_SQRT_2)
}

fn map<R: Real>(x: &[R], y: &mut [R], f: impl Fn(f64) -> f64 + Sync) {
    let task = |(y, x): (&mut [R], &[R])| wide(|| y.iter_mut().zip(x).for_each(|(y, x)| *y = R::of(f(x.f64()))));
    if y.len() <= TASK {
        return task((y, x));
    }
    y.par_chunks_mut(TASK).zip(x.par_chunks(TASK)).for_each(task);
}

fn map2<R: Real>(x: &[R], dy: &[R], dx: &mut [R], f: impl Fn(f64, f64) -> f64 + Sync) {
    let task = |((dx, x), dy): ((&mut [R], &[R]), &[R])| wide_loop(Gradient { x, dy, dx, f: &f });
    if dx.len() <= TASK {
        return task(((dx, x), dy));
    }
    dx.par_chunks_mut(TASK).zip(x.par_chunks(TASK)).zip(dy.par_chunks(TASK)).for_each(task);
}

/// Task of [`map2`]: too long for a closure.
struct Gradient<'a, R, F> {
    x: &'a [R],
    dy: &'a [R],
    dx: &'a mut [R],
    f: &'a F,
}

impl<R: Real, F: Fn(f64, f64) -> f64> Loop for Gradient<'_, R, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((dx, x), dy) in self.dx.iter_mut().zip(self.x).zip(self.dy) {
            *dx = R::of((self.f)(x.f64(), dy.f64()));
        }
    }
}

#[cfg(test)]
mod tests;
