//! A contiguous range of neurons, and the steps of one thread over it.

use super::{
    kicks::KickGenerator,
    neuron_store::NeuronStore,
    partitioning::{Arrivals, Partitioning},
    ring_buffer::{RingBuffer, Slot},
};
use crate::{
    data::Csr,
    gpu::{Follow, Pass},
    kinds::spiking::{
        constants::{Constants, Real},
        stimuli::{ActiveStimuli, Gain},
    },
    num::prefetch,
    sim::{Buffers as _, MemoryReport, NonFinite, SimError},
};
use std::ops::Range;

/// Inputs that all partitions share during a run of steps.
pub struct Shared<'a, T> {
    /// Constants of the neuron model.
    pub constants: &'a Constants<T>,
    /// Connections by presynaptic neuron.
    pub connectivity: &'a Csr,
    /// Division of the connectivity into partitions.
    pub partitioning: &'a Partitioning,
    /// Stimuli that are active in these steps.
    pub stimuli: &'a ActiveStimuli<T>,
    /// Ring buffers of recent spikes, by partition.
    pub rings: &'a [RingBuffer],
    /// First step of the run, and the manual kicks, which act in that step.
    pub manual_kicks: (u64, &'a [(u32, T)]),
    /// Number of steps between samples of traced neurons.
    pub trace_every: u64,
    /// Timing settings of the batch.
    pub measure: Follow,
}

/// Neurons of one thread, with its buffers.
pub struct Partition<T> {
    index: usize,
    range: Range<u32>,
    /// The neurons, indexed from the start of the range.
    pub store: NeuronStore<T>,
    /// Traced neurons as indices into the range, ascending.
    pub traced: Vec<u32>,
    arrivals: Arrivals,
    kick_generator: KickGenerator,
    kicks: Vec<(u32, T)>,
    /// Timings of this thread since they were last collected.
    pub pass: Pass,
}

impl<T: Real> Partition<T> {
    /// Creates a partition with all neurons at rest. Fails if memory is exhausted.
    pub fn new(index: usize, range: Range<u32>) -> Result<Self, SimError> {
        Ok(Self {
            index,
            store: NeuronStore::new(range.len())?,
            traced: vec![],
            arrivals: Arrivals::new(range.len())?,
            kick_generator: KickGenerator::default(),
            kicks: vec![],
            pass: Pass::default(),
            range,
        })
    }

    /// Returns the range of neurons of the partition.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    /// Takes the steps of a window, which is at most one delay long.
    pub fn run(&mut self, steps: Range<u64>, shared: &Shared<'_, T>) {
        let mut pass = std::mem::take(&mut self.pass);
        pass.measure_as(shared.measure, self.index);
        for step in steps {
            let mut slot = shared.rings[self.index].write(step);
            let n = step as u32;
            let checked = pass.span("threshold", 0, || self.store.threshold(n, shared.constants));
            pass.span("drive", 0, || self.kick(step, shared));
            let events = pass.span("deliver", 0, || self.deliver(step, shared));
            let touched = pass.span("integrate", 0, || self.integrate(n, shared.constants));
            if pass.profiled {
                for (name, items) in [("threshold", checked), ("deliver", events), ("integrate", touched)] {
                    pass.work(name, items.into(), 0);
                }
                pass.work("drive", self.kicks.len() as u64, 0);
            }
            pass.span("reset", self.store.spiked.len() as u64, || {
                self.store.reset(n, shared.constants);
                slot.spikes.clear();
                slot.spikes.extend(self.store.spiked.iter().map(|i| i + self.range.start));
            });
            (slot.events, slot.active) = (events, checked + touched);
            pass.span("trace", self.traced.len() as u64, || self.trace(step + 1, shared, &mut slot));
        }
        self.pass = pass;
    }

    /// Collects the kicks of this step (step 3a).
    fn kick(&mut self, step: u64, shared: &Shared<'_, T>) {
        let manual_kicks = if shared.manual_kicks.0 == step { shared.manual_kicks.1 } else { &[] };
        self.kick_generator.kicks(step, shared.stimuli, self.range.clone(), manual_kicks, &mut self.kicks);
    }

