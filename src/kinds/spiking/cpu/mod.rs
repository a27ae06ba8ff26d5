//! The CPU backend: the definition of what a spiking network does, made fast.
//!
//! # What is computed
//!
//! In step n (from the state after n steps to that after n + 1), for every neuron, in this order:
//!
//! 1. **integrate**, unless refractory: u and g follow the exact solution of
//!    `τ_m u' = I + g - u`, `τ_syn g' = -g`;
//! 2. **threshold**, unless refractory: `u > θ` is a spike in step n;
//! 3. **input**: the synapse counts of all spikes of step n - delay are summed per target as integers; unless
//!    refractory, `g += w_syn · sum` and `u += kicks`;
//! 4. **reset** of those that spiked: `u = u_reset`, `g = 0`, and refractory up to and including step
//!    n + R - 1. A driven neuron has R = 1.
//!
//! Input that reaches a refractory neuron, or one that spikes in this very step, is lost.
//!
//! # The anchor
//!
//! A neuron's state is (u₀, g₀) and the *anchor*, the number of completed steps at which they hold. k steps
//! later, `u = (a[k] u₀ + b[k] g₀) + c[k] I` and `g = d[k] g₀`, with tables made in double precision from the exact
//! propagators and rounded once; products and sums are rounded separately, in this order (no fused
//! multiply-add). The anchor moves exactly when the neuron
//!
//! - takes up a sum of arrivals other than 0, or a kick (to n + 1);
//! - spikes (to n + R: frozen until then);
//! - has its current changed, or when a parameter of the neuron model changes while it runs (to the step at hand);
//! - has been left alone for [`TABLE`](super::layout::TABLE) steps (to anchor + `TABLE`).
//!
//! This is a definition, not a strategy: it does not depend on batches, threads, or on who looks when.
//! [`reference`] computes it by visiting every neuron in every step.
//!
//! # Why most neurons cost nothing
//!
//! A neuron that receives nothing is not touched: the next input finds its state by one closed form. To notice spikes
//! of untouched neurons, every anchoring bounds the time to the threshold from below
//! ([`neuron::steps_to_threshold`]); only those who may cross are entered in a calendar, to be looked at then. The
//! bound has a margin for rounding, so a look may come early, never late, and an early look changes nothing.
//!
//! # Windows and threads
//!
//! Nothing that happens within one delay can influence the rest of it, so steps are taken in *windows* of at most one
//! delay. Each thread owns a contiguous range of neurons ([`part`]) and takes all steps of the window for them
//! before the threads meet ([`team`]). Whether a stretch of windows is worth threads is decided from the work of
//! the last one; results do not depend on it, because parts are the same and do not see each other in a window.

pub mod cells;
pub mod drive;
pub mod leaky;
pub mod neuron;
pub mod part;
pub mod reference;
pub mod ring;
mod simulation;
pub mod split;
mod state;
pub mod team;

use super::{
    Params,
    desk::{Desk, guard},
    layout::{Constants, Real},
    measure::Meter,
    setup::Setup,
    stimuli::Situation,
};
use crate::{
    gpu::Pass,
    sim::{BuildContext, SimError},
};
use part::{Part, Shared};
use ring::Ring;
use split::Split;
use std::{ops::Range, sync::Arc};

/// Longest window, steps.
const WINDOW: u64 = 64;
/// Windows between two decisions for or against threads.
const STRETCH: u64 = 64;
/// A window of less work than this, in nanoseconds, is quicker on one thread.
const WORTH_THREADS: u64 = 30_000;
/// Anchors are looked after at multiples of this many steps.
pub(super) const SETTLE_EVERY: u64 = 1 << 28;

/// A spiking network on the CPU.
pub struct CpuSim<T> {
    desk: Desk<T>,
    situation: Situation<T>,
    split: Split,
    parts: Vec<Part<T>>,
    rings: Vec<Ring>,
    /// Estimated nanoseconds per step, from the last stretch.
    work_per_step: u64,
}

