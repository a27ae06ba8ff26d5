//! Training state other than the weights.

use super::zeros;
use crate::{
    kinds::language::backend::{Counters, StepStats, ViewNorms, view_norms},
    nn::{optimizer::cpu::Outcome, parameters::ParameterMap, real::Real},
    sim::SimError,
};

/// Gradient, moments and step statistics.
pub struct TrainingState<R> {
    /// Gradient of the current step.
    pub gradient: Vec<R>,
    /// First moments of AdamW, momentum of Muon.
    pub m: Vec<R>,
    /// Second moments of AdamW.
    pub v: Vec<R>,
    /// Update count of the optimiser.
    pub counters: Counters,
    /// Statistics of steps that were not collected yet.
    pub stats: Vec<StepStats>,
    /// Norms of each parameter in the last step that measured them.
    pub norms: Vec<ViewNorms>,
}

impl<R: Real + Default> TrainingState<R> {
    /// Allocates zeros for `n` parameters.
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

    /// Records an optimiser update after a step with mean loss `loss`. `before` holds the weights before the step, if norms
    /// are measured.
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
