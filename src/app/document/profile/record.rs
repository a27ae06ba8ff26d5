//! State shared by the profile panels: recent batches, the chosen range and kernel, the baseline.

use super::{Baseline, Comparison, machine::Machine};
use crate::{
    app::kit::{colors, theme::Tokens},
    gpu::{Batch, Measured, Timing},
    sim::{Clock, Frame, TimeBase},
};
use egui::Color32;
use std::{collections::VecDeque, rc::Rc};

/// Number of batches kept.
const KEPT: usize = 8192;
/// Maximum number of measured batches whose sums are kept; `IN_DETAIL` is the maximum number whose spans are kept.
const MEASURED: usize = 256;
const IN_DETAIL: usize = 64;

/// Recent batches, and the range, batch and kernel chosen among them.
pub struct Profile {
    batches: VecDeque<Batch>,
    /// First and last batch number of the chosen range; `None` for all batches.
    pub range: Option<(u64, u64)>,
    /// Number of the batch shown in the timeline; `None` for the newest measured batch.
    pub batch: Option<u64>,
    /// Kernel that was clicked; `None` if no kernel was clicked.
    pub kernel: Option<&'static str>,
    /// Panel under the pointer, and kernel under the pointer; `None` if the pointer is not over a kernel.
    hovered: Option<(&'static str, &'static str)>,
    pub baseline: Option<Baseline>,
    /// Number of batches per measured batch; 0 if the engine chooses the number.
    pub every: u32,
    /// Whether new batches are ignored.
    pub held: bool,
    /// Device and project.
    pub machine: Machine,
    /// Comparison with the reference.
    pub comparison: Comparison,
    names: Vec<&'static str>,
    clock: Clock,
    epoch: u64,
    /// Counter of the changes after which sums over the range may differ.
    generation: u64,
    sums: (u64, Rc<Vec<Timing>>),
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            batches: VecDeque::new(),
            range: None,
            batch: None,
            kernel: None,
            hovered: None,
            baseline: None,
            every: 0,
            held: false,
            machine: Machine::default(),
            comparison: Comparison::default(),
            names: vec![],
            clock: Clock::default(),
            epoch: 0,
            generation: 1,
            sums: (0, Rc::default()),
        }
    }
}

/// Cost of measuring, estimated by comparing the steps of measured batches with those of the other batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// Relative cost of a measured batch: 0.05 means that the batch takes 5 % longer.
    pub measured: f64,
    /// Relative cost over all batches.
    pub overall: f64,
}

impl Profile {
    /// Takes the batches of a frame. A new epoch clears everything except the baseline.
    pub fn absorb(&mut self, frame: &Frame) {
        self.clock = frame.clock;
        if frame.epoch != self.epoch {
            self.epoch = frame.epoch;
            self.clear();
        }
        if self.held {
            return;
        }
        for batch in &frame.batches {
            self.take(batch.clone());
        }
    }

    /// Clears everything except the baseline.
    pub fn clear(&mut self) {
        self.batches.clear();
        (self.range, self.batch, self.held) = (None, None, false);
        self.generation += 1;
    }

    /// Adds a batch. Measured batches may arrive late; numbers stay in order.
    fn take(&mut self, batch: Batch) {
        if let Some(measured) = &batch.measured {
            let mut new: Vec<&'static str> = measured.timings.iter().map(|t| t.name).collect();
            new.retain(|name| !self.names.contains(name));
            new.sort_unstable();
            self.names.extend(new);
            self.generation += 1;
        }
        let at = self.batches.partition_point(|b| b.number < batch.number);
        self.batches.insert(at, batch);
        if self.batches.len() > KEPT {
            self.batches.pop_front();
        }
        let mut n = 0;
        let wanted = self.batch;
        for batch in self.batches.iter_mut().rev() {
            let number = batch.number;
            let Some(measured) = &mut batch.measured else { continue };
            n += 1;
            // The batch on display keeps its spans.
            if n > IN_DETAIL && wanted != Some(number) {
                measured.spans = vec![];
            }
            if n > MEASURED {
                measured.timings = vec![];
            }
            if n > MEASURED + 1 {
                break;
            }
        }
    }

