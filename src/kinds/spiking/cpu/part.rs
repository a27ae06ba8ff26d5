//! A contiguous range of neurons and everything one thread does to it in a window.

use super::{
    drive::Drive,
    neuron::{CLOSED, CURRENT, DRIVEN, FILED, FIRED, Neuron, steps_to_threshold},
    ring::{Ring, Slot},
    split::{Arrivals, Split},
};
use crate::{
    data::Csr,
    gpu::Pass,
    kinds::spiking::{
        layout::{Constants, Real},
        stimuli::{Gain, Situation},
    },
};
use std::ops::Range;

/// Steps the calendar looks ahead; a power of two. A neuron that can cross later than that is looked at once
/// in between.
const AHEAD: u32 = 64;

/// What all parts read while a stretch of steps is run.
pub struct Shared<'a, T> {
    /// The neuron model.
    pub constants: &'a Constants<T>,
    /// The wiring.
    pub wiring: &'a Csr,
    /// Whose part of it is whose.
    pub split: &'a Split,
    /// Drives and lesions in force.
    pub situation: &'a Situation<T>,
    /// Recent spikes, per part.
    pub rings: &'a [Ring],
    /// Kicks by hand, to be given in the first step of the stretch.
    pub by_hand: (u64, &'a [(u32, T)]),
    /// Completed steps between samples of traced neurons.
    pub trace_every: u64,
    /// Whether to measure.
    pub profiled: bool,
}

/// The neurons of one thread.
pub struct Part<T> {
    index: usize,
    range: Range<u32>,
    /// The neurons, from the start of the range.
    pub neurons: Vec<Neuron<T>>,
    /// Current into each, mV; empty when there is none.
    pub currents: Vec<T>,
    /// Neurons to be traced, ascending, as indices into the range.
    pub traced: Vec<u32>,
    arrivals: Arrivals,
    drive: Drive,
    kicks: Vec<(u32, T)>,
    spiked: Vec<u32>,
    /// Bucket `step % AHEAD`: neurons to be looked at in that step. An entry counts when the neuron's `check`
    /// still says so.
    calendar: Vec<Vec<u32>>,
    /// Times of this thread since they were last taken.
    pub pass: Pass,
}

impl<T: Real> Part<T> {
    /// All neurons at rest.
    pub fn new(index: usize, range: Range<u32>) -> Self {
        let n = range.len();
        Self {
            index,
            range,
            neurons: vec![Neuron::default(); n],
            currents: vec![],
            traced: vec![],
            arrivals: Arrivals::new(n),
            drive: Drive::default(),
            kicks: vec![],
            spiked: vec![],
            calendar: vec![vec![]; AHEAD as usize],
            pass: Pass::default(),
        }
    }

    /// The neurons of the part.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    #[inline]
    fn current(&self, i: usize) -> T {
        self.currents.get(i).copied().unwrap_or(T::ZERO)
    }

    /// Takes the steps of a window, no longer than the delay.
    pub fn run(&mut self, steps: Range<u64>, shared: &Shared<'_, T>) {
        let mut pass = std::mem::take(&mut self.pass);
        pass.profiled = shared.profiled;
        for step in steps {
            let mut slot = shared.rings[self.index].write(step);
            let n = step as u32;
            let checked = pass.span("threshold", 0, || self.threshold(n, shared.constants));
            pass.span("drive", 0, || self.kick(step, shared));
            let events = pass.span("deliver", 0, || self.deliver(step, shared));
            let touched = pass.span("integrate", 0, || self.integrate(n, shared.constants));
            if pass.profiled {
                for (name, items) in [("threshold", checked), ("deliver", events), ("integrate", touched)] {
                    pass.note(name, 0, 0, 0, items.into());
                }
                pass.note("drive", 0, 0, 0, self.kicks.len() as u64);
            }
            self.reset(n, shared.constants);
            slot.spikes.clear();
            slot.spikes.extend(self.spiked.iter().map(|i| i + self.range.start));
            (slot.events, slot.active) = (events, checked + touched);
            self.trace(step + 1, shared, &mut slot);
        }
        self.pass = pass;
    }

