//! A contiguous range of units and the work of one thread on it in a step.

use super::{
    arrivals::ArrivalSums,
    step::{StepArrays, room},
};
use crate::{
    data::Csr,
    gpu::{Follow, Pass},
    kinds::spiking::{
        cpu::{
            kicks::KickGenerator,
            partitioning::Partitioning,
            ring_buffer::{RingBuffer, Slot},
        },
        leaky::{Constants, NOISE, start},
        stimuli::{ActiveStimuli, Gain},
    },
    num::{prefetch, uniform::signed_units},
    sim::NonFinite,
};
use std::ops::Range;

/// Value of `last_spike` for units that never spiked.
pub const NEVER: u64 = u64::MAX;

/// Maximum number of words of a row that are prefetched.
const MAX_PREFETCH_WORDS: usize = 384;

/// Inputs that all partitions share during a run of steps.
pub struct Shared<'a> {
    /// Constants of the model.
    pub constants: Constants,
    /// Seed of every draw.
    pub seed: u64,
    /// Connections by presynaptic neuron.
    pub connectivity: &'a Csr,
    /// Division of the connectivity into partitions.
    pub partitioning: &'a Partitioning,
    /// Stimuli that are active in these steps.
    pub stimuli: &'a ActiveStimuli<f32>,
    /// Ring buffers of recent spikes, by partition.
    pub rings: &'a [RingBuffer],
    /// First step of the run, and the manual kicks, which act in that step.
    pub manual_kicks: (u64, &'a [(u32, f32)]),
    /// Number of steps between samples of traced neurons.
    pub trace_every: u64,
    /// Timing settings of the batch.
    pub measure: Follow,
}

/// Units of one thread, with its buffers. Arrays start at the first unit of the range.
pub struct Partition {
    index: usize,
    range: Range<u32>,
    /// Potentials, padded to whole blocks.
    pub v: Vec<f32>,
    /// Step of each unit's last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Traced units, ascending.
    pub traced: Vec<u32>,
    /// Units that receive no input.
    closed: Vec<u32>,
    /// Currents, plus kicks during a step; empty while there are none.
    inputs: Vec<f32>,
    sums: ArrivalSums,
    /// Noise of amplitude 1 in the steps `4 group .. 4 group + 4`.
    units: [Vec<f32>; 4],
    group: Option<u64>,
    kick_generator: KickGenerator,
    kicks: Vec<(u32, f32)>,
    /// First unit with a non-finite potential; `None` if all potentials are finite.
    pub non_finite: Option<NonFinite>,
    /// Timings of this thread since they were last collected.
    pub pass: Pass,
}

impl Partition {
    /// Creates the partition in its state before step 0.
    pub fn new(index: usize, range: Range<u32>, seed: u64) -> Self {
        let room = room(range.len());
        let mut partition = Self {
            index,
            v: vec![0.0; room],
            last_spike: vec![NEVER; range.len()],
            traced: vec![],
            closed: vec![],
            inputs: vec![],
            sums: ArrivalSums::new(range.start, room),
            units: std::array::from_fn(|_| vec![0.0; room]),
            group: None,
            kick_generator: KickGenerator::default(),
            kicks: vec![],
            non_finite: None,
            pass: Pass::default(),
            range,
        };
        partition.rewind(seed);
        partition
    }

    /// Returns the range of units of the partition.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    /// Returns the potentials of the units, without padding.
    pub fn potentials(&self) -> &[f32] {
        &self.v[..self.range.len()]
    }

    /// Takes one step.
    pub fn run(&mut self, step: u64, shared: &Shared<'_>) {
        let mut pass = std::mem::take(&mut self.pass);
        pass.measure_as(shared.measure, self.index);
        let mut slot = shared.rings[self.index].write(step);
        pass.span("drive", 0, || self.kick(step, shared));
        let events = pass.span("deliver", 0, || self.deliver(step, shared));
        self.draw(step >> 2, shared.seed, &mut pass);
        pass.span("integrate", 0, || self.integrate(step, shared, &mut slot.spikes));
        let units = self.range.len() as u32;
        if pass.profiled {
            for (name, items) in [("drive", self.kicks.len() as u32), ("deliver", events), ("integrate", units)] {
                pass.work(name, items.into(), 0);
            }
        }
        (slot.events, slot.active) = (events, units);
        pass.span("trace", self.traced.len() as u64, || self.trace(step + 1, shared, &mut slot));
        self.pass = pass;
    }

    /// Collects the kicks of this step, except those to closed units.
    fn kick(&mut self, step: u64, shared: &Shared<'_>) {
        let manual_kicks = if shared.manual_kicks.0 == step { shared.manual_kicks.1 } else { &[] };
        self.kick_generator.kicks(step, shared.stimuli, self.range.clone(), manual_kicks, &mut self.kicks);
        if !self.closed.is_empty() {
            self.kicks.retain(|(i, _)| self.closed.binary_search(i).is_err());
        }
    }