    /// Sets the kernel under the pointer in a panel.
    pub fn hover(&mut self, panel: &'static str, kernel: Option<&'static str>) {
        if kernel.is_some() || self.hovered.is_some_and(|(by, _)| by == panel) {
            self.hovered = kernel.map(|name| (panel, name));
        }
    }

    /// Returns the kernel to highlight: the kernel under the pointer, otherwise the clicked kernel; `None` if there is
    /// neither.
    pub fn highlighted(&self) -> Option<&'static str> {
        self.hovered.map(|(_, name)| name).or(self.kernel)
    }

    /// Returns all kept batches, oldest first.
    pub const fn batches(&self) -> &VecDeque<Batch> {
        &self.batches
    }

    /// Iterates over the batches of the chosen range, or over all batches if no range is chosen.
    pub fn in_range(&self) -> impl DoubleEndedIterator<Item = &Batch> {
        let (from, to) = self.range.unwrap_or((0, u64::MAX));
        self.batches.iter().filter(move |b| (from..=to).contains(&b.number))
    }

    /// Iterates over the measured batches of the chosen range that still have sums.
    pub fn measured(&self) -> impl DoubleEndedIterator<Item = (&Batch, &Measured)> {
        let inside = |b: &'_ Batch| b.measured.as_ref().is_some_and(|m| !m.timings.is_empty());
        self.in_range().filter(move |b| inside(b)).filter_map(|b| Some((b, &**b.measured.as_ref()?)))
    }

    /// Returns the number of measured steps of the range, and the number of all its steps.
    pub fn steps(&self) -> (u64, u64) {
        let measured = self.measured().map(|(_, m)| u64::from(m.steps)).sum();
        (measured, self.in_range().map(|b| u64::from(b.steps)).sum())
    }

    /// Iterates over the measured batches of the range that still have spans.
    pub fn in_detail(&self) -> impl DoubleEndedIterator<Item = (&Batch, &Measured)> {
        self.measured().filter(|(_, m)| !m.spans.is_empty())
    }

    /// Returns the batch shown in the timeline: the chosen batch or the nearest batch with spans, or the newest batch with
    /// spans if none is chosen; `None` if no batch has spans.
    pub fn shown(&self) -> Option<(&Batch, &Measured)> {
        match self.batch {
            Some(wanted) => self.in_detail().min_by_key(|(b, _)| b.number.abs_diff(wanted)),
            None => self.in_detail().next_back(),
        }
    }

    /// Chooses a range of batches; `None` chooses all batches.
    pub fn choose(&mut self, range: Option<(u64, u64)>) {
        self.range = range;
        self.generation += 1;
    }

    /// Returns the sums per kernel over the range, largest first.
    pub fn sums(&mut self) -> Rc<Vec<Timing>> {
        if self.sums.0 != self.generation {
            let mut rows: Vec<Timing> = vec![];
            for timing in self.measured().flat_map(|(_, m)| &m.timings) {
                match rows.iter_mut().find(|r| r.name == timing.name) {
                    Some(row) => row.add(timing),
                    None => rows.push(timing.clone()),
                }
            }
            rows.sort_by(|a, b| b.nanos.cmp(&a.nanos).then(a.name.cmp(b.name)));
            self.sums = (self.generation, Rc::new(rows));
        }
        self.sums.1.clone()
    }

    /// Estimates the cost of measuring. Returns `None` with too few batches, or if step times vary too much, for example
    /// because other processes use the machine.
    pub fn overhead(&self) -> Option<Overhead> {
        let of = |wanted: bool| {
            let is_wanted = |b: &&Batch| b.measured.is_some() == wanted && b.steps > 0;
            let mut nanos: Vec<f64> = self.batches.iter().filter(is_wanted).map(Batch::step_nanos).collect();
            quartiles(&mut nanos)
        };
        let (measured, ordinary) = (of(true)?, of(false)?);
        let is_steady = |(low, high): (f64, f64)| high < STEADY * low;
        let is_known = is_steady(measured) && is_steady(ordinary);
        let measured = measured.0 / ordinary.0 - 1.0;
        let n_measured = self.batches.iter().filter(|b| b.measured.is_some()).count();
        let share = n_measured as f64 / self.batches.len().max(1) as f64;
        is_known.then_some(Overhead { measured, overall: measured * share })
    }

    /// Returns the colour of a kernel, equal in all panels.
    pub fn color(&self, name: &str, tokens: &Tokens) -> Color32 {
        self.names.iter().position(|n| *n == name).map_or(tokens.other, |at| colors::categorical(at, tokens))
    }

    /// Formats the simulated time of a step.
    pub fn time_of(&self, step: u64) -> String {
        let clock = Clock { step, ..self.clock };
        match clock.base {
            TimeBase::Seconds { per_step } if per_step > 0.0 => crate::app::kit::text::sim_time(clock.secs()),
            base => format!("{} {}", base.singular(), crate::app::kit::text::count(step)),
        }
    }

    /// Returns the noun of a step: `generation`, or `step` if steps have a duration.
    pub fn step_noun(&self) -> &'static str {
        self.clock.base.singular()
    }

    /// Formats a number of steps with their noun: `240 generations`.
    pub fn count_steps(&self, n: u64) -> String {
        format!("{} {}", crate::app::kit::text::count(n), self.clock.base.name(n))
    }
}

