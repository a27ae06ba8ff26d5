//! The definition of the optimisers, generic over f32 and f64.
//!
//! Elements are independent. Sums are taken in f64 over runs of [`RUN`] elements and added in order: they have the same bits for
//! any number of threads.

use super::{AdamW, Clip, MUON_EPS, Matrix, Mode, Muon, NEWTON_SCHULZ, ParameterGroups, Rule, Update, muon_factor};
use crate::nn::{
    gemm::{Epilogue, Gemm, GemmError, cpu::gemm},
    parameters::ParameterMap,
    real::Real,
};
use rayon::prelude::*;
use std::ops::Range;

/// Number of elements per task and per partial sum.
pub const RUN: usize = 1 << 14;

/// Weights and optimiser state; all buffers have the same map.
pub struct Buffers<'a, R> {
    /// Parameters, updated in place.
    pub p: &'a mut [R],
    /// Mean of gradients; for Muon the momentum.
    pub m: &'a mut [R],
    /// Mean of squared gradients.
    pub v: &'a mut [R],
}

/// Computes the sum of squares in f64.
pub fn sum_of_squares<R: Real>(g: &[R]) -> f64 {
    let run = |run: &[R]| run.iter().map(|g| g.f64() * g.f64()).sum::<f64>();
    g.par_chunks(RUN).map(run).collect::<Vec<f64>>().into_iter().sum()
}

/// Computes the norm of the gradient over all parameters that are not frozen; NaN or infinite if an element is.
pub fn norm<R: Real>(map: &ParameterMap, groups: &ParameterGroups, g: &[R]) -> f64 {
    let views = groups.views(map).filter(|(_, rule)| rule.mode() != Mode::Frozen);
    views.map(|(view, _)| sum_of_squares(&g[view.range()])).sum::<f64>().sqrt()
}

/// Applies one AdamW update to slices of equal length.
pub fn adamw<R: Real>(op: &AdamW, update: &Update, rule: &Rule, to: Buffers<'_, R>, g: &[R]) {
    let (c1, c2) = op.bias_corrections(update.t);
    let [b1, b2, eps, scale, decay] = [op.beta1, op.beta2, op.eps, update.grad_scale, rule.decay].map(R::of);
    let (rest1, rest2) = (R::of(1.0 - op.beta1), R::of(1.0 - op.beta2));
    let (c1, c2, rate) = (R::of(1.0 / c1), R::of(1.0 / c2), R::of(update.learning_rate * rule.lr_factor));
    let runs = to.p.par_chunks_mut(RUN).zip(to.m.par_chunks_mut(RUN)).zip(to.v.par_chunks_mut(RUN));
    runs.zip(g.par_chunks(RUN)).for_each(|(((p, m), v), g)| {
        for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
            let g = *g * scale;
            *m = b1 * *m + rest1 * g;
            *v = b2 * *v + rest2 * g * g;
            *p -= rate * (*m * c1 / ((*v * c2).sqrt() + eps) + decay * *p);
        }
    });
}

/// Replaces `x` by nearly the closest orthogonal matrix, with the Newton-Schulz iteration. Fails if `x` has fewer elements than
/// the matrix.
pub fn orthogonalise<R: Real>(matrix: &Matrix, x: &mut [R], iterations: u32) -> Result<(), GemmError> {
    let (rows, columns, side) = (matrix.rows, matrix.columns, matrix.side());
    let [a, b, c] = NEWTON_SCHULZ.map(R::of);
    let factor = R::of(1.0 / (sum_of_squares(x).sqrt() + MUON_EPS));
    x.iter_mut().for_each(|x| *x *= factor);
    let (mut gram, mut polynomial) = (vec![R::zero(); side * side], vec![R::zero(); side * side]);
    let mut next = vec![R::zero(); x.len()];
    let is_wide = rows <= columns;
    for _ in 0..iterations {
        if is_wide {
            gemm(&Gemm::new(side, side, columns).transposed_b(), x, x, &mut gram, Epilogue::None)?;
        } else {
            gemm(&Gemm::new(side, side, rows).transposed_a(), x, x, &mut gram, Epilogue::None)?;
        }
        polynomial.copy_from_slice(&gram);
        gemm(&Gemm::new(side, side, side).scaled(c, b), &gram, &gram, &mut polynomial, Epilogue::None)?;
        next.copy_from_slice(x);
        if is_wide {
            gemm(&Gemm::new(rows, columns, side).scaled(R::one(), a), &polynomial, x, &mut next, Epilogue::None)?;
        } else {
            gemm(&Gemm::new(rows, columns, side).scaled(R::one(), a), x, &polynomial, &mut next, Epilogue::None)?;
        }
        x.copy_from_slice(&next);
    }
    Ok(())
}