    /// Sums the spikes of the previous step per target. Returns the number of synaptic events.
    fn deliver(&mut self, step: u64, shared: &Shared<'_>) -> u32 {
        let Some(sent) = step.checked_sub(1) else { return 0 };
        let mut events = 0;
        for ring in shared.rings {
            let slot = ring.read(sent);
            for (at, pre) in slot.spikes.iter().enumerate() {
                self.prefetch_rows(&slot.spikes[at..], shared);
                let gain = shared.stimuli.gain(*pre);
                if gain.silent {
                    continue;
                }
                let words = shared.partitioning.words(shared.connectivity, self.index, *pre);
                events += words.len() as u32;
                if gain == Gain::NONE {
                    self.sums.deliver(shared.connectivity, words);
                } else {
                    self.sums.deliver_scaled(shared.connectivity, words, gain);
                }
            }
        }
        self.closed.iter().for_each(|i| self.sums.of[*i as usize] = 0);
        events
    }

    /// Prefetches for the next spikes: the start of a later row, and the row after the next.
    #[inline]
    fn prefetch_rows(&self, spikes: &[u32], shared: &Shared<'_>) {
        if let Some(later) = spikes.get(8) {
            prefetch::read(&shared.connectivity.rows, *later as usize);
        }
        if let Some(soon) = spikes.get(2) {
            let words = shared.partitioning.words(shared.connectivity, self.index, *soon);
            words
                .take(MAX_PREFETCH_WORDS)
                .step_by(16)
                .for_each(|word| prefetch::read(&shared.connectivity.words, word));
        }
    }

    /// Draws the noise of four steps, unless already drawn.
    fn draw(&mut self, group: u64, seed: u64, pass: &mut Pass) {
        if self.group != Some(group) {
            let (first, units) = (self.range.start, &mut self.units);
            pass.span("noise", self.range.len() as u64, || signed_units(seed, NOISE, group, first, units));
            self.group = Some(group);
        }
    }

    /// Updates all units and collects their spikes.
    fn integrate(&mut self, step: u64, shared: &Shared<'_>, spikes: &mut Vec<u32>) {
        self.put_kicks(shared.stimuli);
        let sweep = StepArrays {
            v: &mut self.v,
            sums: &mut self.sums.of,
            drive: &self.inputs,
            units: &self.units[(step & 3) as usize],
        };
        spikes.clear();
        if !sweep.run(&shared.constants, self.range.start, spikes) {
            self.note_non_finite(step);
        }
        while spikes.pop_if(|i| *i >= self.range.end).is_some() {} // padding of the last block
        spikes.iter().for_each(|i| self.last_spike[(i - self.range.start) as usize] = step);
        for (i, _) in &self.kicks {
            self.inputs[*i as usize] = current(shared.stimuli, i + self.range.start);
        }
    }

    #[cold]
    fn note_non_finite(&mut self, step: u64) {
        if let Some(i) = self.potentials().iter().position(|v| !v.is_finite()) {
            NonFinite::note(&mut self.non_finite, NonFinite { step, element: self.range.start + i as u32 });
        }
    }

    /// Adds the kicks of this step to the currents.
    fn put_kicks(&mut self, stimuli: &ActiveStimuli<f32>) {
        if !self.kicks.is_empty() {
            self.inputs.resize(self.v.len(), 0.0);
        }
        for (i, kick) in &self.kicks {
            self.inputs[*i as usize] = current(stimuli, i + self.range.start) + kick;
        }
    }

    fn trace(&self, completed: u64, shared: &Shared<'_>, slot: &mut Slot) {
        slot.trace.clear();
        if completed.is_multiple_of(shared.trace_every) {
            slot.trace.extend(self.traced.iter().map(|i| [self.v[*i as usize], 0.0]));
        }
    }

    /// Applies stimuli between two steps.
    pub fn apply_stimuli(&mut self, stimuli: &ActiveStimuli<f32>) {
        self.kick_generator.forget();
        let is_closed = |i: &u32| stimuli.closed.get(*i as usize).copied().unwrap_or(false);
        self.closed = self.range.clone().filter(is_closed).map(|i| i - self.range.start).collect();
        self.inputs = vec![];
        if !stimuli.currents.is_empty() {
            self.inputs.extend(self.range.clone().map(|i| current(stimuli, i)));
            self.inputs.resize(self.v.len(), 0.0);
        }
    }

    /// Returns to the state before step 0.
    pub fn rewind(&mut self, seed: u64) {
        self.v.fill(0.0);
        self.v.iter_mut().zip(self.range.clone()).for_each(|(v, i)| *v = start(seed, i));
        self.last_spike.fill(NEVER);
        self.group = None;
        self.non_finite = None;
        self.kick_generator.forget();
    }

    /// Returns the memory in bytes of the units, and of arrivals and noise.
    pub fn n_bytes(&self) -> (u64, u64) {
        let units = self.v.len() * 4 + self.last_spike.len() * 8 + self.inputs.len() * 4;
        (units as u64, (self.sums.of.len() * 4 + self.v.len() * 16) as u64)
    }
}

fn current(stimuli: &ActiveStimuli<f32>, neuron: u32) -> f32 {
    stimuli.currents.get(neuron as usize).copied().unwrap_or(0.0)
}