/// Minimum number of batches for an estimate.
const ENOUGH: usize = 5;

/// Maximum ratio of the quartiles for an estimate.
const STEADY: f64 = 1.5;

/// Returns lower and upper quartile; `None` for fewer than [`ENOUGH`] values. Estimates compare lower quartiles, because
/// disturbances only lengthen steps.
fn quartiles(values: &mut [f64]) -> Option<(f64, f64)> {
    if values.len() < ENOUGH {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some((values[values.len() / 4], values[values.len() * 3 / 4]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(number: u64, nanos: Option<u64>) -> Batch {
        let measured = nanos.map(|nanos| {
            let mut timing = Timing::of("deliver");
            timing.launch(nanos);
            let spans = vec![crate::gpu::Span::default()];
            Box::new(Measured { steps: 2, timings: vec![timing], spans, left_out: 0 })
        });
        let nanos = if measured.is_some() { 1_100 } else { 1_000 };
        Batch { number, step: number * 10, steps: 10, nanos, measured }
    }

    #[test]
    fn late_batches_are_inserted_in_order_and_a_range_has_its_own_sums() {
        let mut profile = Profile::default();
        let mut batches: Vec<Batch> = (0..40).map(|n| batch(n, n.is_multiple_of(4).then_some(n))).collect();
        batches.swap(4, 7);
        profile.absorb(&Frame { batches, ..Frame::default() });
        assert!(profile.batches().iter().map(|b| b.number).is_sorted());
        assert_eq!((profile.sums()[0].launches, profile.sums()[0].nanos), (10, 180));
        profile.choose(Some((4, 8)));
        assert_eq!((profile.sums()[0].launches, profile.sums()[0].nanos), (2, 12));
        assert_eq!(profile.shown().map(|(b, _)| b.number), Some(8));
        profile.batch = Some(5);
        assert_eq!(profile.shown().map(|(b, _)| b.number), Some(4));
        let overhead = profile.overhead().expect("enough");
        assert_eq!(profile.steps(), (4, 50), "of the range");
        assert!((overhead.measured - 0.1).abs() < 1e-9 && (overhead.overall - 0.1 / 4.0).abs() < 1e-9);
        profile.batches.iter_mut().step_by(3).for_each(|b| b.nanos *= 2);
        assert_eq!(profile.overhead(), None, "variable steps give no estimate");
    }

    #[test]
    fn memory_is_bounded() {
        let mut profile = Profile::default();
        let batches = (0..KEPT as u64 + 100).map(|n| batch(n, Some(1))).collect();
        profile.absorb(&Frame { batches, ..Frame::default() });
        assert_eq!(profile.batches().len(), KEPT);
        assert_eq!(profile.in_detail().count(), IN_DETAIL);
        assert_eq!(profile.measured().count(), MEASURED);
        profile.held = true;
        profile.absorb(&Frame { batches: vec![batch(9_000, None)], ..Frame::default() });
        assert_eq!(profile.batches().back().map(|b| b.number), Some(KEPT as u64 + 99));
        profile.absorb(&Frame { epoch: 1, ..Frame::default() });
        assert!(profile.batches().is_empty());
    }
}
