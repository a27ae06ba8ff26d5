//! Edits of parameters and moments that implement a move: operations on ranges of flat buffers, which every backend applies
//! in order. The CPU implementation here is the reference.

use super::{ExpertArray, ExpertArrays, LifeCycle, Move};
use crate::{
    nn::{optimizer::cpu::Buffers, real::Real},
    num::{
        normal,
        rng::{Draw, Purpose},
    },
};
use std::ops::Range;

/// Edit of the buffers of a parameter map. The ranges of an edit do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Sets parameters and moments to zero.
    Clear(Range<usize>),
    /// Copies parameters and moments.
    Copy {
        /// Source range of the copy.
        from: Range<usize>,
        /// First element of the target.
        to: usize,
    },
    /// Computes `to <- alpha to + (1 - alpha) from` for parameters and moments.
    Mix {
        /// Source range, weighted by `1 - alpha`.
        from: Range<usize>,
        /// First element of the target.
        to: usize,
        /// Weight of the target, 0..=1.
        alpha: f64,
    },
    /// Adds values to parameters.
    Add {
        /// First element of the range.
        start: usize,
        /// One value per element.
        values: Vec<f64>,
    },
    /// Adds normal noise to parameters.
    Noise {
        /// Range of the elements.
        range: Range<usize>,
        /// Standard deviation of the noise, relative to the standard deviation of the range's parameters.
        relative: f64,
        /// Address of the random draws.
        normals: Normals,
    },
}

/// Standard normal values: element i is computed from word i mod 4 of the draw (seed, purpose, step, first lane + i / 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normals {
    /// Seed of the project.
    pub seed: u64,
    /// Purpose of the draws.
    pub purpose: Purpose,
    /// Step of the draws, which also encodes the slot.
    pub step: u64,
    /// Lane of the first draw.
    pub first_lane: u32,
}

impl Normals {
    /// Draws the first `n` values.
    pub fn take(&self, n: usize) -> Vec<f64> {
        let Self { seed, purpose, step, first_lane } = *self;
        let mut out = vec![0.0; n];
        for (i, four) in out.chunks_mut(4).enumerate() {
            let words = Draw { seed, purpose, step, lane: first_lane.wrapping_add(i as u32) }.words();
            for (to, word) in four.iter_mut().zip(words) {
                *to = normal::quantile((f64::from(word) + 0.5) / 4_294_967_296.0);
            }
        }
        out
    }
}

/// Address of the random draws of a move: seed, step and layer.
#[derive(Clone, Copy, Debug)]
pub struct MoveAddress {
    /// Seed of the project.
    pub seed: u64,
    /// Number of completed steps.
    pub step: u64,
    /// Index of the layer's slot 0 among the slots of all layers.
    pub first_slot: u32,
}

impl MoveAddress {
    /// Returns the address of the normal values of a slot.
    pub fn normals(&self, purpose: Purpose, slot: usize, first_lane: u32) -> Normals {
        // The step has 40 bits, and the slot the upper 24.
        let step = self.step | (u64::from(self.first_slot) + slot as u64) << 40;
        Normals { seed: self.seed, purpose, step, first_lane }
    }
}

/// Returns the edits that implement moves, in order. The moves must name slots of the layer, as the moves of
/// [`plan`](super::plan()) do.
pub fn edits(op: &LifeCycle, moves: &[Move], at: &MoveAddress, arrays: &ExpertArrays) -> Vec<Edit> {
    let mut all = vec![];
    let clear = |slot: u32| arrays.all().map(move |array| Edit::Clear(array.range(slot as usize)));
    for one in moves {
        match *one {
            Move::Remove { slot, .. } => all.extend(clear(slot)),
            Move::Merge { winner, loser, alpha } => {
                let mix = |array: &ExpertArray| Edit::Mix {
                    from: array.range(loser as usize),
                    to: array.range(winner as usize).start,
                    alpha,
                };
                all.extend(arrays.all().map(mix).chain(clear(loser)));
            }
            Move::Split { parent, child } => {
                let slots = [parent as usize, child as usize];
                split_weights(op, slots, at, arrays, &mut all);
                split_router_row(op, slots, at, arrays, &mut all);
            }
        }
    }
    all
}

