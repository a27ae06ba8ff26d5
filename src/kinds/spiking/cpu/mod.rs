//! CPU backend: the definition of the step, and its fast implementation.
//!
//! # Definition
//!
//! In step n (from the state after n steps to that after n + 1), for every neuron, in this order:
//!
//! 1. **integrate**, unless refractory: u and g follow the exact solution of
//!    `τ_m u' = I + g - u`, `τ_syn g' = -g`;
//! 2. **threshold**, unless refractory: `u > θ` is a spike in step n;
//! 3. **input**: the synapse counts of all spikes of step n - delay are summed per target as integers; unless
//!    refractory, `g += w_syn · sum` and `u += kicks`;
//! 4. **reset** of the neurons that spiked: `u = u_reset`, `g = 0`, and refractory up to and including step
//!    n + R - 1. A driven neuron has R = 1.
//!
//! Input to a refractory neuron, or to one that spikes in the same step, is discarded.
//!
//! # The anchor
//!
//! A neuron's state is (u₀, g₀) and the *anchor*, the number of completed steps at which they hold. k steps
//! later, `u = (a[k] u₀ + b[k] g₀) + c[k] I` and `g = d[k] g₀`, with tables made in double precision from the exact
//! propagators and rounded once; products and sums are rounded separately, in this order (no fused
//! multiply-add). The anchor moves exactly when the neuron
//!
//! - receives a sum of arrivals other than 0, or a kick (to n + 1);
//! - spikes (to n + R: frozen until then);
//! - has its current changed, or a parameter of the neuron model changes during the run (to the current step);
//! - has had no event for [`TABLE`](super::constants::TABLE) steps (to anchor + `TABLE`).
//!
//! The anchors are part of the definition: they do not depend on batches, threads or sampling. [`reference`] computes them by
//! visiting every neuron in every step.
//!
//! # Why most neurons have no cost
//!
//! A neuron without input is not accessed: the next input computes its state by one closed form. To detect spikes of neurons that
//! are not accessed, every anchoring computes a lower bound on the time to the threshold ([`neuron::steps_to_threshold`]); only
//! neurons that may cross are added to a calendar queue and checked at that step. The bound has a margin for rounding, so a check
//! may be early, never late, and an early check changes nothing.
//!
//! # Windows and threads
//!
//! No event within one delay can influence another, so steps are taken in *windows* of at most one delay. Each thread owns a
//! contiguous range of neurons ([`partition`]) and takes all steps of the window for them before the barrier ([`threads`]).
//! Whether windows run in parallel is decided from the work of the previous ones; results do not depend on it, because partitions
//! are the same and independent within a window.

pub mod kicks;
pub mod leaky;
pub mod neuron;
pub mod neuron_store;
pub mod partition;
pub mod partitioning;
pub mod reference;
pub mod ring_buffer;
mod simulation;
mod state;
pub mod threads;

use super::{
    constants::{Constants, Real},
    host_state::{HostState, check_finite},
    measure::Measurements,
    params::Params,
    setup::Setup,
    start,
    stimuli::ActiveStimuli,
};
use crate::{
    gpu::Pass,
    sim::{BuildContext, SimError},
};
use partition::{Partition, Shared};
use partitioning::Partitioning;
use ring_buffer::RingBuffer;
use std::{ops::Range, sync::Arc};

/// Maximum number of steps per window.
const WINDOW: u64 = 64;
/// Number of windows between two decisions about parallel execution.
const STRETCH: u64 = 64;
/// Minimum work per window, in nanoseconds, for parallel execution.
const PARALLEL_THRESHOLD_NS: u64 = 30_000;
/// Number of steps between advances of all anchors.
pub(super) const SETTLE_EVERY: u64 = 1 << 28;

/// A spiking network on the CPU.
pub struct CpuSim<T> {
    host: HostState<T>,
    stimuli: ActiveStimuli<T>,
    partitioning: Partitioning,
    partitions: Vec<Partition<T>>,
    rings: Vec<RingBuffer>,
    /// Estimated nanoseconds per step, from the previous windows.
    work_per_step: u64,
}