/// Applies one Muon update to one matrix; all slices hold only its elements. Fails if `g` has fewer elements than the matrix.
pub fn muon<R: Real>(
    op: &Muon,
    update: &Update,
    rule: &Rule,
    matrix: &Matrix,
    p: &mut [R],
    momentum: &mut [R],
    g: &[R],
) -> Result<(), GemmError> {
    let [mu, scale] = [op.momentum, update.grad_scale].map(R::of);
    let mut x = vec![R::zero(); g.len()];
    for ((x, b), g) in x.iter_mut().zip(momentum.iter_mut()).zip(g) {
        let g = *g * scale;
        *b = mu * *b + g;
        *x = if op.is_nesterov { g + mu * *b } else { *b };
    }
    orthogonalise(matrix, &mut x, op.iterations)?;
    let rate = R::of(update.learning_rate * rule.lr_factor);
    let (factor, decay) = (R::of(muon_factor(matrix.rows, matrix.columns)), R::of(rule.decay));
    for (p, x) in p.iter_mut().zip(&x) {
        *p -= rate * (factor * *x + decay * *p);
    }
    Ok(())
}

/// Optimiser of all parameters of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimizer {
    /// Hyperparameters of AdamW.
    pub adamw: AdamW,
    /// Hyperparameters of Muon.
    pub muon: Muon,
    /// Maximum norm of the gradient.
    pub clip: Clip,
    /// Update rules by group of parameters.
    pub groups: ParameterGroups,
    /// Matrices updated by Muon, from [`ParameterGroups::matrices`].
    pub matrices: Vec<(Matrix, Rule)>,
}

/// Result of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Norm of the gradient before clipping.
    pub norm: f64,
    /// Whether the update was applied. If not, the gradient was not finite, and nothing changed.
    pub is_applied: bool,
}

impl Optimizer {
    /// Updates all parameters. `update.grad_scale` is 1 / loss scale; this function applies the clipping.
    pub fn update<R: Real>(
        &self,
        map: &ParameterMap,
        update: &Update,
        to: Buffers<'_, R>,
        g: &[R],
    ) -> Result<Outcome, GemmError> {
        let norm = norm(map, &self.groups, g) * update.grad_scale;
        if !norm.is_finite() {
            return Ok(Outcome { norm, is_applied: false });
        }
        let update = Update { grad_scale: update.grad_scale * self.clip.factor(norm), ..*update };
        let Buffers { p, m, v } = to;
        for (view, rule) in self.groups.views(map).filter(|(_, rule)| rule.mode() == Mode::AdamW) {
            let range = view.range();
            let part = Buffers { p: &mut p[range.clone()], m: &mut m[range.clone()], v: &mut v[range.clone()] };
            adamw(&self.adamw, &update, rule, part, &g[range]);
        }
        for (matrix, rule) in &self.matrices {
            let range = matrix.range();
            let (p, m) = (&mut p[range.clone()], &mut m[range.clone()]);
            muon(&self.muon, &update, rule, matrix, p, m, &g[range])?;
        }
        Ok(Outcome { norm, is_applied: true })
    }
}

impl<R: Real> Buffers<'_, R> {
    fn each(&mut self) -> [&mut [R]; 3] {
        [&mut *self.p, &mut *self.m, &mut *self.v]
    }

    /// Copies a range of parameters with its optimiser state to the same number of elements at `to`.
    pub fn copy_range(&mut self, from: Range<usize>, to: usize) {
        self.each().into_iter().for_each(|buffer| buffer.copy_within(from.clone(), to));
    }

    /// Sets a range of parameters and its optimiser state to zero.
    pub fn mask_range(&mut self, range: Range<usize>) {
        self.each().into_iter().for_each(|buffer| buffer[range.clone()].fill(R::zero()));
    }

    /// Sets the optimiser state of a range to zero; leaves the parameters.
    pub fn reset_range(&mut self, range: Range<usize>) {
        self.each().into_iter().skip(1).for_each(|buffer| buffer[range.clone()].fill(R::zero()));
    }
}

#[cfg(test)]
mod tests;
