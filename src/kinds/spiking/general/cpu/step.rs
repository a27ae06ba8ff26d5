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

/// Number of state arrays: u; for each receptor its current and, with alpha synapses, a second variable; remaining
/// refractory steps.
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
    /// Currents that decay exponentially.
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
    /// 1 for each neuron of the part that fired.
    fired: Vec<u32>,
}

wide_fn! {
    /// Runs one step of a part; replaces the outcome.
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

/// State of one neuron.
#[derive(Clone, Copy)]
struct Neuron {
    u: f32,
    current: [f32; 2],
    rise: [f32; 2],
    is_free: bool,
}

/// Coefficients of the neurons of a part.
trait Values: Copy {
    /// Returns a coefficient of neuron `i`.
    fn at(self, coefficient: usize, i: usize) -> f32;
}

/// One value of each coefficient for all neurons.
#[derive(Clone, Copy)]
struct Same([f32; COUNT]);

/// One value of each coefficient for each neuron.
#[derive(Clone, Copy)]
struct Each<'a>([&'a [f32]; COUNT]);

impl Values for Same {
    #[inline(always)]
    fn at(self, coefficient: usize, _: usize) -> f32 {
        self.0[coefficient]
    }
}

impl Values for Each<'_> {
    #[inline(always)]
    fn at(self, coefficient: usize, i: usize) -> f32 {
        self.0[coefficient][i]
    }
}

/// Integration of u and of the variables of a synapse model over one step, with the arrivals of both receptors.
trait Dynamics {
    /// Whether the model uses the second variable of each receptor.
    const RISES: bool;
    /// Returns neuron `i` of a part after the step.
    fn integrate(of: Neuron, input: [f32; 2], c: impl Values, i: usize, drops: bool) -> Neuron;
}

struct Exponential;
struct Alpha;
struct Delta;

impl Dynamics for Exponential {
    const RISES: bool = false;

    #[inline(always)]
    fn integrate(mut of: Neuron, input: [f32; 2], c: impl Values, i: usize, drops: bool) -> Neuron {
        let u = (c.at(DECAY, i) * of.u + c.at(TO_U[0], i) * of.current[0]) + c.at(TO_U[1], i) * of.current[1];
        let u = u + c.at(DRIVE, i);
        let is_open = of.is_free | !drops;
        let excitatory = c.at(SYNAPTIC_DECAY[0], i) * of.current[0] + input[0];
        let inhibitory = c.at(SYNAPTIC_DECAY[1], i) * of.current[1] + input[1];
        of.u = if of.is_free { u } else { of.u };
        of.current[0] = if is_open { excitatory } else { of.current[0] };
        of.current[1] = if is_open { inhibitory } else { of.current[1] };
        of
    }
}

impl Dynamics for Alpha {
    const RISES: bool = true;

    #[inline(always)]
    fn integrate(mut of: Neuron, input: [f32; 2], c: impl Values, i: usize, drops: bool) -> Neuron {
        let mut u = c.at(DECAY, i) * of.u;
        u = (u + c.at(RISE_TO_U[0], i) * of.rise[0]) + c.at(TO_U[0], i) * of.current[0];
        u = (u + c.at(RISE_TO_U[1], i) * of.rise[1]) + c.at(TO_U[1], i) * of.current[1];
        u += c.at(DRIVE, i);
        let (fade0, fade1) = (c.at(SYNAPTIC_DECAY[0], i), c.at(SYNAPTIC_DECAY[1], i));
        let current0 = c.at(RISE_TO_CURRENT[0], i) * of.rise[0] + fade0 * of.current[0];
        let current1 = c.at(RISE_TO_CURRENT[1], i) * of.rise[1] + fade1 * of.current[1];
        let (rise0, rise1) = (fade0 * of.rise[0] + input[0], fade1 * of.rise[1] + input[1]);
        let is_open = of.is_free | !drops;
        of.u = if of.is_free { u } else { of.u };
        of.current[0] = if is_open { current0 } else { of.current[0] };
        of.current[1] = if is_open { current1 } else { of.current[1] };
        of.rise[0] = if is_open { rise0 } else { of.rise[0] };
        of.rise[1] = if is_open { rise1 } else { of.rise[1] };
        of
    }
}

impl Dynamics for Delta {
    const RISES: bool = false;

    #[inline(always)]
    fn integrate(mut of: Neuron, input: [f32; 2], c: impl Values, i: usize, drops: bool) -> Neuron {
        let arrived = input[0] + input[1];
        let u = (c.at(DECAY, i) * of.u + c.at(DRIVE, i)) + (arrived + of.current[0]);
        let kept = c.at(DECAY, i) * of.current[0] + arrived;
        of.u = if of.is_free { u } else { of.u };
        of.current[0] = if of.is_free | drops { 0.0 } else { kept };
        of
    }
}

