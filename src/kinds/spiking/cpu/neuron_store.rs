//! Neurons of one partition, and the calendar queue of threshold checks.

use super::neuron::{Neuron, SCHEDULED, is_quiet_for, steps_to_threshold};
use crate::{
    buffers,
    kinds::spiking::{
        constants::{Constants, Real},
        saved_state::mark::{CLOSED, CURRENT, DRIVEN, FIRED},
        stimuli::ActiveStimuli,
    },
    num::prefetch,
    sim::{Buffers as _, SimError, buffers::Host},
};

/// Horizon of the calendar in steps, a power of two. A neuron that can reach the threshold only later is
/// checked every `AHEAD - 1` steps until then.
const AHEAD: u32 = 64;

/// Number of steps that stands for "no check is due": beyond the calendar, exact in single precision.
const FAR: u32 = 1 << 20;

buffers! {
    /// A contiguous range of neurons. Indices are relative to the start of the range.
    pub struct NeuronStore<T: Real>(memory: Host, n: usize) {
        "neurons" {
            /// States of the neurons.
            pub neurons: Vec<Neuron<T>> = Saved "neurons" *n;
        }
        plain {
            /// Current into each neuron, mV; empty if there is none.
            pub currents: Vec<T> = vec![];
            /// Neurons to be checked in a step, in bucket `step % AHEAD`. An entry is valid if the neuron has the flag
            /// `SCHEDULED` and its `check` equals the step.
            calendar: Vec<Vec<u32>> = vec![vec![]; AHEAD as usize];
            /// Neurons that spiked in this step, ascending.
            pub spiked: Vec<u32> = vec![];
            /// Step, modulo 2³², after which a state is first non-finite, and the neuron; `None` if all states are finite.
            pub non_finite: Option<(u32, u32)> = None;
        }
    }
}

impl<T: Real> NeuronStore<T> {
    /// Creates `n` neurons at rest. Fails if memory is exhausted.
    pub fn new(n: usize) -> Result<Self, SimError> {
        Self::allocate(&Host, &n)
    }

    #[inline(always)]
    fn current(&self, i: usize) -> T {
        self.currents.get(i).copied().unwrap_or(T::ZERO)
    }