    /// 1 and 2: the state after this step's integration, for those who may have crossed; the strict threshold.
    fn threshold(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        self.spiked.clear();
        let mut due = std::mem::take(&mut self.calendar[(step % AHEAD) as usize]);
        let mut checked = 0;
        for i in due.drain(..) {
            let current = self.current(i as usize);
            let neuron = &mut self.neurons[i as usize];
            if !neuron.is(FILED) || neuron.check != step {
                continue; // looked at earlier, for another reason
            }
            checked += 1;
            neuron.put(FILED, false);
            let frozen = neuron.anchor.wrapping_sub(step) as i32 > 0;
            let (u, g) = neuron.state_at(step.wrapping_add(1), current, constants);
            if !frozen && u > constants.theta {
                self.spiked.push(i);
            } else {
                self.file(i, step, u, g, constants);
            }
        }
        self.calendar[(step % AHEAD) as usize] = due;
        self.spiked.sort_unstable();
        checked
    }

    /// Enters into the calendar when a neuron must be looked at, given its state after `step`.
    #[inline]
    fn file(&mut self, i: u32, step: u32, u: T, g: T, constants: &Constants<T>) {
        let current = self.current(i as usize);
        let Some(bound) = steps_to_threshold(u, g, current, constants) else { return };
        let neuron = &mut self.neurons[i as usize];
        // Integration goes on from here: now, or when the refractory period ends.
        let frozen = (neuron.anchor.wrapping_sub(step.wrapping_add(1)) as i32).max(0) as u32;
        let ahead = frozen.saturating_add(bound).min(AHEAD - 1);
        let check = step.wrapping_add(ahead);
        if !neuron.is(FILED) || (check.wrapping_sub(neuron.check) as i32) < 0 {
            neuron.put(FILED, true);
            neuron.check = check;
            self.calendar[(check % AHEAD) as usize].push(i);
        }
    }

    /// 3a: the kicks of this step.
    fn kick(&mut self, step: u64, shared: &Shared<'_, T>) {
        let by_hand = if shared.by_hand.0 == step { shared.by_hand.1 } else { &[] };
        self.drive.kicks(step, shared.situation, self.range.clone(), by_hand, &mut self.kicks);
    }

    /// 3b: sums the spikes of one delay ago per target. Returns the number of synaptic events.
    fn deliver(&mut self, step: u64, shared: &Shared<'_, T>) -> u32 {
        let Some(sent) = step.checked_sub(shared.constants.delay.into()) else { return 0 };
        let mut events = 0;
        for ring in shared.rings {
            for pre in &ring.read(sent).spikes {
                let gain = shared.situation.gain(*pre);
                if gain.silent {
                    continue;
                }
                let words = shared.split.words(shared.wiring, self.index, *pre);
                events += words.len() as u32;
                if gain == Gain::NONE {
                    self.arrivals.deliver(shared.wiring, words, self.range.start);
                } else {
                    self.arrivals.deliver_scaled(shared.wiring, words, self.range.start, gain);
                }
            }
        }
        events
    }

    /// 3c: whoever got a kick or a sum other than 0 takes it up, unless refractory.
    fn integrate(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        let kicks = std::mem::take(&mut self.kicks);
        for (i, kick) in &kicks {
            let sum = self.arrivals.take(*i as usize);
            self.accept(*i, step, sum, *kick, constants);
        }
        let mut touched = kicks.len() as u32;
        self.kicks = kicks;
        let targets = self.arrivals.drain();
        for i in &targets {
            let sum = self.arrivals.take(*i as usize);
            if sum != 0 {
                touched += 1;
                self.accept(*i, step, sum, T::ZERO, constants);
            }
        }
        self.arrivals.recycle(targets);
        touched
    }

    /// Re-anchors a neuron at the end of this step, with its input.
    #[inline]
    fn accept(&mut self, i: u32, step: u32, sum: i32, kick: T, constants: &Constants<T>) {
        let current = self.current(i as usize);
        let neuron = &mut self.neurons[i as usize];
        if neuron.refuses(step) {
            return;
        }
        let completed = step.wrapping_add(1);
        let (u, g) = neuron.state_at(completed, current, constants);
        neuron.u = u + kick;
        neuron.g = g + constants.w_syn * T::of_count(sum);
        neuron.anchor = completed;
        let (u, g) = (neuron.u, neuron.g);
        self.file(i, step, u, g, constants);
    }

