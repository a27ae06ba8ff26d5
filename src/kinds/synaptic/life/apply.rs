//! What a move does to weights, states of the optimiser and the router: copies and sums of ranges of flat buffers.

use super::{LifeCycle, Move};
use crate::{
    nn::{
        optimizer::cpu::Buffers,
        parameters::{ParameterMap, ViewId},
        real::Real,
    },
    num::{
        normal,
        rng::{Draw, Purpose},
    },
};
use std::ops::Range;

/// A parameter of which every expert has an equal part, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertArray {
    /// First element in the buffer of the parameters.
    pub start: usize,
    /// Elements of an expert.
    pub len: usize,
}

impl ExpertArray {
    /// Elements of an expert.
    pub const fn range(&self, slot: usize) -> Range<usize> {
        self.start + slot * self.len..self.start + (slot + 1) * self.len
    }
}

/// Where the experts of a layer are in the buffer of the parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertArrays {
    /// Matrices and biases.
    pub weights: Vec<ExpertArray>,
    /// Rows of the router.
    pub router: ExpertArray,
    /// Genomes.
    pub genome: ExpertArray,
}

impl ExpertArrays {
    /// From the views of a map, whose first size is the number of slots.
    pub fn new(map: &ParameterMap, weights: &[ViewId], router: ViewId, genome: ViewId) -> Self {
        let array = |id: ViewId| {
            let view = map.view(id);
            ExpertArray { start: view.start, len: view.len() / view.shape.first().copied().unwrap_or(1).max(1) }
        };
        Self { weights: weights.iter().map(|id| array(*id)).collect(), router: array(router), genome: array(genome) }
    }

    fn all(&self) -> impl Iterator<Item = &ExpertArray> {
        self.weights.iter().chain([&self.router, &self.genome])
    }
}

/// State of the router of a layer, by slot.
#[derive(Debug)]
pub struct RouterSlots<'a> {
    /// Unit vectors, `[E, F]`.
    pub embeddings: &'a mut [f32],
    /// `[E]`
    pub fatigue: &'a mut [f32],
    /// `[E]`
    pub energy: &'a mut [f32],
    /// `[E]`
    pub balance: &'a mut [f32],
    /// 0 for empty slots, `[E]`.
    pub alive: &'a mut [u8],
}

/// Where and when: the address of random draws.
#[derive(Clone, Copy, Debug)]
pub struct MoveAddress {
    /// Seed of the project.
    pub seed: u64,
    /// Steps that were taken.
    pub step: u64,
    /// Number of slot 0 of the layer, counted over all layers.
    pub first_slot: u32,
}

/// Fills with standard normal numbers. Word i mod 4 of the draw (seed, purpose, step and slot, lane + i / 4) is element i.
fn normals(at: &MoveAddress, purpose: Purpose, slot: usize, first_lane: u32, out: &mut [f64]) {
    // Steps have 40 bits, slots the rest.
    let step = at.step | (u64::from(at.first_slot) + slot as u64) << 40;
    for (i, four) in out.chunks_mut(4).enumerate() {
        let words = Draw { seed: at.seed, purpose, step, lane: first_lane.wrapping_add(i as u32) }.words();
        for (to, word) in four.iter_mut().zip(words) {
            *to = normal::quantile((f64::from(word) + 0.5) / 4_294_967_296.0);
        }
    }
}

/// Applies moves in their order. Moves name slots of the layer; those of [`plan`](super::plan()) do.
pub fn apply<R: Real>(
    op: &LifeCycle,
    moves: &[Move],
    at: &MoveAddress,
    arrays: &ExpertArrays,
    mut weights: Buffers<'_, R>,
    mut router: RouterSlots<'_>,
) {
    for one in moves {
        match *one {
            Move::Remove { slot, .. } => remove(slot as usize, arrays, &mut weights, &mut router),
            Move::Merge { winner, loser, alpha } => {
                let (winner, loser) = (winner as usize, loser as usize);
                merge([winner, loser], alpha, arrays, &mut weights, &mut router);
                remove(loser, arrays, &mut weights, &mut router);
            }
            Move::Split { parent, child } => {
                let slots = [parent as usize, child as usize];
                split_weights(op, slots, at, arrays, &mut weights);
                split_router(op, slots, at, arrays, &mut weights, &mut router);
            }
        }
    }
}

/// An empty slot: zeros, which no token selects.
fn remove<R: Real>(slot: usize, arrays: &ExpertArrays, weights: &mut Buffers<'_, R>, router: &mut RouterSlots<'_>) {
    arrays.all().for_each(|array| weights.mask_range(array.range(slot)));
    (router.alive[slot], router.fatigue[slot], router.energy[slot], router.balance[slot]) = (0, 0.0, 1.0, 0.0);
}

/// Copy of weights and of the state of the optimiser; noise relative to the standard deviation of each array; mutations.
fn split_weights<R: Real>(
    op: &LifeCycle,
    [parent, child]: [usize; 2],
    at: &MoveAddress,
    arrays: &ExpertArrays,
    weights: &mut Buffers<'_, R>,
) {
    let mut lane = 0;
    for array in &arrays.weights {
        let to = array.range(child);
        weights.copy_range(array.range(parent), to.start);
        let spread = op.noise * standard_deviation(&weights.p[to.clone()]);
        if spread > 0.0 {
            let mut noise = vec![0.0; to.len()];
            normals(at, Purpose::Clone, child, lane, &mut noise);
            weights.p[to].iter_mut().zip(noise).for_each(|(w, n)| *w += R::of(spread * n));
        }
        lane += array.len.div_ceil(4) as u32;
    }
    let to = arrays.genome.range(child);
    weights.copy_range(arrays.genome.range(parent), to.start);
    let mut noise = vec![0.0; to.len()];
    normals(at, Purpose::Mutation, child, 0, &mut noise);
    weights.p[to].iter_mut().zip(noise).for_each(|(gene, n)| *gene += R::of(op.mutation * n));
}

