//! The neurons of one part, and the calendar of those that have to be looked at.

use super::neuron::{CLOSED, CURRENT, DRIVEN, FILED, FIRED, Neuron, is_quiet_for, steps_to_threshold};
use crate::{
    kinds::spiking::{
        layout::{Constants, Real},
        stimuli::Situation,
    },
    num::prefetch,
};

/// Steps the calendar looks ahead; a power of two. A neuron that can cross later than that is looked at once
/// in between.
const AHEAD: u32 = 64;

/// Steps that stand for "no look is due": beyond the calendar, exact in single precision.
const FAR: u32 = 1 << 20;

/// A contiguous range of neurons. Indices count from the start of the range.
pub struct Cells<T> {
    /// The neurons.
    pub neurons: Vec<Neuron<T>>,
    /// Current into each, mV; empty when there is none.
    pub currents: Vec<T>,
    /// Bucket `step % AHEAD`: neurons to be looked at in that step. An entry counts when the neuron's `check`
    /// still says so.
    calendar: Vec<Vec<u32>>,
    /// Who spiked in this step, ascending.
    pub spiked: Vec<u32>,
    /// The first neuron whose state is no number, and the step after which it is not, modulo 2³².
    pub lost: Option<(u32, u32)>,
}

impl<T: Real> Cells<T> {
    /// All at rest.
    pub fn new(n: usize) -> Self {
        Self {
            neurons: vec![Neuron::default(); n],
            currents: vec![],
            calendar: vec![vec![]; AHEAD as usize],
            spiked: vec![],
            lost: None,
        }
    }

    #[inline(always)]
    fn current(&self, i: usize) -> T {
        self.currents.get(i).copied().unwrap_or(T::ZERO)
    }

    /// Asks for a neuron that will be needed.
    #[inline(always)]
    pub fn expect(&self, i: u32) {
        prefetch::read(&self.neurons, i as usize);
    }

    /// 1 and 2: the state after this step's integration, for those who may have crossed; the strict threshold.
    pub fn threshold(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        self.spiked.clear();
        let mut due = std::mem::take(&mut self.calendar[(step % AHEAD) as usize]);
        let mut checked = 0;
        for at in 0..due.len() {
            let i = due[at];
            self.expect(due.get(at + 8).copied().unwrap_or(i));
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
                self.file(i, step, u, g, current, constants);
            }
        }
        due.clear();
        self.calendar[(step % AHEAD) as usize] = due;
        self.spiked.sort_unstable();
        checked
    }

    /// Enters into the calendar when a neuron must be looked at, given its state after `step`.
    #[inline(always)]
    fn file(&mut self, i: u32, step: u32, u: T, g: T, current: T, constants: &Constants<T>) {
        let neuron = &self.neurons[i as usize];
        let pending = if neuron.is(FILED) { neuron.check.wrapping_sub(step) } else { FAR };
        if !is_quiet_for(pending, u, g, current, constants) {
            self.file_anew(i, step, u, g, constants);
        }
    }

    fn file_anew(&mut self, i: u32, step: u32, u: T, g: T, constants: &Constants<T>) {
        let current = self.current(i as usize);
        // Nothing about a state that is no number can be ruled out, so whoever has one comes by here.
        if !(u.wide() + g.wide()).is_finite() {
            self.lost = Some(self.lost.map_or((step, i), |first| first.min((step, i))));
        }
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

    /// Re-anchors a neuron at the end of this step, with its input.
    #[inline(always)]
    pub fn accept<const CURRENTS: bool>(&mut self, i: u32, step: u32, sum: i32, kick: T, constants: &Constants<T>) {
        let current = if CURRENTS { self.current(i as usize) } else { T::ZERO };
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
        self.file(i, step, u, g, current, constants);
    }

    /// 4: resets, which undo whatever reached the spiking neurons in this step.
    pub fn reset(&mut self, step: u32, constants: &Constants<T>) {
        for at in 0..self.spiked.len() {
            let i = self.spiked[at];
            let neuron = &mut self.neurons[i as usize];
            let refractory = if neuron.is(DRIVEN) { 1 } else { constants.refractory };
            neuron.u = constants.u_reset;
            neuron.g = T::ZERO;
            neuron.anchor = step.wrapping_add(refractory);
            neuron.last_spike = step;
            neuron.put(FIRED, true);
            let current = self.current(i as usize);
            self.file(i, step, constants.u_reset, T::ZERO, current, constants);
        }
    }

    /// u and g of one neuron after `completed` steps.
    pub fn state_of(&self, i: usize, completed: u32, constants: &Constants<T>) -> (T, T) {
        let mut neuron = self.neurons[i];
        neuron.state_at(completed, self.current(i), constants)
    }

    /// Takes up drives and lesions between two steps. A neuron whose current changes is re-anchored.
    pub fn enter(&mut self, situation: &Situation<T>, first: u32, completed: u32, constants: &Constants<T>) {
        let flag = |flags: &[bool], i: u32| flags.get(i as usize).copied().unwrap_or(false);
        for (neuron, i) in self.neurons.iter_mut().zip(first..) {
            neuron.put(DRIVEN, flag(&situation.driven, i));
            neuron.put(CLOSED, flag(&situation.closed, i));
        }
        if situation.currents.is_empty() && self.currents.is_empty() {
            return;
        }
        self.currents.resize(self.neurons.len(), T::ZERO);
        for i in 0..self.neurons.len() {
            let new = situation.currents.get(i + first as usize).copied().unwrap_or(T::ZERO);
            let old = self.currents[i];
            if new != old {
                self.neurons[i].anchor_at(completed, old, constants);
                self.neurons[i].put(CURRENT, new != T::ZERO);
                self.currents[i] = new;
                let Neuron { u, g, .. } = self.neurons[i];
                self.file(i as u32, completed.wrapping_sub(1), u, g, new, constants);
            }
        }
        if situation.currents.is_empty() {
            self.currents = vec![];
        }
        self.lost = None; // whoever is lost already is noted in the step at hand, as by backends that look only in steps
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
            let current = self.current(i);
            self.file(i as u32, completed.wrapping_sub(1), u, g, current, constants);
        }
        self.lost = None; // as in `enter`
    }

    /// Back to rest.
    pub fn rewind(&mut self) {
        self.neurons.fill(Neuron::default());
        self.currents = vec![];
        self.spiked.clear();
        self.lost = None;
    }

    /// Bytes held: neurons, calendar.
    pub fn n_bytes(&self) -> (u64, u64) {
        let lists = self.calendar.iter().map(|c| c.capacity() as u64 * 4).sum::<u64>();
        ((self.neurons.len() * size_of::<Neuron<T>>() + self.currents.len() * T::BYTES) as u64, lists)
    }
}
