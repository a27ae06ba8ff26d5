//! A contiguous range of units and everything one thread does to it in a step.

use super::{
    sums::Sums,
    sweep::{Sweep, room},
};
use crate::{
    data::Csr,
    gpu::{Follow, Pass},
    kinds::spiking::{
        cpu::{
            drive::Drive,
            ring::{Ring, Slot},
            split::Split,
        },
        leaky::{Constants, NOISE, start},
        stimuli::{Gain, Situation},
    },
    num::{prefetch, uniform::signed_units},
    sim::NonFinite,
};
use std::ops::Range;

/// Stands for "never" as the step of a last spike.
pub const NEVER: u64 = u64::MAX;

/// Words of a row that are asked for ahead.
const LONGEST_AHEAD: usize = 384;

/// What all parts read while a stretch of steps is run.
pub struct Shared<'a> {
    /// The model.
    pub constants: Constants,
    /// Seed of every draw.
    pub seed: u64,
    /// The wiring.
    pub wiring: &'a Csr,
    /// Whose part of it is whose.
    pub split: &'a Split,
    /// Drives and lesions in force.
    pub situation: &'a Situation<f32>,
    /// Recent spikes, per part.
    pub rings: &'a [Ring],
    /// Kicks by hand, to be given in the first step of the stretch.
    pub by_hand: (u64, &'a [(u32, f32)]),
    /// Completed steps between samples of traced neurons.
    pub trace_every: u64,
    /// Whether and how to measure.
    pub measure: Follow,
}

/// The units of one thread, and its tools. Arrays count from the start of the range.
pub struct Part {
    index: usize,
    range: Range<u32>,
    /// Potentials, with room for whole blocks.
    pub v: Vec<f32>,
    /// Step of each unit's last spike, or [`NEVER`].
    pub last_spike: Vec<u64>,
    /// Units to be traced, ascending.
    pub traced: Vec<u32>,
    /// Units nothing reaches.
    closed: Vec<u32>,
    /// Currents, and during a step kicks too; empty until there are some.
    inputs: Vec<f32>,
    sums: Sums,
    /// Noise of amplitude 1 in the steps `4 group .. 4 group + 4`.
    units: [Vec<f32>; 4],
    group: Option<u64>,
    drive: Drive,
    kicks: Vec<(u32, f32)>,
    /// The first unit whose potential is no number.
    pub lost: Option<NonFinite>,
    /// Times of this thread since they were last taken.
    pub pass: Pass,
}

impl Part {
    /// Before step 0.
    pub fn new(index: usize, range: Range<u32>, seed: u64) -> Self {
        let room = room(range.len());
        let mut part = Self {
            index,
            v: vec![0.0; room],
            last_spike: vec![NEVER; range.len()],
            traced: vec![],
            closed: vec![],
            inputs: vec![],
            sums: Sums::new(range.start, room),
            units: std::array::from_fn(|_| vec![0.0; room]),
            group: None,
            drive: Drive::default(),
            kicks: vec![],
            lost: None,
            pass: Pass::default(),
            range,
        };
        part.rewind(seed);
        part
    }

