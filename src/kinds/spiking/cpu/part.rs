//! A contiguous range of neurons and everything one thread does to it in a window.

use super::{
    cells::Cells,
    drive::Drive,
    ring::{Ring, Slot},
    split::{Arrivals, Split},
};
use crate::{
    data::Csr,
    gpu::{Follow, Pass},
    kinds::spiking::{
        layout::{Constants, Real},
        stimuli::{Gain, Situation},
    },
    num::prefetch,
    sim::NonFinite,
};
use std::ops::Range;

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
    /// Whether and how to measure.
    pub measure: Follow,
}

/// The neurons of one thread, and its tools.
pub struct Part<T> {
    index: usize,
    range: Range<u32>,
    /// The neurons, from the start of the range.
    pub cells: Cells<T>,
    /// Neurons to be traced, ascending, as indices into the range.
    pub traced: Vec<u32>,
    arrivals: Arrivals,
    drive: Drive,
    kicks: Vec<(u32, T)>,
    /// Times of this thread since they were last taken.
    pub pass: Pass,
}

impl<T: Real> Part<T> {
    /// All neurons at rest.
    pub fn new(index: usize, range: Range<u32>) -> Self {
        Self {
            index,
            cells: Cells::new(range.len()),
            traced: vec![],
            arrivals: Arrivals::new(range.len()),
            drive: Drive::default(),
            kicks: vec![],
            pass: Pass::default(),
            range,
        }
    }

    /// The neurons of the part.
    pub fn range(&self) -> Range<u32> {
        self.range.clone()
    }

    /// Takes the steps of a window, no longer than the delay.
    pub fn run(&mut self, steps: Range<u64>, shared: &Shared<'_, T>) {
        let mut pass = std::mem::take(&mut self.pass);
        pass.measure_as(shared.measure, self.index);
        for step in steps {
            let mut slot = shared.rings[self.index].write(step);
            let n = step as u32;
            let checked = pass.span("threshold", 0, || self.cells.threshold(n, shared.constants));
            pass.span("drive", 0, || self.kick(step, shared));
            let events = pass.span("deliver", 0, || self.deliver(step, shared));
            let touched = pass.span("integrate", 0, || self.integrate(n, shared.constants));
            if pass.profiled {
                for (name, items) in [("threshold", checked), ("deliver", events), ("integrate", touched)] {
                    pass.work(name, items.into(), 0);
                }
                pass.work("drive", self.kicks.len() as u64, 0);
            }
            self.cells.reset(n, shared.constants);
            slot.spikes.clear();
            slot.spikes.extend(self.cells.spiked.iter().map(|i| i + self.range.start));
            (slot.events, slot.active) = (events, checked + touched);
            self.trace(step + 1, shared, &mut slot);
        }
        self.pass = pass;
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
            let slot = ring.read(sent);
            for (at, pre) in slot.spikes.iter().enumerate() {
                if let Some(later) = slot.spikes.get(at + 2) {
                    let words = shared.split.words(shared.wiring, self.index, *later);
                    (0..4).for_each(|line| prefetch::read(&shared.wiring.words, words.start + 16 * line));
                }
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
        // Compiled twice: without currents, which is the rule, there is a fifth less to do.
        if self.cells.currents.is_empty() {
            self.take_up::<false>(step, constants)
        } else {
            self.take_up::<true>(step, constants)
        }
    }

    fn take_up<const CURRENTS: bool>(&mut self, step: u32, constants: &Constants<T>) -> u32 {
        let Self { cells, arrivals, kicks, .. } = self;
        for (at, (i, kick)) in kicks.iter().enumerate() {
            cells.expect(kicks.get(at + 8).map_or(*i, |k| k.0));
            let sum = arrivals.take(*i as usize);
            cells.accept::<CURRENTS>(*i, step, sum, *kick, constants);
        }
        let mut touched = kicks.len() as u32;
        arrivals.drain(|i, sum, later| {
            cells.expect(later);
            if sum != 0 {
                touched += 1;
                cells.accept::<CURRENTS>(i, step, sum, T::ZERO, constants);
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
            let (u, g) = self.cells.state_of(*i as usize, completed as u32, shared.constants);
            [(shared.constants.v_rest + u.wide()) as f32, g.wide() as f32]
        }));
    }

    /// Takes up drives and lesions between two steps.
    pub fn enter(&mut self, situation: &Situation<T>, completed: u32, constants: &Constants<T>) {
        self.drive.forget();
        self.cells.enter(situation, self.range.start, completed, constants);
    }

    /// The first neuron whose state has become no number since this was asked last; `now` is the step that comes next.
    pub fn take_lost(&mut self, now: u64) -> Option<NonFinite> {
        let (step, i) = self.cells.lost.take()?;
        let ago = (now as u32).wrapping_sub(step);
        Some(NonFinite { step: now.saturating_sub(ago.into()), element: self.range.start + i })
    }

    /// Back to rest.
    pub fn rewind(&mut self) {
        self.cells.rewind();
        self.arrivals.clear();
        self.drive.forget();
    }

    /// Bytes held: neurons, and what is kept for arrivals and the calendar.
    pub fn n_bytes(&self) -> (u64, u64) {
        let (neurons, calendar) = self.cells.n_bytes();
        (neurons, calendar + self.arrivals.n_bytes())
    }
}
