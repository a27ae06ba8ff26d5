//! What training keeps beside the weights.

use super::zeros;
use crate::{
    kinds::language::backend::{Counters, StepStats, ViewNorms, view_norms},
    nn::{optimizer::cpu::Outcome, parameters::ParameterMap, real::Real},
    sim::SimError,
};

/// Gradient, moments, and what the steps were.
pub struct TrainingState<R> {
    /// Gradient of the step.
    pub gradient: Vec<R>,
    /// First moments.
    pub m: Vec<R>,
    /// Second moments.
    pub v: Vec<R>,
    /// Optimiser steps.
    pub counters: Counters,
    /// Steps that are not read yet.
    pub stats: Vec<StepStats>,
    /// Norms of each parameter in the last step that measured.
    pub norms: Vec<ViewNorms>,
}

impl<R: Real + Default> TrainingState<R> {
    /// Of so many parameters: zeros.
    pub fn new(n: usize) -> Result<Self, SimError> {
        Ok(Self {
            gradient: zeros("gradient", n)?,
            m: zeros("first moments", n)?,
            v: zeros("second moments", n)?,
            counters: Counters { loss_scale: 1.0, ..Counters::default() },
            stats: vec![],
            norms: vec![],
        })
    }

    /// Takes in an update of the optimiser after a step of that mean loss; `before`: the weights, if norms are measured.
    pub fn record(&mut self, loss: f64, done: &Outcome, map: &ParameterMap, before: Option<&[R]>, weights: &[R]) {
        let is_skipped = !done.is_applied || !loss.is_finite();
        self.counters.updates += u64::from(done.is_applied);
        let gradient_norm = done.norm as f32;
        self.stats.push(StepStats { loss: loss as f32, gradient_norm, loss_scale: 1.0, is_skipped });
        if let Some(before) = before {
            self.norms = view_norms(map, before, weights, &self.gradient);
        }
    }
}
