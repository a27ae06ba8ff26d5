//! One step of a population, in blocks of [`BLOCK`] neurons. Every operation is rounded by itself, in the order written, so
//! that a device computes the same bits.

use crate::{
    kinds::spiking::general::{
        coefficients::{
            Coefficients,
            index::{
                COUNT, DECAY, DRIVE, REFRACTORY, RESET, RISE_TO_CURRENT, RISE_TO_U, SYNAPTIC_DECAY, THETA, TO_U, UNIT,
            },
        },
        plan::BLOCK as BLOCK_SIZE,
    },
    nn::real::wide_fn,
};

/// Number of neurons in a block.
const BLOCK: usize = BLOCK_SIZE as usize;

/// One number per neuron of a block.
type Lanes = [f32; BLOCK];

/// State arrays: u; for each receptor its current and, with alpha synapses, a second variable; remaining refractory steps.
pub const ARRAYS: usize = 6;
/// Index of u.
pub const U: usize = 0;
/// Index of the current of each receptor. With delta synapses, the first holds input of the refractory period.
pub const CURRENT: [usize; 2] = [1, 2];
/// Index of the second variable of each receptor.
pub const RISE: [usize; 2] = [3, 4];
/// Index of the number of remaining refractory steps.
pub const LEFT: usize = 5;

/// Synapse models that the step distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Synapses {
    /// Exponential currents.
    Exponential,
    /// Alpha-shaped currents.
    Alpha,
    /// Jumps of u.
    Delta,
}

/// Part of a population that is stepped.
pub struct Part<'a> {
    /// State arrays of the part.
    pub state: [&'a mut [f32]; ARRAYS],
    /// Sums of the arrivals of each receptor, which the step clears.
    pub sums: [&'a mut [i32]; 2],
    /// Kicks in mV; empty if there are none.
    pub kicks: &'a [f32],
    /// Coefficients of all populations.
    pub coefficients: &'a Coefficients,
    /// Index of the population.
    pub population: usize,
    /// Index of the first neuron in the population.
    pub first: u32,
    /// Synapse model of the population.
    pub synapses: Synapses,
    /// Whether input to refractory neurons is lost.
    pub drops: bool,
}

/// Results of a step of a part.
#[derive(Default)]
pub struct Outcome {
    /// Indices of the neurons that spiked in the part, ascending.
    pub spikes: Vec<u32>,
    /// Whether a potential is NaN or infinite.
    pub is_lost: bool,
}

wide_fn! {
    /// Takes one step of a part; replaces the outcome.
    pub fn step(part: &mut Part<'_>, outcome: &mut Outcome) {
        outcome.spikes.clear();
        outcome.is_lost = false;
        match (part.synapses, part.kicks.is_empty()) {
            (Synapses::Exponential, true) => step_as::<Exponential, false>(part, outcome),
            (Synapses::Exponential, false) => step_as::<Exponential, true>(part, outcome),
            (Synapses::Alpha, true) => step_as::<Alpha, false>(part, outcome),
            (Synapses::Alpha, false) => step_as::<Alpha, true>(part, outcome),
            (Synapses::Delta, true) => step_as::<Delta, false>(part, outcome),
            (Synapses::Delta, false) => step_as::<Delta, true>(part, outcome),
        }
    }
}

/// Coefficients of a block.
struct Block<'a> {
    values: &'a [f32],
    places: [(usize, usize); COUNT],
    at: usize,
}

impl<'a> Block<'a> {
    #[inline(always)]
    fn get(&self, coefficient: usize) -> &'a Lanes {
        let (offset, stride) = self.places[coefficient];
        let first = offset + self.at * stride;
        // The last values of every coefficient are padded to a whole block.
        self.values[first..first + BLOCK].as_chunks().0.first().unwrap_or(&[0.0; BLOCK])
    }
}

/// State of a block.
struct Neurons {
    u: Lanes,
    current: [Lanes; 2],
    rise: [Lanes; 2],
    is_free: [bool; BLOCK],
}

