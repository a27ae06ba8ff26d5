//! What the Profile panels share: the batches of late, the chosen range, the chosen kernel, the baseline.

use super::{baseline::Baseline, machine::Machine, numerics::Comparison};
use crate::{
    app::{theme::Tokens, views::colors},
    engine::PROFILE_EVERY,
    gpu::{Batch, Measured, Timing},
    sim::{Clock, Frame},
};
use egui::Color32;
use std::{collections::VecDeque, rc::Rc};

/// Batches kept.
const KEPT: usize = 8192;
/// Of the measured ones, so many with their sums, and so many span by span.
const MEASURED: usize = 256;
const IN_DETAIL: usize = 64;

/// Where the time went of late.
pub struct Profile {
    batches: VecDeque<Batch>,
    /// Numbers of the first and the last batch of the chosen range.
    pub range: Option<(u64, u64)>,
    /// The batch the timeline shows; the newest measured one without.
    pub batch: Option<u64>,
    /// The kernel that was clicked.
    pub kernel: Option<&'static str>,
    /// The panel the pointer is in, and the kernel under it.
    hovered: Option<(&'static str, &'static str)>,
    /// What is compared with.
    pub baseline: Option<Baseline>,
    /// Batches to one that is measured.
    pub every: u32,
    /// New batches are not taken in.
    pub held: bool,
    /// What it runs on.
    pub machine: Machine,
    /// With the reference.
    pub comparison: Comparison,
    names: Vec<&'static str>,
    clock: Clock,
    epoch: u64,
    /// Counts up whenever sums over the range may have changed.
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
            every: PROFILE_EVERY as u32,
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

/// What measuring costs, found by comparing the steps of measured batches with those of their neighbours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overhead {
    /// Of a measured batch: 0.05 makes it take 5 % longer.
    pub measured: f64,
    /// Of all batches together.
    pub overall: f64,
}

impl Profile {
    /// New data. A new epoch starts over, but for the baseline.
    pub fn absorb(&mut self, frame: &Frame) {
        self.clock = frame.clock;
        if frame.epoch != self.epoch {
            self.epoch = frame.epoch;
            self.forget();
        }
        if self.held {
            return;
        }
        for batch in &frame.batches {
            self.take(batch.clone());
        }
    }

    /// Starts over, but for the baseline.
    pub fn forget(&mut self) {
        self.batches.clear();
        (self.range, self.batch, self.held) = (None, None, false);
        self.generation += 1;
    }

    /// Measured batches may come late; numbers stay in order.
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
            // The batch that is looked at stays.
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

    /// What is under the pointer in a panel.
    pub fn hover(&mut self, panel: &'static str, kernel: Option<&'static str>) {
        if kernel.is_some() || self.hovered.is_some_and(|(by, _)| by == panel) {
            self.hovered = kernel.map(|name| (panel, name));
        }
    }

    /// The kernel to point out: the one under the pointer, else the one that was clicked.
    pub fn pointed(&self) -> Option<&'static str> {
        self.hovered.map(|(_, name)| name).or(self.kernel)
    }

    /// All batches kept, oldest first.
    pub const fn batches(&self) -> &VecDeque<Batch> {
        &self.batches
    }

    /// Those of the chosen range; all of them without one.
    pub fn in_range(&self) -> impl DoubleEndedIterator<Item = &Batch> {
        let (from, to) = self.range.unwrap_or((0, u64::MAX));
        self.batches.iter().filter(move |b| (from..=to).contains(&b.number))
    }

    /// The measured ones among them.
    pub fn measured(&self) -> impl DoubleEndedIterator<Item = (&Batch, &Measured)> {
        let inside = |b: &'_ Batch| b.measured.as_ref().is_some_and(|m| !m.timings.is_empty());
        self.in_range().filter(move |b| inside(b)).filter_map(|b| Some((b, &**b.measured.as_ref()?)))
    }

    /// Those the timeline can show.
    pub fn in_detail(&self) -> impl DoubleEndedIterator<Item = (&Batch, &Measured)> {
        self.measured().filter(|(_, m)| !m.spans.is_empty())
    }

    /// The batch the timeline shows.
    pub fn shown(&self) -> Option<(&Batch, &Measured)> {
        match self.batch {
            Some(wanted) => self.in_detail().min_by_key(|(b, _)| b.number.abs_diff(wanted)),
            None => self.in_detail().next_back(),
        }
    }

    /// Chooses a range of batches, or all.
    pub fn choose(&mut self, range: Option<(u64, u64)>) {
        self.range = range;
        self.generation += 1;
    }

    /// Sums over the range, largest first.
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

    /// What measuring costs; none before there is enough to compare, and when the steps vary so much, because others
    /// use the machine too, that a comparison says nothing.
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
        is_known.then(|| Overhead { measured, overall: measured / f64::from(self.every.max(1)) })
    }

    /// A kernel keeps its colour, in all panels.
    pub fn color(&self, name: &str, tokens: &Tokens) -> Color32 {
        self.names.iter().position(|n| *n == name).map_or(tokens.other, |at| colors::categorical(at, tokens))
    }

    /// Simulated time of a step, as people read it.
    pub fn time_of(&self, step: u64) -> String {
        let clock = Clock { step, ..self.clock };
        match clock.secs_per_step {
            s if s > 0.0 && s < 1.0 => crate::app::text::sim_time(clock.secs()),
            _ => format!("step {}", crate::app::text::count(step)),
        }
    }
}

/// Fewer than this say nothing.
const ENOUGH: usize = 5;

/// Quartiles no further apart than this tell something.
const STEADY: f64 = 1.5;

/// The lower and the upper one. What disturbs a step makes it longer, so that the lower one is compared.
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
            Box::new(Measured { timings: vec![timing], spans: vec![crate::gpu::Span::default()], left_out: 0 })
        });
        let nanos = if measured.is_some() { 1_100 } else { 1_000 };
        Batch { number, step: number * 10, steps: 10, nanos, measured }
    }

    #[test]
    fn late_batches_find_their_place_and_a_range_has_its_own_sums() {
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
        assert!((overhead.measured - 0.1).abs() < 1e-9 && (overhead.overall - 0.1 / 32.0).abs() < 1e-9);
        profile.batches.iter_mut().step_by(3).for_each(|b| b.nanos *= 2);
        assert_eq!(profile.overhead(), None, "steps that vary tell nothing");
    }

    #[test]
    fn it_is_bounded() {
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
