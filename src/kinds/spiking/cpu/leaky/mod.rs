//! Leaky units on the CPU: a fast implementation of [`leaky`](crate::kinds::spiking::leaky).
//!
//! Noise reaches every unit in every step, so every unit is updated in every step, in one pass over arrays ([`step`]). Noise is
//! drawn for four steps at a time, because a Philox call returns four words. Delivery takes most of the time, because its
//! targets are spread over the whole array ([`arrivals`]).
//!
//! The delay is one step, so threads, each with a contiguous range of units ([`partition`]), synchronise after every step.
//! Whether steps run in parallel is decided from the work of the previous ones.
//!
//! Delivery waits for memory. Therefore the row after the next is prefetched as a whole, and the start of a row eight spikes
//! ahead. Sums keep their bounds checks, which cost little. Noise is drawn by a loop over explicit vectors, because the
//! compiler's vectorisation of it is slower.

pub mod arrivals;
pub mod partition;
pub mod reference;
mod simulation;
pub mod state;
pub mod step;

use super::{partitioning::Partitioning, ring_buffer::RingBuffer, threads};
use crate::{
    gpu::Pass,
    kinds::spiking::{
        host_state::{HostState, check_finite},
        leaky::{Constants, mean_count},
        params::Params,
        setup::Setup,
        stimuli::ActiveStimuli,
    },
    sim::{BuildContext, SimError},
};
use partition::{Partition, Shared};
use std::sync::Arc;

/// Number of steps between two decisions about parallel execution.
const STRETCH: u64 = 64;
/// Minimum work per step, in nanoseconds, for parallel execution.
const PARALLEL_THRESHOLD_NS: u64 = 30_000;
/// Number of steps in the ring buffers: one is written while the previous one is delivered and collected.
const KEPT: usize = 4;

/// A network of leaky units on the CPU.
pub struct LeakySim {
    host: HostState<f32>,
    mean_count: f64,
    constants: Constants,
    stimuli: ActiveStimuli<f32>,
    partitioning: Partitioning,
    partitions: Vec<Partition>,
    rings: Vec<RingBuffer>,
    /// Estimated nanoseconds per step, from the previous steps.
    work_per_step: u64,
}

impl LeakySim {
    /// Creates a network in its state before step 0. Fails if a stimulus is invalid.
    pub fn new(params: &Params, context: &BuildContext, setup: Arc<Setup>, threads: usize) -> Result<Self, SimError> {
        let host = HostState::new(params, context, setup)?;
        let partitioning = Partitioning::new(&host.setup.connectivity, threads);
        let mean_count = mean_count(&host.setup.connectivity);
        Ok(Self {
            stimuli: host.plan.at(0, host.setup.n()),
            partitions: (0..partitioning.partitions())
                .map(|i| Partition::new(i, partitioning.neurons(i), context.seed))
                .collect(),
            rings: (0..partitioning.partitions()).map(|_| RingBuffer::new(KEPT)).collect(),
            mean_count,
            constants: params.leaky.derive(mean_count),
            host,
            partitioning,
            work_per_step: 0,
        })
    }

    /// Applies the stimuli that are active from this step on.
    fn apply_stimuli(&mut self) {
        self.stimuli = self.host.plan.at(self.host.step, self.host.setup.n());
        self.partitions.iter_mut().for_each(|partition| partition.apply_stimuli(&self.stimuli));
        self.host.stimuli_changed = false;
    }

    fn run(&mut self, steps: u32, pass: &mut Pass) -> Result<(), SimError> {
        let end = self.host.step + u64::from(steps);
        while self.host.step < end && !pass.is_stopping() {
            if self.host.stimuli_changed || self.host.step >= self.stimuli.until {
                self.apply_stimuli();
            }
            self.stretch(end.min(self.host.step + STRETCH).min(self.stimuli.until), pass)?;
            check_finite(
                self.partitions.iter_mut().filter_map(|partition| partition.non_finite.take()),
                &self.host.setup.neurons,
            )?;
        }
        Ok(())
    }

    /// Runs steps without changes of parameters or stimuli. Fails if a thread cannot be started.
    fn stretch(&mut self, end: u64, pass: &mut Pass) -> Result<(), SimError> {
        let (start, events) = (self.host.step, self.host.measurements.events);
        let steps = end - start;
        let parallel =
            self.work_per_step > PARALLEL_THRESHOLD_NS && steps * self.work_per_step > 10 * PARALLEL_THRESHOLD_NS;
        let shared = Shared {
            constants: self.constants,
            seed: self.host.context.seed,
            connectivity: &self.host.setup.connectivity,
            partitioning: &self.partitioning,
            stimuli: &self.stimuli,
            rings: &self.rings,
            manual_kicks: (start, &self.host.manual_kicks),
            trace_every: self.host.measurements.trace_every,
            measure: pass.follow(),
        };
        let (partitions, measurements) = (&mut self.partitions[..], &mut self.host.measurements);
        let run = |partition: &mut Partition, steps: std::ops::Range<u64>| {
            steps.for_each(|step| partition.run(step, &shared))
        };
        let collect = |steps| super::collect(&self.rings, steps, measurements, pass);
        if parallel {
            threads::run_parallel(partitions, start..end, 1, run, collect)?;
        } else {
            threads::run_serial(partitions, start..end, 1, run, collect);
        }
        self.host.step = end;
        self.host.manual_kicks.clear();
        for partition in &mut self.partitions {
            pass.join(&mut partition.pass);
        }
        self.work_per_step = (self.host.measurements.events - events) / steps.max(1) + u64::from(self.host.setup.n());
        Ok(())
    }
}
