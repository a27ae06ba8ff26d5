//! What a move does to parameters and to the state of their optimiser: a list of edits of ranges of flat buffers, which every
//! backend applies in their order. Here they are declared and applied on the CPU, which is the definition.

use super::{ExpertArray, ExpertArrays, LifeCycle, Move};
use crate::{
    nn::{optimizer::cpu::Buffers, real::Real},
    num::{
        normal,
        rng::{Draw, Purpose},
    },
};
use std::ops::Range;

/// An edit of the buffers of a parameter map. Ranges of an edit do not overlap.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Parameters and their state become zero.
    Clear(Range<usize>),
    /// Parameters with their state are copied.
    Copy {
        /// Source.
        from: Range<usize>,
        /// First element of the target.
        to: usize,
    },
    /// `to <- alpha to + (1 - alpha) from`, of parameters and of their state.
    Mix {
        /// Source.
        from: Range<usize>,
        /// First element of the target.
        to: usize,
        /// Part of the target.
        alpha: f64,
    },
    /// Numbers are added to parameters.
    Add {
        /// First element.
        start: usize,
        /// One per element.
        values: Vec<f64>,
    },
    /// Normal noise is added to parameters.
    Noise {
        /// Elements.
        range: Range<usize>,
        /// Standard deviation of the noise, relative to that of these parameters.
        relative: f64,
        /// Where the noise is drawn.
        normals: Normals,
    },
}

/// Standard normal numbers: element i is that of word i mod 4 of the draw (seed, purpose, step, first lane + i / 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normals {
    /// Seed of the project.
    pub seed: u64,
    /// Purpose.
    pub purpose: Purpose,
    /// Step of the draws, which contains the slot.
    pub step: u64,
    /// Lane of the first draw.
    pub first_lane: u32,
}

impl Normals {
    /// The first `n` numbers.
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

impl MoveAddress {
    /// Normal numbers of a slot.
    pub fn normals(&self, purpose: Purpose, slot: usize, first_lane: u32) -> Normals {
        // Steps have 40 bits, slots the rest.
        let step = self.step | (u64::from(self.first_slot) + slot as u64) << 40;
        Normals { seed: self.seed, purpose, step, first_lane }
    }
}

/// The edits of moves, in their order. Moves name slots of the layer; those of [`plan`](super::plan()) do.
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

/// Copies of weights with the state of the optimiser; noise relative to the standard deviation of each array; mutations.
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

/// Rows of the router move apart by a random vector.
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
    /// Elements that it reads or writes, up to the last one.
    pub fn end(&self) -> usize {
        match self {
            Self::Clear(range) | Self::Noise { range, .. } => range.end,
            Self::Copy { from, to } | Self::Mix { from, to, .. } => from.end.max(to.saturating_add(from.len())),
            Self::Add { start, values } => start.saturating_add(values.len()),
        }
    }

    /// Changes the buffers, which are as long as [`Edit::end`] at least.
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

/// Euclidean length.
pub(super) fn length(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn standard_deviation<R: Real>(x: &[R]) -> f64 {
    let n = x.len().max(1) as f64;
    let mean = x.iter().map(|x| x.f64()).sum::<f64>() / n;
    (x.iter().map(|x| (x.f64() - mean).powi(2)).sum::<f64>() / n).sqrt()
}
