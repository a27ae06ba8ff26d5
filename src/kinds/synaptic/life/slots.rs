//! Ranges of the experts of a layer among the parameters, and the effect of a move on their router state.

use super::{
    LifeCycle, Move,
    edits::{MoveAddress, length},
};
use crate::{
    nn::{
        parameters::{ParameterMap, ViewId},
        real::Real,
    },
    num::rng::Purpose,
};
use std::ops::Range;

/// Parameter that consists of equal, contiguous parts, one per expert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertArray {
    /// First element in the parameter buffer.
    pub start: usize,
    /// Number of elements per expert.
    pub len: usize,
}

impl ExpertArray {
    /// Returns the range of the elements of an expert.
    pub const fn range(&self, slot: usize) -> Range<usize> {
        self.start + slot * self.len..self.start + (slot + 1) * self.len
    }
}

/// Ranges of the experts of a layer in the parameter buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertArrays {
    /// Matrices and biases of the experts.
    pub weights: Vec<ExpertArray>,
    /// Rows of the router matrix.
    pub router: ExpertArray,
    /// Genomes of the experts.
    pub genome: ExpertArray,
}

impl ExpertArrays {
    /// Derives the ranges from views whose first dimension is the number of slots.
    pub fn new(map: &ParameterMap, weights: &[ViewId], router: ViewId, genome: ViewId) -> Self {
        let array = |id: ViewId| {
            let view = map.view(id);
            ExpertArray { start: view.start, len: view.len() / view.shape.first().copied().unwrap_or(1).max(1) }
        };
        Self { weights: weights.iter().map(|id| array(*id)).collect(), router: array(router), genome: array(genome) }
    }

    /// Returns the number of weights and biases of an expert, at least 1.
    pub fn n_weights(&self) -> usize {
        self.weights.iter().map(|array| array.len).sum::<usize>().max(1)
    }

    /// Iterates over weights, router rows and genomes.
    pub(super) fn all(&self) -> impl Iterator<Item = &ExpertArray> {
        self.weights.iter().chain([&self.router, &self.genome])
    }
}

/// Router state of a layer, by slot.
#[derive(Debug)]
pub struct RouterSlots<'a> {
    /// Router embeddings, unit vectors, `[E, F]`.
    pub embeddings: &'a mut [f32],
    /// Average load, `[E]`.
    pub fatigue: &'a mut [f32],
    /// Energy of experts, `[E]`.
    pub energy: &'a mut [f32],
    /// Selection bias, `[E]`.
    pub balance: &'a mut [f32],
    /// Alive flag per slot, `[E]`; 0 for empty slots.
    pub alive: &'a mut [u8],
}

impl RouterSlots<'_> {
    /// Applies moves in order. Moves must name slots of the layer, as the moves of [`plan`](super::plan()) do.
    pub fn follow(&mut self, op: &LifeCycle, moves: &[Move], at: &MoveAddress) {
        for one in moves {
            match *one {
                Move::Remove { slot, .. } => self.remove(slot as usize),
                Move::Merge { winner, loser, alpha } => {
                    self.merge([winner as usize, loser as usize], alpha);
                    self.remove(loser as usize);
                }
                Move::Split { parent, child } => self.split(op, [parent as usize, child as usize], at),
            }
        }
    }

    /// Empties a slot, so that no token selects it.
    fn remove(&mut self, slot: usize) {
        (self.alive[slot], self.fatigue[slot], self.energy[slot], self.balance[slot]) = (0, 0.0, 1.0, 0.0);
    }

    /// Copies the parent's state to the child. Both get half of the parent's fatigue, because they share its tokens.
    fn split(&mut self, op: &LifeCycle, [parent, child]: [usize; 2], at: &MoveAddress) {
        self.alive[child] = 1;
        self.fatigue[parent] *= 0.5;
        self.fatigue[child] = self.fatigue[parent];
        self.energy[child] = self.energy[parent];
        self.balance[child] = self.balance[parent];
        let n = self.embeddings.len() / self.alive.len();
        self.embeddings.copy_within(parent * n..(parent + 1) * n, child * n);
        if op.embedding_noise > 0.0 {
            let noise = at.normals(Purpose::Clone, child, u32::MAX / 2);
            move_on_sphere(&mut self.embeddings[child * n..(child + 1) * n], &noise.take(n), op.embedding_noise);
        }
    }

    /// Averages the states of two experts. The fatigue is the sum of both, because the winner serves the tokens of both.
    fn merge(&mut self, [winner, loser]: [usize; 2], alpha: f64) {
        let mean = |values: &[f32]| alpha * f64::from(values[winner]) + (1.0 - alpha) * f64::from(values[loser]);
        self.fatigue[winner] = (self.fatigue[winner] + self.fatigue[loser]).min(1.0);
        self.energy[winner] = mean(self.energy) as f32;
        self.balance[winner] = mean(self.balance) as f32;
        let n = self.embeddings.len() / self.alive.len();
        let [w, l] = [winner, loser].map(|slot| slot * n);
        let mixed = (0..n)
            .map(|i| alpha * f64::from(self.embeddings[w + i]) + (1.0 - alpha) * f64::from(self.embeddings[l + i]));
        let mixed: Vec<f64> = mixed.collect();
        normalise(&mut self.embeddings[w..w + n], &mixed);
    }
}

/// Adds the tangential component of the noise, times `scale`, to a unit vector, and normalises the vector.
fn move_on_sphere(x: &mut [f32], noise: &[f64], scale: f64) {
    let along: f64 = x.iter().zip(noise).map(|(x, n)| f64::from(*x) * n).sum();
    let moved = x.iter().zip(noise).map(|(x, n)| f64::from(*x) + scale * (n - along * f64::from(*x)));
    normalise(x, &moved.collect::<Vec<f64>>());
}

/// Sets a vector to `to` scaled to norm 1. If `to` is zero, the vector is unchanged.
fn normalise(x: &mut [f32], to: &[f64]) {
    let norm = length(to);
    if norm > 1e-8 {
        x.iter_mut().zip(to).for_each(|(x, to)| *x = (to / norm) as f32);
    }
}

/// Returns the mean square gradients of the experts of a layer, estimated by AdamW, `[E]`: means over their weights of
/// the second moments `v` of all parameters. [`ParentChoice::GradientUtility`](super::ParentChoice::GradientUtility)
/// uses them.
pub fn gradient_utility<R: Real>(arrays: &ExpertArrays, slots: usize, v: &[R]) -> Vec<f64> {
    let sum = |range: Range<usize>| v[range].iter().map(|v| v.f64()).sum::<f64>();
    let of = |slot: usize| arrays.weights.iter().map(|array| sum(array.range(slot))).sum::<f64>();
    (0..slots).map(|slot| of(slot) / arrays.n_weights() as f64).collect()
}