/// Adds edits that copy weights and moments to the child, add noise relative to the standard deviation of each array, and
/// mutate the genome.
fn split_weights(
    op: &LifeCycle,
    [parent, child]: [usize; 2],
    at: &MoveAddress,
    arrays: &ExpertArrays,
    to: &mut Vec<Edit>,
) {
    let mut lane = 0;
    for array in &arrays.weights {
        let range = array.range(child);
        to.push(Edit::Copy { from: array.range(parent), to: range.start });
        if op.noise > 0.0 {
            let normals = at.normals(Purpose::Clone, child, lane);
            to.push(Edit::Noise { range, relative: op.noise, normals });
        }
        lane += array.len.div_ceil(4) as u32;
    }
    let start = arrays.genome.range(child).start;
    to.push(Edit::Copy { from: arrays.genome.range(parent), to: start });
    let mutations = at.normals(Purpose::Mutation, child, 0).take(arrays.genome.len);
    to.push(Edit::Add { start, values: mutations.iter().map(|n| op.mutation * n).collect() });
}

/// Adds edits that copy the router row of the parent, and move both rows apart along a random vector.
fn split_router_row(
    op: &LifeCycle,
    [parent, child]: [usize; 2],
    at: &MoveAddress,
    arrays: &ExpertArrays,
    to: &mut Vec<Edit>,
) {
    let (from, start) = (arrays.router.range(parent), arrays.router.range(child).start);
    let direction = at.normals(Purpose::Tilt, child, 0).take(arrays.router.len);
    let scale = op.tilt / length(&direction).max(f64::MIN_POSITIVE);
    let tilt = |sign: f64| direction.iter().map(|d| sign * (scale * d)).collect();
    to.push(Edit::Copy { from: from.clone(), to: start });
    to.push(Edit::Add { start: from.start, values: tilt(-1.0) });
    to.push(Edit::Add { start, values: tilt(1.0) });
}

impl Edit {
    /// Returns the end of the elements that the edit reads or writes.
    pub fn end(&self) -> usize {
        match self {
            Self::Clear(range) | Self::Noise { range, .. } => range.end,
            Self::Copy { from, to } | Self::Mix { from, to, .. } => from.end.max(to.saturating_add(from.len())),
            Self::Add { start, values } => start.saturating_add(values.len()),
        }
    }

    /// Applies the edit to buffers of at least [`Edit::end`] elements.
    pub fn apply<R: Real>(&self, b: &mut Buffers<'_, R>) {
        match self {
            Self::Clear(range) => b.mask_range(range.clone()),
            Self::Copy { from, to } => b.copy_range(from.clone(), *to),
            Self::Mix { from, to, alpha } => {
                for buffer in [&mut *b.p, &mut *b.m, &mut *b.v] {
                    for (from, to) in from.clone().zip(*to..) {
                        buffer[to] = R::of(alpha * buffer[to].f64() + (1.0 - alpha) * buffer[from].f64());
                    }
                }
            }
            Self::Add { start, values } => add(&mut b.p[*start..], values, 1.0),
            Self::Noise { range, relative, normals } => {
                let p = &mut b.p[range.clone()];
                let spread = relative * standard_deviation(p);
                if spread > 0.0 {
                    add(p, &normals.take(range.len()), spread);
                }
            }
        }
    }
}

fn add<R: Real>(to: &mut [R], values: &[f64], factor: f64) {
    to.iter_mut().zip(values).for_each(|(to, value)| *to += R::of(factor * value));
}

/// Computes the Euclidean norm of a vector.
pub(super) fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn standard_deviation<R: Real>(x: &[R]) -> f64 {
    let n = x.len().max(1) as f64;
    let mean = x.iter().map(|x| x.f64()).sum::<f64>() / n;
    (x.iter().map(|x| (x.f64() - mean).powi(2)).sum::<f64>() / n).sqrt()
}