/// Steps a part with one value of each coefficient, or one for each neuron.
#[inline(always)]
fn step_as<D: Dynamics, const KICKED: bool>(part: &mut Part<'_>, outcome: &mut Outcome) {
    let n = part.state[U].len();
    if outcome.fired.len() < n {
        outcome.fired.resize(n, 0);
    }
    let (coefficients, places) = (&part.coefficients.values[..], &part.coefficients.places[part.population]);
    if places.iter().all(|place| place.stride == 0) {
        let mut same = Same([0.0; COUNT]);
        for (value, place) in same.0.iter_mut().zip(places) {
            *value = coefficients[place.offset as usize];
        }
        run::<D, KICKED, _>(part, same, n, outcome);
    } else {
        let mut each = Each([&[]; COUNT]);
        for (values, place) in each.0.iter_mut().zip(places) {
            *values = &coefficients[place.offset as usize + part.first as usize..][..n];
        }
        let x = &each.0;
        // Slices of equal length, so that the compiler knows all indices to be inside.
        let each = Each([
            &x[0][..n],
            &x[1][..n],
            &x[2][..n],
            &x[3][..n],
            &x[4][..n],
            &x[5][..n],
            &x[6][..n],
            &x[7][..n],
            &x[8][..n],
            &x[9][..n],
            &x[10][..n],
            &x[11][..n],
            &x[12][..n],
            &x[13][..n],
            &x[14][..n],
            &x[15][..n],
        ]);
        run::<D, KICKED, _>(part, each, n, outcome);
    }
    collect(&outcome.fired[..n], &mut outcome.spikes);
}

#[inline(always)]
fn run<D: Dynamics, const KICKED: bool, C: Values>(part: &mut Part<'_>, c: C, n: usize, outcome: &mut Outcome) {
    let [u, c0, c1, r0, r1, left] = &mut part.state;
    let [in0, in1] = &mut part.sums;
    let (currents, rises) = ((&mut c0[..n], &mut c1[..n]), (&mut r0[..n], &mut r1[..n]));
    let kicks = if KICKED { &part.kicks[..n] } else { &[] };
    outcome.is_lost = step_lanes::<D, KICKED, C>(
        &mut u[..n],
        currents.0,
        currents.1,
        rises.0,
        rises.1,
        &mut left[..n],
        &mut in0[..n],
        &mut in1[..n],
        &mut outcome.fired[..n],
        kicks,
        c,
        part.drops,
    );
}

/// Steps neurons side by side. Returns whether a potential is NaN or infinite.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the compiler vectorises the loop only if no arguments overlap")]
fn step_lanes<D: Dynamics, const KICKED: bool, C: Values>(
    u: &mut [f32],
    c0: &mut [f32],
    c1: &mut [f32],
    r0: &mut [f32],
    r1: &mut [f32],
    left: &mut [f32],
    in0: &mut [i32],
    in1: &mut [i32],
    fired: &mut [u32],
    kicks: &[f32],
    c: C,
    drops: bool,
) -> bool {
    let n = u.len();
    let (c0, c1, r0, r1) = (&mut c0[..n], &mut c1[..n], &mut r0[..n], &mut r1[..n]);
    let (left, in0, in1, fired) = (&mut left[..n], &mut in0[..n], &mut in1[..n], &mut fired[..n]);
    let kicks = if KICKED { &kicks[..n] } else { kicks };
    let mut lost = 0;
    for i in 0..n {
        let is_free = left[i] == 0.0;
        let rise = if D::RISES { [r0[i], r1[i]] } else { [0.0; 2] };
        let before = Neuron { u: u[i], current: [c0[i], c1[i]], rise, is_free };
        let input = [in0[i] as f32 * c.at(UNIT[0], i), in1[i] as f32 * c.at(UNIT[1], i)];
        let next = D::integrate(before, input, c, i, drops);
        let kicked = if KICKED { next.u + kicks[i] } else { next.u };
        let v = if is_free { kicked } else { next.u };
        let fires = is_free & (v >= c.at(THETA, i));
        let waits = if is_free { 0.0 } else { left[i] - 1.0 };
        u[i] = if fires { c.at(RESET, i) } else { v };
        left[i] = if fires { c.at(REFRACTORY, i) } else { waits };
        (c0[i], c1[i]) = (next.current[0], next.current[1]);
        if D::RISES {
            (r0[i], r1[i]) = (next.rise[0], next.rise[1]);
        }
        (in0[i], in1[i]) = (0, 0);
        lost |= u32::from(!v.is_finite());
        fired[i] = u32::from(fires);
    }
    lost != 0
}

/// Appends the indices of the neurons that fired, ascending.
#[inline(always)]
fn collect(fired: &[u32], spikes: &mut Vec<u32>) {
    for (block, fired) in fired.chunks_exact(BLOCK).enumerate() {
        let mut any = 0;
        for fired in fired {
            any |= fired;
        }
        if any != 0 {
            let first = (block * BLOCK) as u32;
            spikes.extend((first..).zip(fired).filter(|(_, fired)| **fired != 0).map(|(i, _)| i));
        }
    }
}