/// Rows move apart by a random vector; each has half of the fatigue, since they share the tokens from now on.
fn split_router<R: Real>(
    op: &LifeCycle,
    [parent, child]: [usize; 2],
    at: &MoveAddress,
    arrays: &ExpertArrays,
    weights: &mut Buffers<'_, R>,
    router: &mut RouterSlots<'_>,
) {
    let (from, to) = (arrays.router.range(parent), arrays.router.range(child));
    weights.copy_range(from.clone(), to.start);
    let mut direction = vec![0.0; arrays.router.len];
    normals(at, Purpose::Tilt, child, 0, &mut direction);
    let scale = op.tilt / length(&direction).max(f64::MIN_POSITIVE);
    for (i, d) in direction.iter().enumerate() {
        weights.p[from.start + i] -= R::of(scale * d);
        weights.p[to.start + i] += R::of(scale * d);
    }
    router.alive[child] = 1;
    router.fatigue[parent] *= 0.5;
    router.fatigue[child] = router.fatigue[parent];
    router.energy[child] = router.energy[parent];
    router.balance[child] = router.balance[parent];
    let n = router.embeddings.len() / router.alive.len();
    router.embeddings.copy_within(parent * n..(parent + 1) * n, child * n);
    if op.embedding_noise > 0.0 {
        let mut noise = vec![0.0; n];
        normals(at, Purpose::Clone, child, u32::MAX / 2, &mut noise);
        move_on_sphere(&mut router.embeddings[child * n..(child + 1) * n], &noise, op.embedding_noise);
    }
}

/// Adds the tangential part of the noise to a unit vector, and normalises.
fn move_on_sphere(x: &mut [f32], noise: &[f64], scale: f64) {
    let along: f64 = x.iter().zip(noise).map(|(x, n)| f64::from(*x) * n).sum();
    let moved = x.iter().zip(noise).map(|(x, n)| f64::from(*x) + scale * (n - along * f64::from(*x)));
    normalise(x, &moved.collect::<Vec<f64>>());
}

/// Weighted means of weights, of the state of the optimiser, genome and router row. The fatigue is the sum: the winner
/// serves the tokens of both.
fn merge<R: Real>(
    [winner, loser]: [usize; 2],
    alpha: f64,
    arrays: &ExpertArrays,
    weights: &mut Buffers<'_, R>,
    router: &mut RouterSlots<'_>,
) {
    for array in arrays.all() {
        let (to, from) = (array.range(winner), array.range(loser));
        for buffer in [&mut *weights.p, &mut *weights.m, &mut *weights.v] {
            for (to, from) in to.clone().zip(from.clone()) {
                buffer[to] = R::of(alpha * buffer[to].f64() + (1.0 - alpha) * buffer[from].f64());
            }
        }
    }
    let mean = |values: &[f32]| alpha * f64::from(values[winner]) + (1.0 - alpha) * f64::from(values[loser]);
    router.fatigue[winner] = (router.fatigue[winner] + router.fatigue[loser]).min(1.0);
    router.energy[winner] = mean(router.energy) as f32;
    router.balance[winner] = mean(router.balance) as f32;
    let n = router.embeddings.len() / router.alive.len();
    let [w, l] = [winner, loser].map(|slot| slot * n);
    let mixed = (0..n)
        .map(|i| alpha * f64::from(router.embeddings[w + i]) + (1.0 - alpha) * f64::from(router.embeddings[l + i]));
    let mixed: Vec<f64> = mixed.collect();
    normalise(&mut router.embeddings[w..w + n], &mixed);
}

/// Sets a vector to another one of length 1; it stays where the other one has none.
fn normalise(x: &mut [f32], to: &[f64]) {
    let norm = length(to);
    if norm > 1e-8 {
        x.iter_mut().zip(to).for_each(|(x, to)| *x = (to / norm) as f32);
    }
}

fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn standard_deviation<R: Real>(x: &[R]) -> f64 {
    let n = x.len().max(1) as f64;
    let mean = x.iter().map(|x| x.f64()).sum::<f64>() / n;
    (x.iter().map(|x| (x.f64() - mean).powi(2)).sum::<f64>() / n).sqrt()
}

/// Mean square gradients of the experts of a layer as AdamW knows them, `[E]`: means of v over their weights. For
/// [`ParentChoice::GradientUtility`](super::ParentChoice::GradientUtility).
pub fn gradient_utility<R: Real>(arrays: &ExpertArrays, v: &[R], slots: usize) -> Vec<f64> {
    let n = arrays.weights.iter().map(|array| array.len).sum::<usize>().max(1) as f64;
    let sum = |slot: usize| {
        arrays.weights.iter().map(|array| v[array.range(slot)].iter().map(|v| v.f64()).sum::<f64>()).sum::<f64>() / n
    };
    (0..slots).map(sum).collect()
}
