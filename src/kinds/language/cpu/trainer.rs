//! Training state other than the weights.

use super::zeros;
use crate::{
    gpu::Pass,
    kinds::language::backend::{Counters, GradientStats, StepStats, ViewNorms, view_norms},
    nn::{optimizer::cpu::Outcome, parameters::ParameterMap, real::Real},
    sim::SimError,
};
use std::collections::VecDeque;

/// Gradient, moments and step statistics.
pub struct TrainingState<R> {
    /// Gradient of the current step.
    pub gradient: Vec<R>,
    /// First moments of AdamW, or momentum of Muon.
    pub m: Vec<R>,
    /// Second moments of AdamW.
    pub v: Vec<R>,
    /// Update count of the optimiser.
    pub counters: Counters,
    /// Statistics of steps that were not collected yet.
    pub stats: Vec<StepStats>,
    /// Number of steps taken.
    steps: u64,
    /// Number of steps whose statistics were collected.
    read: u64,
    /// Norms of each parameter by step, for the steps that measured norms and were not collected yet, and for the last
    /// collected one.
    norms: VecDeque<(u64, Vec<ViewNorms>)>,
}

impl<R: Real + Default> TrainingState<R> {
    /// Allocates zeros for `n` parameters. Fails if memory is exhausted.
    pub fn new(n: usize) -> Result<Self, SimError> {
        Ok(Self {
            gradient: zeros("gradient", n)?,
            m: zeros("first moments", n)?,
            v: zeros("second moments", n)?,
            counters: Counters { loss_scale: 1.0, ..Counters::default() },
            stats: vec![],
            steps: 0,
            read: 0,
            norms: VecDeque::new(),
        })
    }

    /// Records an optimiser update after a step with mean loss `loss`. `before` contains the weights before the step, or
    /// `None` if norms are not measured.
    pub fn record(
        &mut self,
        loss: f64,
        done: &Outcome,
        map: &ParameterMap,
        before: Option<&[R]>,
        weights: &[R],
        pass: &mut Pass,
    ) {
        let is_skipped = !done.is_applied || !loss.is_finite();
        self.counters.updates += u64::from(done.is_applied);
        let gradient = GradientStats { norm: done.norm as f32, loss_scale: 1.0, is_skipped };
        self.stats.push(StepStats { loss: loss as f32, gradient: Some(gradient) });
        self.steps += 1;
        if let Some(before) = before {
            while self.norms.front().is_some_and(|(step, _)| *step <= self.read) {
                self.norms.pop_front();
            }
            let n = weights.len() as u64;
            let norms = pass.span("norms", n, || view_norms(map, before, weights, &self.gradient));
            self.norms.push_back((self.steps, norms));
        }
    }

    /// Moves the statistics of the steps since the last call to the end of `out`.
    pub fn take_stats(&mut self, out: &mut Vec<StepStats>) {
        out.append(&mut self.stats);
        self.read = self.steps;
    }

    /// Returns the norms of each parameter in the step that is `ago` steps before the last one; empty if the step did not
    /// measure norms.
    pub fn norms(&self, ago: u64) -> Vec<ViewNorms> {
        let found = self.norms.iter().find(|(step, _)| *step + ago == self.steps);
        found.map(|(_, norms)| norms.clone()).unwrap_or_default()
    }
}