impl<T: Real> CpuSim<T> {
    /// Creates a network at step 0, with neurons at their start potentials. Fails if a stimulus is invalid or memory is
    /// exhausted.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let host = HostState::new(params, context, setup)?;
        let partitioning = Partitioning::new(&host.setup.connectivity, threads);
        let mut sim = Self {
            stimuli: host.plan.at(0, host.setup.n()),
            partitions: (0..partitioning.partitions())
                .map(|i| Partition::new(i, partitioning.neurons(i)))
                .collect::<Result<_, _>>()?,
            rings: (0..partitioning.partitions()).map(|_| RingBuffer::new(ring_buffer_len(&host.constants))).collect(),
            host,
            partitioning,
            work_per_step: 0,
        };
        sim.start();
        Ok(sim)
    }

    /// Sets the start potentials and builds the calendars.
    fn start(&mut self) {
        if let Some(u) = start::potentials(&self.host.params, self.host.context.seed) {
            for partition in &mut self.partitions {
                let range = partition.range();
                let neurons = partition.store.neurons.iter_mut().zip(range);
                neurons.for_each(|(neuron, lane)| neuron.u = T::of(u(lane)));
            }
        }
        self.reschedule_all();
    }

    fn reschedule_all(&mut self) {
        for partition in &mut self.partitions {
            partition.store.reschedule_all(self.host.step as u32, &self.host.constants);
        }
    }

    /// Applies the stimuli that are active from this step on.
    fn apply_stimuli(&mut self) {
        let host = &mut self.host;
        self.stimuli = host.plan.at(host.step, host.setup.n());
        for partition in &mut self.partitions {
            partition.apply_stimuli(&self.stimuli, host.step as u32, &host.constants);
        }
        host.stimuli_changed = false;
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.host.step + u64::from(steps);
        while self.host.step < end {
            if self.host.stimuli_changed || self.host.step >= self.stimuli.until {
                self.apply_stimuli();
            }
            let step = self.host.step;
            if step.is_multiple_of(SETTLE_EVERY) {
                self.partitions.iter_mut().for_each(|p| p.store.advance_anchors(step as u32, &self.host.constants));
            }
            let settle = (step / SETTLE_EVERY + 1) * SETTLE_EVERY;
            let stretch = step + STRETCH * window(&self.host.constants);
            self.stretch(end.min(stretch).min(self.stimuli.until).min(settle), pass)?;
            let now = self.host.step;
            check_finite(
                self.partitions.iter_mut().filter_map(|partition| partition.take_non_finite(now)),
                &self.host.setup.neurons,
            )?;
        }
        Ok(())
    }

    /// Runs steps without changes of parameters or stimuli. Fails if a thread cannot be started.
    fn stretch(&mut self, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let host = &mut self.host;
        let (start, looked, events) = (host.step, host.measurements.active, host.measurements.events);
        let steps = end - start;
        let window = window(&host.constants);
        let parallel = self.work_per_step * window.min(steps) > PARALLEL_THRESHOLD_NS
            && steps * self.work_per_step > 10 * PARALLEL_THRESHOLD_NS;
        let shared = Shared {
            constants: &host.constants,
            connectivity: &host.setup.connectivity,
            partitioning: &self.partitioning,
            stimuli: &self.stimuli,
            rings: &self.rings,
            manual_kicks: (start, &host.manual_kicks),
            trace_every: host.measurements.trace_every,
            measure: pass.follow(),
        };
        let (partitions, measurements) = (&mut self.partitions[..], &mut host.measurements);
        let run = |partition: &mut Partition<T>, steps| partition.run(steps, &shared);
        let collect = |steps| collect(&self.rings, steps, measurements, pass);
        if parallel {
            threads::run_parallel(partitions, start..end, window, run, collect)?;
        } else {
            threads::run_serial(partitions, start..end, window, run, collect);
        }
        host.step = end;
        host.manual_kicks.clear();
        for partition in &mut self.partitions {
            pass.join(&mut partition.pass);
        }
        let work = 2 * (host.measurements.events - events) + 10 * (host.measurements.active - looked);
        self.work_per_step = work / steps.max(1) + kicks::KickGenerator::work(&self.stimuli) / 2;
        Ok(())
    }
}

/// Returns the number of steps per window.
fn window<T>(constants: &Constants<T>) -> u64 {
    u64::from(constants.delay).min(WINDOW)
}

/// Returns the number of steps in the ring buffers.
pub(super) fn ring_buffer_len<T>(constants: &Constants<T>) -> usize {
    (u64::from(constants.delay) + 2 * window(constants)) as usize
}

/// Reads the slots of a finished window in the canonical order: by step, then neuron.
pub(super) fn collect(rings: &[RingBuffer], steps: Range<u64>, measurements: &mut Measurements, pass: &mut Pass) {
    pass.span("collect", steps.end - steps.start, || {
        for step in steps {
            let (mut events, mut active) = (0, 0);
            for ring in rings {
                let slot = ring.read(step);
                measurements.spikes(step, &slot.spikes);
                measurements.trace(&slot.trace);
                events += u64::from(slot.events);
                active += u64::from(slot.active);
            }
            measurements.end_step(step, events, active);
        }
    });
}