impl<T: Real> CpuSim<T> {
    /// At rest, step 0.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let desk = Desk::new(params, context, setup)?;
        let split = Split::new(&desk.setup.wiring, threads);
        let mut sim = Self {
            situation: desk.plan.at(0, desk.setup.n()),
            parts: (0..split.parts()).map(|i| Part::new(i, split.neurons(i))).collect(),
            rings: (0..split.parts()).map(|_| Ring::new(ring_len(&desk.constants))).collect(),
            desk,
            split,
            work_per_step: 0,
        };
        sim.refile();
        Ok(sim)
    }

    fn refile(&mut self) {
        for part in &mut self.parts {
            part.cells.refile(self.desk.step as u32, &self.desk.constants);
        }
    }

    /// Takes up what is in force from this step on.
    fn enter_situation(&mut self) {
        let desk = &mut self.desk;
        self.situation = desk.plan.at(desk.step, desk.setup.n());
        for part in &mut self.parts {
            part.enter(&self.situation, desk.step as u32, &desk.constants);
        }
        desk.stale = false;
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.desk.step + u64::from(steps);
        while self.desk.step < end {
            if self.desk.stale || self.desk.step >= self.situation.until {
                self.enter_situation();
            }
            let step = self.desk.step;
            if step.is_multiple_of(SETTLE_EVERY) {
                self.parts.iter_mut().for_each(|p| p.cells.settle(step as u32, &self.desk.constants));
            }
            let settle = (step / SETTLE_EVERY + 1) * SETTLE_EVERY;
            let stretch = step + STRETCH * window(&self.desk.constants);
            self.stretch(end.min(stretch).min(self.situation.until).min(settle), pass)?;
            let now = self.desk.step;
            guard(self.parts.iter_mut().filter_map(|part| part.take_lost(now)), &self.desk.setup.neurons)?;
        }
        Ok(())
    }

    /// Steps without a change from outside.
    fn stretch(&mut self, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let desk = &mut self.desk;
        let (start, looked, events) = (desk.step, desk.meter.active, desk.meter.events);
        let steps = end - start;
        let window = window(&desk.constants);
        let worth =
            self.work_per_step * window.min(steps) > WORTH_THREADS && steps * self.work_per_step > 10 * WORTH_THREADS;
        let shared = Shared {
            constants: &desk.constants,
            wiring: &desk.setup.wiring,
            split: &self.split,
            situation: &self.situation,
            rings: &self.rings,
            by_hand: (start, &desk.by_hand),
            trace_every: desk.meter.trace_every,
            measure: pass.follow(),
        };
        let (parts, meter) = (&mut self.parts[..], &mut desk.meter);
        let run = |part: &mut Part<T>, steps| part.run(steps, &shared);
        let collect = |steps| collect(&self.rings, steps, meter, pass);
        if worth {
            team::together(parts, start..end, window, run, collect)?;
        } else {
            team::alone(parts, start..end, window, run, collect);
        }
        desk.step = end;
        desk.by_hand.clear();
        for part in &mut self.parts {
            pass.join(&mut part.pass);
        }
        let work = 2 * (desk.meter.events - events) + 10 * (desk.meter.active - looked);
        self.work_per_step = work / steps.max(1) + drive::Drive::work(&self.situation) / 2;
        Ok(())
    }
}

/// Steps per window.
fn window<T>(constants: &Constants<T>) -> u64 {
    u64::from(constants.delay).min(WINDOW)
}

/// Steps whose spikes are kept.
pub(super) fn ring_len<T>(constants: &Constants<T>) -> usize {
    (u64::from(constants.delay) + 2 * window(constants)) as usize
}

/// Reads the slots of a finished window, in the canonical order: by step, then neuron.
fn collect(rings: &[Ring], steps: Range<u64>, meter: &mut Meter, pass: &mut Pass) {
    pass.span("collect", steps.end - steps.start, || {
        for step in steps {
            let (mut events, mut active) = (0, 0);
            for ring in rings {
                let slot = ring.read(step);
                meter.spikes(step, &slot.spikes);
                meter.trace(&slot.trace);
                events += u64::from(slot.events);
                active += u64::from(slot.active);
            }
            meter.end_step(step, events, active);
        }
    });
}