    /// Sums the spikes of one delay ago per target (step 3b). Returns the number of synaptic events.
    fn deliver(&mut self, step: u64, shared: &Shared<'_, T>) -> u32 {
        let Some(sent) = step.checked_sub(shared.constants.delay.into()) else { return 0 };
        let mut events = 0;
        for ring in shared.rings {
            let slot = ring.read(sent);
            for (at, pre) in slot.spikes.iter().enumerate() {
                if let Some(later) = slot.spikes.get(at + 2) {
                    let words = shared.partitioning.words(shared.connectivity, self.index, *later);
                    (0..4).for_each(|line| prefetch::read(&shared.connectivity.words, words.start + 16 * line));
                }
                let gain = shared.stimuli.gain(*pre);
                if gain.silent {
                    continue;
                }
                let words = shared.partitioning.words(shared.connectivity, self.index, *pre);
                events += words.len() as u32;
                if gain == Gain::NONE {
                    self.arrivals.deliver(shared.connectivity, words, self.range.start);
                } else {
                    self.arrivals.deliver_scaled(shared.connectivity, words, self.range.start, gain);
                }
            }
        }
        events
    }

    /// Integrates neurons with a kick or a non-zero sum, unless they are refractory (step 3c).
    fn integrate(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        // The function is compiled twice, because the common case without currents is cheaper.
        if self.store.currents.is_empty() {
            self.integrate_inputs::<false>(step, constants)
        } else {
            self.integrate_inputs::<true>(step, constants)
        }
    }

    fn integrate_inputs<const CURRENTS: bool>(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        let Self { store, arrivals, kicks, .. } = self;
        for (at, (i, kick)) in kicks.iter().enumerate() {
            store.prefetch(kicks.get(at + 8).map_or(*i, |k| k.0));
            let sum = arrivals.take(*i as usize);
            store.integrate_input::<CURRENTS>(*i, step, sum, *kick, constants);
        }
        let mut touched = kicks.len() as u32;
        arrivals.drain(|i, sum, later| {
            store.prefetch(later);
            if sum != 0 {
                touched += 1;
                store.integrate_input::<CURRENTS>(i, step, sum, T::ZERO, constants);
            }
        });
        touched
    }

    fn trace(&self, completed: u64, shared: &Shared<'_, T>, slot: &mut Slot) {
        slot.trace.clear();
        if self.traced.is_empty() || !completed.is_multiple_of(shared.trace_every) {
            return;
        }
        slot.trace.extend(self.traced.iter().map(|i| {
            let (u, g) = self.store.state_of(*i as usize, completed as u32, shared.constants);
            [(shared.constants.v_rest + u.wide()) as f32, g.wide() as f32]
        }));
    }

    /// Applies stimuli between two steps.
    pub fn apply_stimuli(&mut self, stimuli: &ActiveStimuli<T>, completed: u32, constants: &Constants<T>) {
        self.kick_generator.forget();
        self.store.apply_stimuli(stimuli, self.range.start, completed, constants);
    }

    /// Takes the first neuron that became non-finite since the last call; `None` if all states are finite. `now` is the next
    /// step.
    pub fn take_non_finite(&mut self, now: u64) -> Option<NonFinite> {
        let (step, i) = self.store.non_finite.take()?;
        let ago = (now as u32).wrapping_sub(step);
        Some(NonFinite { step: now.saturating_sub(ago.into()), element: self.range.start + i })
    }

    /// Returns all neurons to rest.
    pub fn rewind(&mut self) {
        self.store.rewind();
        self.arrivals.clear();
        self.kick_generator.forget();
    }

    /// Adds the memory of the partition to a report.
    pub fn report(&self, to: &mut MemoryReport) {
        self.store.report(to);
        self.arrivals.report(to);
        to.host("neurons", self.store.currents.capacity() as u64 * T::BYTES as u64);
        to.host("input sums and event queue", self.store.list_bytes() + self.arrivals.list_bytes());
    }
}