    /// The units of the part.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    /// The potentials.
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
        self.trace(step + 1, shared, &mut slot);
        self.pass = pass;
    }

    /// The kicks of this step, except those to closed units.
    fn kick(&mut self, step: u64, shared: &Shared<'_>) {
        let by_hand = if shared.by_hand.0 == step { shared.by_hand.1 } else { &[] };
        self.drive.kicks(step, shared.situation, self.range.clone(), by_hand, &mut self.kicks);
        if !self.closed.is_empty() {
            self.kicks.retain(|(i, _)| self.closed.binary_search(i).is_err());
        }
    }

    /// Sums the spikes of the step before per target. Returns the number of synaptic events.
    fn deliver(&mut self, step: u64, shared: &Shared<'_>) -> u32 {
        let Some(sent) = step.checked_sub(1) else { return 0 };
        let mut events = 0;
        for ring in shared.rings {
            let slot = ring.read(sent);
            for (at, pre) in slot.spikes.iter().enumerate() {
                self.expect(&slot.spikes[at..], shared);
                let gain = shared.situation.gain(*pre);
                if gain.silent {
                    continue;
                }
                let words = shared.split.words(shared.wiring, self.index, *pre);
                events += words.len() as u32;
                if gain == Gain::NONE {
                    self.sums.deliver(shared.wiring, words);
                } else {
                    self.sums.deliver_scaled(shared.wiring, words, gain);
                }
            }
        }
        self.closed.iter().for_each(|i| self.sums.of[*i as usize] = 0);
        events
    }

    /// Asks for what the next spikes need: where the row of a later one is, and the row of the next but one.
    #[inline]
    fn expect(&self, spikes: &[u32], shared: &Shared<'_>) {
        if let Some(later) = spikes.get(8) {
            prefetch::read(&shared.wiring.rows, *later as usize);
        }
        if let Some(soon) = spikes.get(2) {
            let words = shared.split.words(shared.wiring, self.index, *soon);
            words.take(LONGEST_AHEAD).step_by(16).for_each(|word| prefetch::read(&shared.wiring.words, word));
        }
    }

    /// Draws the noise of four steps, unless it is at hand.
    fn draw(&mut self, group: u64, seed: u64, pass: &mut Pass) {
        if self.group != Some(group) {
            let (first, units) = (self.range.start, &mut self.units);
            pass.span("noise", self.range.len() as u64, || signed_units(seed, NOISE, group, first, units));
            self.group = Some(group);
        }
    }

    /// Steps all units.
    fn integrate(&mut self, step: u64, shared: &Shared<'_>, spikes: &mut Vec<u32>) {
        self.put_kicks(shared.situation);
        let sweep = Sweep {
            v: &mut self.v,
            sums: &mut self.sums.of,
            drive: &self.inputs,
            units: &self.units[(step & 3) as usize],
        };
        spikes.clear();
        if !sweep.run(&shared.constants, self.range.start, spikes) {
            self.note_lost(step);
        }
        while spikes.pop_if(|i| *i >= self.range.end).is_some() {} // they only fill the last block
        spikes.iter().for_each(|i| self.last_spike[(i - self.range.start) as usize] = step);
        for (i, _) in &self.kicks {
            self.inputs[*i as usize] = current(shared.situation, i + self.range.start);
        }
    }

    #[cold]
    fn note_lost(&mut self, step: u64) {
        if let Some(i) = self.potentials().iter().position(|v| !v.is_finite()) {
            NonFinite::note(&mut self.lost, NonFinite { step, element: self.range.start + i as u32 });
        }
    }

    /// Adds the kicks of this step to the currents.
    fn put_kicks(&mut self, situation: &Situation<f32>) {
        if !self.kicks.is_empty() {
            self.inputs.resize(self.v.len(), 0.0);
        }
        for (i, kick) in &self.kicks {
            self.inputs[*i as usize] = current(situation, i + self.range.start) + kick;
        }
    }

    fn trace(&self, completed: u64, shared: &Shared<'_>, slot: &mut Slot) {
        slot.trace.clear();
        if completed.is_multiple_of(shared.trace_every) {
            slot.trace.extend(self.traced.iter().map(|i| [self.v[*i as usize], 0.0]));
        }
    }

    /// Takes up drives and lesions between two steps.
    pub fn enter(&mut self, situation: &Situation<f32>) {
        self.drive.forget();
        let is_closed = |i: &u32| situation.closed.get(*i as usize).copied().unwrap_or(false);
        self.closed = self.range.clone().filter(is_closed).map(|i| i - self.range.start).collect();
        self.inputs = vec![];
        if !situation.currents.is_empty() {
            self.inputs.extend(self.range.clone().map(|i| current(situation, i)));
            self.inputs.resize(self.v.len(), 0.0);
        }
    }

    /// Back to before step 0.
    pub fn rewind(&mut self, seed: u64) {
        self.v.fill(0.0);
        self.v.iter_mut().zip(self.range.clone()).for_each(|(v, i)| *v = start(seed, i));
        self.last_spike.fill(NEVER);
        self.lost = None;
        self.drive.forget();
    }

    /// Bytes held: units, and what is kept for arrivals and noise.
    pub fn n_bytes(&self) -> (u64, u64) {
        let units = self.v.len() * 4 + self.last_spike.len() * 8 + self.inputs.len() * 4;
        (units as u64, (self.sums.of.len() * 4 + self.v.len() * 16) as u64)
    }
}

fn current(situation: &Situation<f32>, neuron: u32) -> f32 {
    situation.currents.get(neuron as usize).copied().unwrap_or(0.0)
}