    /// Prefetches the state of a neuron.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        prefetch::read(&self.neurons, i as usize);
    }

    /// Evaluates the neurons that may cross the threshold in this step, and lists those that spike. Returns the number of
    /// evaluated neurons.
    pub fn threshold(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        self.spiked.clear();
        let mut due = std::mem::take(&mut self.calendar[(step % AHEAD) as usize]);
        let mut checked = 0;
        for at in 0..due.len() {
            let i = due[at];
            self.prefetch(due.get(at + 8).copied().unwrap_or(i));
            let current = self.current(i as usize);
            let neuron = &mut self.neurons[i as usize];
            if !neuron.is(SCHEDULED) || neuron.check != step {
                continue; // checked earlier, after an input
            }
            checked += 1;
            neuron.put(SCHEDULED, false);
            let frozen = neuron.anchor.wrapping_sub(step) as i32 > 0;
            let (u, g) = neuron.state_at(step.wrapping_add(1), current, constants);
            if !frozen && u > constants.theta {
                self.spiked.push(i);
            } else {
                self.schedule(i, step, u, g, current, constants);
            }
        }
        due.clear();
        self.calendar[(step % AHEAD) as usize] = due;
        self.spiked.sort_unstable();
        checked
    }

    /// Adds a neuron to the calendar if it may cross, given its state after `step`.
    #[inline(always)]
    fn schedule(&mut self, i: u32, step: u32, u: T, g: T, current: T, constants: &Constants<T>) {
        let neuron = &self.neurons[i as usize];
        let pending = if neuron.is(SCHEDULED) { neuron.check.wrapping_sub(step) } else { FAR };
        if !is_quiet_for(pending, u, g, current, constants) {
            self.reschedule(i, step, u, g, constants);
        }
    }

    fn reschedule(&mut self, i: u32, step: u32, u: T, g: T, constants: &Constants<T>) {
        let current = self.current(i as usize);
        // A non-finite state has no bound, so it always reaches this check.
        if !(u.wide() + g.wide()).is_finite() {
            self.non_finite = Some(self.non_finite.map_or((step, i), |first| first.min((step, i))));
        }
        let Some(bound) = steps_to_threshold(u, g, current, constants) else { return };
        let neuron = &mut self.neurons[i as usize];
        // Integration resumes now, or at the end of the refractory period.
        let frozen = (neuron.anchor.wrapping_sub(step.wrapping_add(1)) as i32).max(0) as u32;
        let ahead = frozen.saturating_add(bound).min(AHEAD - 1);
        let check = step.wrapping_add(ahead);
        if !neuron.is(SCHEDULED) || (check.wrapping_sub(neuron.check) as i32) < 0 {
            neuron.put(SCHEDULED, true);
            neuron.check = check;
            self.calendar[(check % AHEAD) as usize].push(i);
        }
    }

    /// Re-anchors a neuron at the end of this step and adds its input. Has no effect on a refractory or silenced neuron.
    #[inline(always)]
    pub fn integrate_input<const CURRENTS: bool>(
        &mut self,
        i: u32,
        step: u32,
        sum: i32,
        kick: T,
        constants: &Constants<T>,
    ) {
        let current = if CURRENTS { self.current(i as usize) } else { T::ZERO };
        let neuron = &mut self.neurons[i as usize];
        if neuron.ignores_input(step) {
            return;
        }
        let completed = step.wrapping_add(1);
        let (u, g) = neuron.state_at(completed, current, constants);
        neuron.u = u + kick;
        neuron.g = g + constants.w_syn * T::of_count(sum);
        neuron.anchor = completed;
        let (u, g) = (neuron.u, neuron.g);
        self.schedule(i, step, u, g, current, constants);
    }

    /// Resets the spiking neurons, which discards their input in this step.
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
            self.schedule(i, step, constants.u_reset, T::ZERO, current, constants);
        }
    }

    /// Returns u and g of a neuron after `completed` steps.
    pub fn state_of(&self, i: usize, completed: u32, constants: &Constants<T>) -> (T, T) {
        let mut neuron = self.neurons[i];
        neuron.state_at(completed, self.current(i), constants)
    }

    /// Applies stimuli between two steps. A neuron whose current changes is re-anchored.
    pub fn apply_stimuli(&mut self, stimuli: &ActiveStimuli<T>, first: u32, completed: u32, constants: &Constants<T>) {
        let flag = |flags: &[bool], i: u32| flags.get(i as usize).copied().unwrap_or(false);
        for (neuron, i) in self.neurons.iter_mut().zip(first..) {
            neuron.put(DRIVEN, flag(&stimuli.driven, i));
            neuron.put(CLOSED, flag(&stimuli.closed, i));
        }
        if stimuli.currents.is_empty() && self.currents.is_empty() {
            return;
        }
        self.currents.resize(self.neurons.len(), T::ZERO);
        for i in 0..self.neurons.len() {
            let new = stimuli.currents.get(i + first as usize).copied().unwrap_or(T::ZERO);
            let old = self.currents[i];
            if new != old {
                self.neurons[i].anchor_at(completed, old, constants);
                self.neurons[i].put(CURRENT, new != T::ZERO);
                self.currents[i] = new;
                let Neuron { u, g, .. } = self.neurons[i];
                self.schedule(i as u32, completed.wrapping_sub(1), u, g, new, constants);
            }
        }
        if stimuli.currents.is_empty() {
            self.currents = vec![];
        }
        self.non_finite = None; // The next step reports a non-finite state, because other backends check only in steps.
    }

    /// Re-anchors all neurons, then shifts u by `shift` mV, so that v stays constant if the resting potential changes.
    pub fn reanchor(&mut self, completed: u32, shift: T, constants: &Constants<T>) {
        for i in 0..self.neurons.len() {
            let current = self.current(i);
            self.neurons[i].anchor_at(completed, current, constants);
            self.neurons[i].u += shift;
        }
    }

    /// Advances anchors by whole tables before steps modulo 2³² become ambiguous.
    pub fn advance_anchors(&mut self, completed: u32, constants: &Constants<T>) {
        for i in 0..self.neurons.len() {
            let current = self.current(i);
            let neuron = &mut self.neurons[i];
            neuron.advance_anchor(completed, current, constants);
            if completed.wrapping_sub(neuron.last_spike) > 1 << 30 {
                neuron.last_spike = completed.wrapping_sub(1 << 30);
            }
        }
    }

    /// Rebuilds the calendar, after a change of the model, a load or a rewind.
    pub fn reschedule_all(&mut self, completed: u32, constants: &Constants<T>) {
        self.calendar.iter_mut().for_each(Vec::clear);
        for i in 0..self.neurons.len() {
            self.neurons[i].put(SCHEDULED, false);
            let (u, g) = self.state_of(i, completed, constants);
            let current = self.current(i);
            self.schedule(i as u32, completed.wrapping_sub(1), u, g, current, constants);
        }
        self.non_finite = None; // as in `apply_stimuli`
    }

    /// Returns all neurons to rest.
    pub fn rewind(&mut self) {
        self.neurons.fill(Neuron::default());
        self.currents = vec![];
        self.spiked.clear();
        self.non_finite = None;
    }

    /// Returns the memory of the calendar's buckets, bytes.
    pub fn list_bytes(&self) -> u64 {
        self.calendar.iter().map(|bucket| bucket.capacity() as u64 * 4).sum()
    }
}