/// Synapses of a model: integrates u and its variables over one step, with the arrivals of both receptors.
trait Dynamics {
    /// Whether the model uses the arrays of currents, and those of the second variables.
    const USES: [bool; 2];
    fn integrate(of: &mut Neurons, input: &[Lanes; 2], c: &Block<'_>, drops: bool);
}

struct Exponential;
struct Alpha;
struct Delta;

impl Dynamics for Exponential {
    const USES: [bool; 2] = [true, false];

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
    fn integrate(of: &mut Neurons, input: &[Lanes; 2], c: &Block<'_>, drops: bool) {
        let (decay, drive) = (c.get(DECAY), c.get(DRIVE));
        let (to_u, fade) = (TO_U.map(|i| c.get(i)), SYNAPTIC_DECAY.map(|i| c.get(i)));
        for i in 0..BLOCK {
            let u = ((decay[i] * of.u[i] + to_u[0][i] * of.current[0][i]) + to_u[1][i] * of.current[1][i]) + drive[i];
            of.u[i] = if of.is_free[i] { u } else { of.u[i] };
            for r in 0..2 {
                let next = fade[r][i] * of.current[r][i] + input[r][i];
                of.current[r][i] = if drops && !of.is_free[i] { of.current[r][i] } else { next };
            }
        }
    }
}

impl Dynamics for Alpha {
    const USES: [bool; 2] = [true, true];

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
    fn integrate(of: &mut Neurons, input: &[Lanes; 2], c: &Block<'_>, drops: bool) {
        let (decay, drive) = (c.get(DECAY), c.get(DRIVE));
        let (to_u, fade) = (TO_U.map(|i| c.get(i)), SYNAPTIC_DECAY.map(|i| c.get(i)));
        let (rise_to_u, rise_to_current) = (RISE_TO_U.map(|i| c.get(i)), RISE_TO_CURRENT.map(|i| c.get(i)));
        for i in 0..BLOCK {
            let mut u = decay[i] * of.u[i];
            for r in 0..2 {
                u = (u + rise_to_u[r][i] * of.rise[r][i]) + to_u[r][i] * of.current[r][i];
            }
            u += drive[i];
            of.u[i] = if of.is_free[i] { u } else { of.u[i] };
            for r in 0..2 {
                let current = rise_to_current[r][i] * of.rise[r][i] + fade[r][i] * of.current[r][i];
                let rise = fade[r][i] * of.rise[r][i] + input[r][i];
                let is_frozen = drops && !of.is_free[i];
                of.current[r][i] = if is_frozen { of.current[r][i] } else { current };
                of.rise[r][i] = if is_frozen { of.rise[r][i] } else { rise };
            }
        }
    }
}

impl Dynamics for Delta {
    const USES: [bool; 2] = [true, false];

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
    fn integrate(of: &mut Neurons, input: &[Lanes; 2], c: &Block<'_>, drops: bool) {
        let (decay, drive) = (c.get(DECAY), c.get(DRIVE));
        for i in 0..BLOCK {
            let arrived = input[0][i] + input[1][i];
            let u = (decay[i] * of.u[i] + drive[i]) + (arrived + of.current[0][i]);
            let kept = if drops { 0.0 } else { decay[i] * of.current[0][i] + arrived };
            of.u[i] = if of.is_free[i] { u } else { of.u[i] };
            of.current[0][i] = if of.is_free[i] { 0.0 } else { kept };
        }
    }
}

#[inline(always)]
fn chunk(of: &mut [f32], block: usize) -> &mut Lanes {
    &mut of.as_chunks_mut().0[block]
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "arrays side by side, one vector each")]
fn step_as<D: Dynamics, const KICKED: bool>(part: &mut Part<'_>, outcome: &mut Outcome) {
    let places = part.coefficients.places[part.population].map(|p| (p.offset as usize, p.stride as usize));
    for block in 0..part.state[U].len() / BLOCK {
        let c = Block { values: &part.coefficients.values, places, at: part.first as usize + block * BLOCK };
        let mut left = *chunk(part.state[LEFT], block);
        let mut of = Neurons {
            u: *chunk(part.state[U], block),
            current: CURRENT.map(|i| if D::USES[0] { *chunk(part.state[i], block) } else { [0.0; BLOCK] }),
            rise: RISE.map(|i| if D::USES[1] { *chunk(part.state[i], block) } else { [0.0; BLOCK] }),
            is_free: left.map(|left| left == 0.0),
        };
        let mut input = [[0.0; BLOCK]; 2];
        for r in 0..2 {
            let (sums, unit) = (&mut part.sums[r].as_chunks_mut::<BLOCK>().0[block], c.get(UNIT[r]));
            for i in 0..BLOCK {
                input[r][i] = sums[i] as f32 * unit[i];
            }
            *sums = [0; BLOCK];
        }
        D::integrate(&mut of, &input, &c, part.drops);
        if KICKED {
            let kicks = &part.kicks.as_chunks::<BLOCK>().0[block];
            for i in 0..BLOCK {
                of.u[i] = if of.is_free[i] { of.u[i] + kicks[i] } else { of.u[i] };
            }
        }
        let (theta, reset, refractory) = (c.get(THETA), c.get(RESET), c.get(REFRACTORY));
        let (mut fired, mut lost) = ([0_u32; BLOCK], 0_u32);
        for i in 0..BLOCK {
            let fires = of.is_free[i] & (of.u[i] >= theta[i]);
            lost |= u32::from(!(of.u[i].abs() <= f32::MAX));
            fired[i] = u32::from(fires);
            of.u[i] = if fires { reset[i] } else { of.u[i] };
            let waits = if of.is_free[i] { 0.0 } else { left[i] - 1.0 };
            left[i] = if fires { refractory[i] } else { waits };
        }
        *chunk(part.state[U], block) = of.u;
        *chunk(part.state[LEFT], block) = left;
        for r in 0..2 {
            if D::USES[0] {
                *chunk(part.state[CURRENT[r]], block) = of.current[r];
            }
            if D::USES[1] {
                *chunk(part.state[RISE[r]], block) = of.rise[r];
            }
        }
        outcome.is_lost |= lost != 0;
        if fired.iter().fold(0, |any, fired| any | fired) != 0 {
            let first = (block * BLOCK) as u32;
            outcome.spikes.extend((0..).zip(fired).filter(|(_, fired)| *fired != 0).map(|(i, _)| first + i));
        }
    }
}
