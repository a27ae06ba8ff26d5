//! Leaky units on the CPU: [`leaky`](crate::kinds::spiking::leaky) says what is computed, this module how it is made
//! fast.
//!
//! Noise reaches every unit in every step, so every unit is looked at in every step, in one straight pass over arrays
//! ([`sweep`]); noise is drawn for four steps at a time, as many as a Philox call serves. What takes the time is
//! delivery: some 200 connections per step and unit that spikes, to targets all over the array ([`sums`]).
//!
//! The delay is one step, so threads, each with a contiguous range of units ([`part`]), meet after every step. Whether
//! a stretch of steps is worth threads is decided from the work of the last one.
//!
//! One core of a 2023 server processor, 138,639 units, 783,000 synaptic events per step, µs per step: delivery 1060 to
//! 1270 (1.35 ns per event), sweep 125, noise 75, collecting 45.
//!
//! | tried | outcome |
//! | --- | --- |
//! | noise as the compiler makes vectors of it | 114 µs instead of 62 |
//! | the same, indices carried from block to block | no vectors at all: 1040 µs |
//! | asking for 4 lines of the next row but one | 1.58 ns per event |
//! | for all of that row, and its place 8 rows ahead | 1.38 ns per event: done |
//! | sums without bounds checks | 1.32 ns instead of 1.38: not worth giving up the checks |

pub mod part;
pub mod reference;
mod simulation;
pub mod state;
pub mod sums;
pub mod sweep;

use super::{ring::Ring, split::Split, team};
use crate::{
    gpu::Pass,
    kinds::spiking::{
        Params,
        desk::guard,
        leaky::{Constants, mean_count},
        measure::Meter,
        setup::Setup,
        stimuli::{Plan, Situation},
    },
    sim::{BuildContext, ElementSet, SimError},
};
use part::{Part, Shared};
use std::sync::Arc;

/// Steps between two decisions for or against threads.
const STRETCH: u64 = 64;
/// A step of less work than this, in nanoseconds, is quicker on one thread.
const WORTH_THREADS: u64 = 30_000;
/// Steps whose spikes are kept: one is written while the one before is delivered and collected.
const KEPT: usize = 4;

/// A network of leaky units on the CPU.
pub struct LeakySim {
    params: Params,
    context: BuildContext,
    setup: Arc<Setup>,
    sets: Vec<Arc<ElementSet>>,
    mean_count: f64,
    constants: Constants,
    plan: Plan,
    situation: Situation<f32>,
    /// The situation has to be looked up again before the next step.
    stale: bool,
    step: u64,
    split: Split,
    parts: Vec<Part>,
    rings: Vec<Ring>,
    meter: Meter,
    by_hand: Vec<(u32, f32)>,
    /// Estimated nanoseconds per step, from the last stretch.
    work_per_step: u64,
}

impl LeakySim {
    /// Before step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let plan = Plan::new(params, &setup, context)?;
        let split = Split::new(&setup.wiring, threads);
        let mean_count = mean_count(&setup.wiring);
        Ok(Self {
            situation: plan.at(0, setup.n()),
            parts: (0..split.parts()).map(|i| Part::new(i, split.neurons(i), context.seed)).collect(),
            rings: (0..split.parts()).map(|_| Ring::new(KEPT)).collect(),
            meter: Meter::new(setup.neurons.clone(), params.dt_ms(), &params.measure),
            sets: vec![setup.neurons.clone()],
            params: params.clone(),
            context: context.clone(),
            setup,
            mean_count,
            constants: params.leaky.derive(mean_count),
            plan,
            stale: true,
            step: 0,
            split,
            by_hand: vec![],
            work_per_step: 0,
        })
    }

    /// Takes up what is in force from this step on.
    fn enter_situation(&mut self) {
        self.situation = self.plan.at(self.step, self.setup.n());
        self.parts.iter_mut().for_each(|part| part.enter(&self.situation));
        self.stale = false;
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.step + u64::from(steps);
        while self.step < end {
            if self.stale || self.step >= self.situation.until {
                self.enter_situation();
            }
            self.stretch(end.min(self.step + STRETCH).min(self.situation.until), pass)?;
            guard(self.parts.iter_mut().filter_map(|part| part.lost.take()), &self.setup.neurons)?;
        }
        Ok(())
    }

    /// Steps without a change from outside.
    fn stretch(&mut self, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let (start, events) = (self.step, self.meter.events);
        let steps = end - start;
        let worth = self.work_per_step > WORTH_THREADS && steps * self.work_per_step > 10 * WORTH_THREADS;
        let shared = Shared {
            constants: self.constants,
            seed: self.context.seed,
            wiring: &self.setup.wiring,
            split: &self.split,
            situation: &self.situation,
            rings: &self.rings,
            by_hand: (start, &self.by_hand),
            trace_every: self.meter.trace_every,
            measure: pass.follow(),
        };
        let (parts, meter) = (&mut self.parts[..], &mut self.meter);
        let run = |part: &mut Part, steps: std::ops::Range<u64>| steps.for_each(|step| part.run(step, &shared));
        let collect = |steps| super::collect(&self.rings, steps, meter, pass);
        if worth {
            team::together(parts, start..end, 1, run, collect)?;
        } else {
            team::alone(parts, start..end, 1, run, collect);
        }
        self.step = end;
        self.by_hand.clear();
        for part in &mut self.parts {
            pass.join(&mut part.pass);
        }
        self.work_per_step = (self.meter.events - events) / steps.max(1) + u64::from(self.setup.n());
        Ok(())
    }
}