    /// 4: resets, which undo whatever reached the spiking neurons in this step.
    fn reset(&mut self, step: u32, constants: &Constants<T>) {
        for at in 0..self.spiked.len() {
            let i = self.spiked[at];
            let neuron = &mut self.neurons[i as usize];
            let refractory = if neuron.is(DRIVEN) { 1 } else { constants.refractory };
            neuron.u = constants.u_reset;
            neuron.g = T::ZERO;
            neuron.anchor = step.wrapping_add(refractory);
            neuron.last_spike = step;
            neuron.put(FIRED, true);
            self.file(i, step, constants.u_reset, T::ZERO, constants);
        }
    }

    fn trace(&self, completed: u64, shared: &Shared<'_, T>, slot: &mut Slot) {
        slot.trace.clear();
        if self.traced.is_empty() || !completed.is_multiple_of(shared.trace_every) {
            return;
        }
        slot.trace.extend(self.traced.iter().map(|i| {
            let (u, g) = self.state_of(*i as usize, completed as u32, shared.constants);
            [(shared.constants.v_rest + u.wide()) as f32, g.wide() as f32]
        }));
    }

    /// u and g of one neuron after `completed` steps.
    pub fn state_of(&self, i: usize, completed: u32, constants: &Constants<T>) -> (T, T) {
        let mut neuron = self.neurons[i];
        neuron.state_at(completed, self.current(i), constants)
    }

    /// Takes up drives and lesions between two steps. A neuron whose current changes is re-anchored.
    pub fn enter(&mut self, situation: &Situation<T>, completed: u32, constants: &Constants<T>) {
        self.drive.forget();
        let flag = |flags: &[bool], i: u32| flags.get(i as usize).copied().unwrap_or(false);
        for (neuron, i) in self.neurons.iter_mut().zip(self.range.clone()) {
            neuron.put(DRIVEN, flag(&situation.driven, i));
            neuron.put(CLOSED, flag(&situation.closed, i));
        }
        if situation.currents.is_empty() && self.currents.is_empty() {
            return;
        }
        self.currents.resize(self.neurons.len(), T::ZERO);
        for i in 0..self.neurons.len() {
            let new = situation.currents.get(i + self.range.start as usize).copied().unwrap_or(T::ZERO);
            let old = self.currents[i];
            if new != old {
                self.neurons[i].anchor_at(completed, old, constants);
                self.neurons[i].put(CURRENT, new != T::ZERO);
                self.currents[i] = new;
                let Neuron { u, g, .. } = self.neurons[i];
                self.file(i as u32, completed.wrapping_sub(1), u, g, constants);
            }
        }
        if situation.currents.is_empty() {
            self.currents = vec![];
        }
    }

    /// Re-anchors all neurons, then moves u by `shift` mV (when rest moves, v stays).
    pub fn rebase(&mut self, completed: u32, shift: T, constants: &Constants<T>) {
        for i in 0..self.neurons.len() {
            let current = self.current(i);
            self.neurons[i].anchor_at(completed, current, constants);
            self.neurons[i].u = self.neurons[i].u + shift;
        }
    }

    /// Re-anchors by whole tables, so that no anchor lies so far back that steps modulo 2³² become ambiguous.
    pub fn settle(&mut self, completed: u32, constants: &Constants<T>) {
        for i in 0..self.neurons.len() {
            let current = self.current(i);
            let neuron = &mut self.neurons[i];
            neuron.settle(completed, current, constants);
            if completed.wrapping_sub(neuron.last_spike) > 1 << 30 {
                neuron.last_spike = completed.wrapping_sub(1 << 30);
            }
        }
    }

    /// Makes the calendar anew: after a change of the model, a load, a rewind.
    pub fn refile(&mut self, completed: u32, constants: &Constants<T>) {
        self.calendar.iter_mut().for_each(Vec::clear);
        for i in 0..self.neurons.len() {
            self.neurons[i].put(FILED, false);
            let (u, g) = self.state_of(i, completed, constants);
            self.file(i as u32, completed.wrapping_sub(1), u, g, constants);
        }
    }

    /// Back to rest.
    pub fn rewind(&mut self) {
        self.neurons.fill(Neuron::default());
        self.currents = vec![];
        self.arrivals.clear();
        self.drive.forget();
    }

    /// Bytes held: neurons, and what is kept for arrivals, drives and the calendar.
    pub fn n_bytes(&self) -> (u64, u64) {
        let lists = self.calendar.iter().map(|c| c.capacity() as u64 * 4).sum::<u64>();
        let neurons = (self.neurons.len() * size_of::<Neuron<T>>() + self.currents.len() * T::BYTES) as u64;
        (neurons, lists + self.arrivals.n_bytes())
    }
}
