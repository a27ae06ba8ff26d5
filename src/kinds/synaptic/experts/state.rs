//! Router state between steps, and the statistics of a step that update it.

use super::{FEATURES, Router, Routing, contrastive, metabolism};
use crate::nn::real::{Real, wide};
use rayon::prelude::*;

/// Router state of a layer, always f32, because the slow averages need its precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RouterState {
    /// Router embeddings, unit vectors, `[E, 24]`.
    pub embeddings: Vec<f32>,
    /// Average share of the tokens that each expert served, in 0..=1, `[E]`.
    pub fatigue: Vec<f32>,
    /// Energy of experts, in 0..=1, `[E]`.
    pub energy: Vec<f32>,
    /// Bias added to logits for selection, `[E]`; 0 unless balancing uses a bias.
    pub balance: Vec<f32>,
    /// Value per slot, `[E]`: 1 for a living expert, 0 for an empty slot.
    pub alive: Vec<u8>,
}

impl RouterState {
    /// Creates a state with all experts alive, no fatigue and full energy. The embeddings (`[E, 24]`) are normalised.
    pub fn new(experts: usize, mut embeddings: Vec<f32>) -> Self {
        embeddings.resize(experts * FEATURES, 0.0);
        embeddings.chunks_exact_mut(FEATURES).for_each(contrastive::normalize);
        Self {
            embeddings,
            fatigue: vec![0.0; experts],
            energy: vec![1.0; experts],
            balance: vec![0.0; experts],
            alive: vec![1; experts],
        }
    }

    /// Returns the router embedding of an expert.
    pub fn embedding(&self, expert: usize) -> &[f32] {
        &self.embeddings[expert * FEATURES..][..FEATURES]
    }

    /// Returns the number of living experts.
    pub fn n_alive(&self) -> usize {
        self.alive.iter().filter(|alive| **alive != 0).count()
    }
}

/// Sums over the tokens of a step in one layer. Micro-batches are added in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadStatistics {
    /// Number of tokens, N.
    pub tokens: u64,
    /// Number of tokens that selected each expert, `[E]`; the sum is k N.
    pub counts: Vec<u64>,
    /// Sum of gates of each expert, `[E]`; the total is N.
    pub gates: Vec<f64>,
    /// Sums of `gate · p / |p|` over the tokens of each expert, `[E, 24]`.
    pub features: Vec<f64>,
}

impl LoadStatistics {
    /// Creates statistics without tokens.
    pub fn new(experts: usize) -> Self {
        Self { tokens: 0, counts: vec![0; experts], gates: vec![0.0; experts], features: vec![0.0; experts * FEATURES] }
    }

    /// Computes the statistics of a batch.
    pub fn of<R: Real>(op: &Router, routing: &Routing<R>) -> Self {
        let mut all = Self::new(op.experts);
        all.add(op, routing);
        all
    }

    /// Adds the tokens of a batch.
    pub fn add<R: Real>(&mut self, op: &Router, routing: &Routing<R>) {
        self.tokens += routing.tokens as u64;
        let experts = self.counts.par_iter_mut().zip(&mut self.gates).zip(self.features.par_chunks_mut(FEATURES));
        experts.enumerate().for_each(|(e, ((count, gates), features))| {
            let group = routing.group(e);
            *count += group.len() as u64;
            wide(|| {
                for assignment in group {
                    let (gate, token) = (routing.gates[*assignment as usize].f64(), *assignment as usize / op.top_k);
                    let from = &routing.features[token * FEATURES..][..FEATURES];
                    let scale = gate * routing.inverse_norms[token].f64();
                    *gates += gate;
                    features.iter_mut().zip(from).for_each(|(sum, p)| *sum += scale * p.f64());
                }
            });
        });
    }

    /// Returns the share of the tokens that selected an expert, in 0..=1.
    pub fn load(&self, expert: usize) -> f64 {
        self.counts[expert] as f64 / self.tokens.max(1) as f64
    }

    /// Returns the mean gate of an expert over all tokens; the sum over experts is 1.
    pub fn mean_gate(&self, expert: usize) -> f64 {
        self.gates[expert] / self.tokens.max(1) as f64
    }
}

/// Updates the state after a training step from the statistics of all tokens of the step: metabolism, balance, embeddings.
/// `genome` is `[E, 4]`. A step without tokens has no effect.
pub fn update_state<R: Real>(op: &Router, statistics: &LoadStatistics, genome: &[R], state: &mut RouterState) {
    if statistics.tokens > 0 {
        metabolism::update(op, statistics, genome, state);
        contrastive::update(op, statistics, state);
    }
}
