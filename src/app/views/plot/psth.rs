//! Rates counted from the spikes in memory, with a bin width and a smoothing kernel: the mean of all elements or of the
//! selection, or one curve per named group or per category of a column. Rates aligned to onsets are the PSTH (peristimulus time
//! histogram).

use super::{
    onsets::{Align, OnsetWindow, OnsetWindows},
    psth_groups::{CurveElements, CurveGroups, MAX_CURVES, RateOf},
};
use crate::{
    app::{
        document::{
            filter::FilterMask,
            groups::Groups,
            selection::Selection,
            time::{Time, Timeline, Train, spikes::between},
        },
        kit::{self, pool},
        views::{ViewCtx, rate},
    },
    sim::{Clock, ElementSet, Spike},
};
use egui::{DragValue, Ui};
use std::sync::{Arc, mpsc};

/// Maximum number of spikes that are counted on the UI thread, so that the curves of a followed window are not late.
const MAX_INLINE: usize = 200_000;
/// Maximum number of visible bins; wider bins replace them if there are more.
const BINS: f64 = 4_000.0;

/// The smoothing kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    #[default]
    None,
    /// A Gaussian with a standard deviation of two bins.
    Gauss,
}

/// The parameters of a count.
#[derive(Clone, Debug, PartialEq)]
struct PsthKey {
    of: RateOf,
    kernel: Kernel,
    /// Steps per bin, index of the first bin, number of bins.
    bins: (u32, u64, usize),
    /// Onsets that the bins are aligned to; `None`: the start of the run.
    around: Option<OnsetWindows>,
    /// Generation of the selection, or of the named groups.
    selected: u64,
    /// Generation of the filter.
    filtered: u64,
    sequence: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Elements of the curve, with their name and number.
    pub of: CurveElements,
    /// Rate of each bin, in the unit of [`rate::rate`].
    pub rates: Vec<f32>,
}

/// The counted rates.
#[derive(Clone, Debug)]
pub struct Curves {
    /// Steps per bin.
    pub steps: u32,
    /// Index of the first bin.
    pub first: u64,
    /// Onsets that the bins are aligned to; the first bin is then the start of the window.
    pub around: Option<OnsetWindows>,
    pub list: Vec<Curve>,
}

/// Settings of the counted rates, and the last result.
pub struct Psth {
    /// Whether the counted rates are shown.
    pub is_shown: bool,
    of: RateOf,
    kernel: Kernel,
    bin_ms: f64,
    align: Align,
    window: OnsetWindow,
    groups: Groups,
    shown: Option<(PsthKey, Curves)>,
    job: Option<(PsthKey, mpsc::Receiver<Curves>)>,
}

impl Default for Psth {
    fn default() -> Self {
        let (align, window) = Default::default();
        Self {
            is_shown: false,
            of: RateOf::All,
            kernel: Kernel::None,
            bin_ms: 5.0,
            align,
            window,
            groups: Groups::default(),
            shown: None,
            job: None,
        }
    }
}

impl Psth {
    /// Draws the toolbar: elements, bin width, kernel and alignment.
    pub fn toolbar_ui(&mut self, ui: &mut Ui, ctx: &ViewCtx<'_>, set: &ElementSet) {
        let mut options = vec![(RateOf::All, "all".to_owned()), (RateOf::Selection, "selection".to_owned())];
        if !ctx.features.named_over(ctx.schema, set.name).is_empty() {
            options.push((RateOf::Groups, "named groups".to_owned()));
        }
        options.extend(set.columns.iter().map(|c| (RateOf::Column(c.name.clone()), kit::column(&c.name))));
        kit::choice_ui(ui, ctx.tokens, "Of", &mut self.of, &options);
        let suffix = if ctx.clock.base.is_count() { format!(" {}", ctx.clock.base.plural()) } else { " ms".to_owned() };
        ui.add(DragValue::new(&mut self.bin_ms).range(0.1..=10_000.0).speed(0.1).prefix("bin ").suffix(&suffix))
            .on_hover_text("Width of a bin");
        let kernels = [(Kernel::None, "no kernel".to_owned()), (Kernel::Gauss, "Gaussian".to_owned())];
        kit::choice_ui(ui, ctx.tokens, "Kernel", &mut self.kernel, &kernels);
        self.align.ui(ui, ctx.time, ctx.tokens, &mut self.window, &suffix);
    }

    /// Returns the title of the plot: unit, alignment, bin width and kernel.
    pub fn title(&self, set: &ElementSet, noun: &str, clock: Clock) -> String {
        let Some((key, curves)) = &self.shown else { return format!("rate from {noun}") };
        let bin = |steps: f64| kit::steps(steps, clock.base);
        let steps = f64::from(curves.steps);
        let kernel = match key.kernel {
            Kernel::None => "no kernel".to_owned(),
            Kernel::Gauss => format!("Gaussian σ {}", bin(steps * 2.0)),
        };
        let unit = match curves.list.as_slice() {
            [only] if key.of == RateOf::All || key.of == RateOf::Selection => rate::unit_of(set, only.of.n, clock.base),
            _ => rate::unit(set, clock.base),
        };
        let n_more = self.groups.get().map_or(0, |all| all.len().saturating_sub(MAX_CURVES));
        let groups = match key.of {
            RateOf::Groups if n_more > 0 => format!("first {MAX_CURVES} of {} groups · ", MAX_CURVES + n_more),
            _ => String::new(),
        };
        let around = key.around.as_ref().map_or_else(String::new, |a| self.align.description(a.onsets.len()) + " · ");
        format!("rate from {noun} ({unit}) · {groups}{around}bin {} · {kernel}", bin(steps))
    }

    /// Returns the column whose categories are shown; `None` if the rates are not per category.
    pub fn column(&self) -> Option<&str> {
        if let RateOf::Column(name) = &self.of { Some(name) } else { None }
    }

    /// Whether the curves are those of named groups.
    pub fn has_groups(&self) -> bool {
        self.of == RateOf::Groups
    }

    /// Returns the last curves; `None` before the first count.
    pub fn curves(&self) -> Option<&Curves> {
        self.shown.as_ref().map(|(_, curves)| curves)
    }

    /// Takes a finished result, and counts again if spikes, times or settings have changed.
    pub fn update(
        &mut self,
        ctx: &egui::Context,
        train: &Train,
        set: &Arc<ElementSet>,
        (selection, filter): (&Selection, &FilterMask),
        (time, line, clock): (&Time, &Timeline, Clock),
    ) {
        if let Some((key, receiver)) = &self.job {
            match receiver.try_recv() {
                Ok(curves) => {
                    self.shown = Some((key.clone(), curves));
                    self.job = None;
                }
                Err(mpsc::TryRecvError::Disconnected) => self.job = None,
                Err(mpsc::TryRecvError::Empty) => return,
            }
        }
        let key = PsthKey { filtered: filter.generation, ..self.key(train, selection, (time, line, clock)) };
        if self.shown.as_ref().is_some_and(|(shown, _)| *shown == key) {
            return;
        }
        let history = &train.history;
        let (steps, first, n) = key.bins;
        let relative = |step: u64| step.saturating_sub(history.origin()).min(u64::from(u32::MAX)) as u32;
        let (from, to) = match &key.around {
            None => (relative(first * u64::from(steps)), relative((first + n as u64) * u64::from(steps))),
            Some(around) => {
                let window = |onset: &u64| onset.saturating_add_signed(around.from);
                let (first, last) = (around.onsets.first().map_or(0, window), around.onsets.last().map_or(0, window));
                (relative(first), relative(last + around.len))
            }
        };
        let touches =
            |c: &&Arc<Vec<Spike>>| c.first().is_some_and(|s| s.step < to) && c.last().is_some_and(|s| s.step >= from);
        let mut chunks: Vec<Arc<Vec<Spike>>> = history.chunks().map(|(_, c)| c).filter(touches).cloned().collect();
        chunks.push(Arc::new(between(history.tail(), from, to).to_vec()));
        let (set, selected, origin, of) = (set.clone(), selection.elements.clone(), history.origin(), key.clone());
        let (mask, named) = (filter.shared(set.name), self.groups.get().cloned().unwrap_or_default());
        let counted = move || {
            let groups = CurveGroups::new(&of.of, &set, &selected, &named, mask.as_ref().map(|m| m.as_slice()));
            count(&of, &groups, &chunks, (from, to, origin), clock)
        };
        if key.around.is_none() && !self.overlaps(line) && history.count(from, to) <= MAX_INLINE {
            self.shown = Some((key, counted()));
            return;
        }
        let (sender, receiver) = mpsc::channel();
        pool::spawn(ctx, move || {
            sender.send(counted()).ok(); // fails if the view was closed
        });
        self.job = Some((key, receiver));
    }

    /// Finds the members of the named groups, while their rates are shown.
    pub fn find_groups(&mut self, egui: &egui::Context, ctx: &ViewCtx<'_>, set: &Arc<ElementSet>) {
        if self.of == RateOf::Groups {
            self.groups.update(egui, ctx.schema, ctx.features, set);
        }
    }

    /// Returns the reason why a group has no curve; `None` if it has one.
    pub fn problem_of(&self, group: &str) -> Option<&str> {
        let groups = self.groups.get().filter(|_| self.of == RateOf::Groups)?;
        groups.iter().find(|known| known.name == group)?.problem.as_deref()
    }

    /// Returns the range of steps of the last curves; `None` without curves or if they are aligned to onsets.
    fn times(&self) -> Option<(f64, f64)> {
        let (key, curves) = self.shown.as_ref().filter(|(key, _)| key.around.is_none())?;
        let step = |bin: u64| bin as f64 * f64::from(curves.steps);
        // The last bin is a margin for the kernel.
        let (_, first, n) = key.bins;
        Some((step(first), step(first + n.saturating_sub(1) as u64)))
    }

    /// Whether the last curves cover at least half of the visible times.
    fn overlaps(&self, line: &Timeline) -> bool {
        self.times().is_some_and(|(from, to)| to.min(line.t1) - from.max(line.t0) >= 0.5 * line.span)
    }

    /// Returns the times to show instead of the visible ones while a job counts spikes of a followed window: a window of equal
    /// length that ends with the last curves. `None` if the last curves cover at least half of the visible times, or without a
    /// job.
    pub fn late_times(&self, line: &Timeline) -> Option<(f64, f64)> {
        let (_, to) = self.times().filter(|_| self.job.is_some() && line.follow && !self.overlaps(line))?;
        (to <= line.t1).then_some((to - line.span, to))
    }

    fn key(&self, train: &Train, selection: &Selection, (time, line, clock): (&Time, &Timeline, Clock)) -> PsthKey {
        let ms = if clock.base.is_count() { 1.0 } else { 1e-3 / clock.base.per_step().max(f64::MIN_POSITIVE) };
        let wide = (line.span / BINS).ceil().max(1.0);
        let steps = (self.bin_ms * ms).round().max(wide) as u32;
        // One bin more is counted, as a margin for the kernel.
        let first = (line.t0.max(0.0) / f64::from(steps)).floor() as u64;
        let end = (line.t1.max(0.0) / f64::from(steps)).ceil() as u64;
        let selected = match self.of {
            RateOf::Selection => selection.generation,
            RateOf::Groups => self.groups.generation,
            _ => 0,
        };
        if let Some(around) = self.align.around(time, &train.history, self.window, ms) {
            let steps = (self.bin_ms * ms).round().max((around.len as f64 / BINS).ceil()).max(1.0) as u32;
            let bins = (steps, 0, around.len.div_ceil(u64::from(steps)) as usize);
            // Only whole windows are counted, so later spikes do not change the result.
            let (of, kernel, around) = (self.of.clone(), self.kernel, Some(around));
            return PsthKey { of, kernel, bins, around, selected, filtered: 0, sequence: 0 };
        }
        // Later spikes do not change the result for past times.
        let is_past = line.t1 < train.history.origin() as f64 + f64::from(train.history.last_step().unwrap_or(0));
        PsthKey {
            of: self.of.clone(),
            kernel: self.kernel,
            bins: (steps, first, end.saturating_sub(first) as usize + 1),
            around: None,
            selected,
            filtered: 0,
            sequence: if is_past { 0 } else { train.history.sequence() },
        }
    }
}

fn count(
    key: &PsthKey,
    groups: &CurveGroups,
    chunks: &[Arc<Vec<Spike>>],
    (from, to, origin): (u32, u32, u64),
    clock: Clock,
) -> Curves {
    let (steps, first, n) = key.bins;
    let mut counts = vec![vec![0u32; n]; groups.curves.len()];
    let mut add = |spike: &Spike, bin: u64| {
        for curve in groups.curves_of(spike.lane) {
            if let Some(count) = counts.get_mut(curve).and_then(|counts| counts.get_mut(bin as usize)) {
                *count += 1;
            }
        }
    };
    match &key.around {
        None => {
            for spike in chunks.iter().flat_map(|chunk| between(chunk, from, to)) {
                add(spike, ((origin + u64::from(spike.step)) / u64::from(steps)).saturating_sub(first));
            }
        }
        Some(around) => {
            for onset in around.onsets.iter() {
                let start = onset.saturating_add_signed(around.from).saturating_sub(origin) as u32;
                let end = start.saturating_add(around.len as u32);
                for spike in chunks.iter().flat_map(|chunk| between(chunk, start, end)) {
                    add(spike, u64::from((spike.step - start) / steps));
                }
            }
        }
    }
    let n_onsets = key.around.as_ref().map_or(1, |around| around.onsets.len().max(1)) as f64;
    let rates = |counts: &[u32], len: u32| {
        let steps = f64::from(steps) * n_onsets;
        let of_bin = |n: &u32| rate::rate(f64::from(*n), len, steps, clock.base) as f32;
        let rates: Vec<f32> = counts.iter().map(of_bin).collect();
        if key.kernel == Kernel::Gauss { smooth(&rates) } else { rates }
    };
    let curve = |(of, counts): (&CurveElements, &Vec<u32>)| Curve { of: of.clone(), rates: rates(counts, of.n) };
    Curves { steps, first, around: key.around.clone(), list: groups.curves.iter().zip(&counts).map(curve).collect() }
}

/// Convolves with a Gaussian of two bins. The weights are normalised within the range, so that rates do not fall at its ends.
fn smooth(rates: &[f32]) -> Vec<f32> {
    let weights: Vec<f32> = (-6..=6).map(|d| (-f64::from(d * d) / 8.0).exp() as f32).collect();
    let at = |i: usize| {
        let near = weights.iter().enumerate().filter_map(|(k, w)| Some((*rates.get((i + k).checked_sub(6)?)?, *w)));
        let (sum, weight) = near.fold((0.0, 0.0), |(sum, weight), (rate, w)| (sum + rate * w, weight + w));
        sum / weight
    };
    (0..rates.len()).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Column;

    fn key(of: RateOf, kernel: Kernel) -> PsthKey {
        PsthKey { of, kernel, bins: (100, 10, 10), around: None, selected: 0, filtered: 0, sequence: 0 }
    }

    #[test]
    fn rates_per_category_are_counts_over_elements_and_time() {
        let column = Column::from_texts("class", &["a", "a", "b", "a"]);
        let set = ElementSet { name: "cells", len: 4, columns: vec![column], ..ElementSet::default() };
        // Element 2 spikes every tenth step, the others never, in steps 1000..2000.
        let spikes = (1_000..2_000).step_by(10).map(|step| Spike { step, lane: 2 }).collect();
        let chunks = [Arc::new(spikes)];
        let clock = Clock::seconds(0, 1e-3);
        let groups = CurveGroups::new(&RateOf::Column("class".into()), &set, &[], &[], None);
        let curves = count(&key(RateOf::All, Kernel::None), &groups, &chunks, (1_000, 2_000, 0), clock);
        let of = |name: &str| curves.list.iter().find(|c| c.of.name == name).unwrap().rates.clone();
        assert_eq!((of("a"), of("b")), (vec![0.0; 10], vec![100.0; 10]));
        let groups = CurveGroups::new(&RateOf::All, &set, &[], &[], None);
        let all = count(&key(RateOf::All, Kernel::Gauss), &groups, &chunks, (1_000, 2_000, 0), clock);
        assert!(all.list[0].rates.iter().all(|r| (r - 25.0).abs() < 1e-3), "{:?}", all.list[0].rates);
    }

    #[test]
    fn rates_around_onsets_are_means_over_onsets() {
        let set = ElementSet { name: "cells", len: 2, ..ElementSet::default() };
        // Both elements spike 15 steps after each onset, and nowhere else.
        let onsets = [1_000_u64, 1_500, 2_500];
        let spikes = onsets.iter().flat_map(|at| [0, 1].map(|lane| Spike { step: *at as u32 + 15, lane })).collect();
        let around = OnsetWindows { onsets: onsets.into(), from: -20, len: 60 };
        let key = PsthKey { bins: (10, 0, 6), around: Some(around), ..key(RateOf::All, Kernel::None) };
        let clock = Clock::seconds(0, 1e-3);
        let curves = count(
            &key,
            &CurveGroups::new(&RateOf::All, &set, &[], &[], None),
            &[Arc::new(spikes)],
            (980, 2_540, 0),
            clock,
        );
        assert_eq!(curves.list[0].rates, [0.0, 0.0, 0.0, 100.0, 0.0, 0.0], "one spike per element, bin and onset");
    }

    /// A followed window moves by more than its width. Few spikes are counted at once; many are counted on the pool, and the
    /// times of the last curves are shown until the result is ready.
    #[test]
    fn curves_of_a_followed_window_are_never_of_other_times() {
        let set = Arc::new(ElementSet { name: "cells", len: 100, ..ElementSet::default() });
        let (ctx, selection, time) = (egui::Context::default(), Selection::default(), Time::default());
        let (mut psth, mut train) = (Psth::default(), Train::new(100));
        let line = |end: f64| {
            let mut line = Timeline::between(end - 1_000.0, end);
            line.follow = true;
            line
        };
        let mut feed = |psth: &mut Psth, steps: std::ops::Range<u32>, per_step: u32| {
            let spikes = |step| (0..per_step).map(move |k| Spike { step, lane: k % 100 });
            train.push(&steps.clone().flat_map(spikes).collect::<Vec<_>>(), steps.end.into());
            let shown = line(steps.end.into());
            let clock = Clock::seconds(steps.end.into(), 1e-4);
            psth.update(&ctx, &train, &set, (&selection, &FilterMask::default()), (&time, &shown, clock));
            psth.late_times(&shown)
        };
        assert_eq!(feed(&mut psth, 0..3_000, 10), None);
        assert_eq!((feed(&mut psth, 3_000..6_000, 10), psth.times()), (None, Some((5_000.0, 6_000.0))));
        assert_eq!(feed(&mut psth, 6_000..9_000, 300), Some((5_000.0, 6_000.0)), "they are being counted");
        let counted = psth.job.take().and_then(|(key, receiver)| Some((key, receiver.recv().ok()?)));
        psth.shown = counted;
        assert_eq!((psth.times(), psth.late_times(&line(9_000.0))), (Some((8_000.0, 9_000.0)), None));
        let rates = &psth.curves().expect("curves").list[0].rates;
        assert!(rates[2..rates.len() - 2].iter().all(|hz| (hz - 30_000.0).abs() < 1.0), "{rates:?}");
    }

    #[test]
    fn a_kernel_keeps_the_sum_and_widens_a_peak() {
        let mut rates = vec![0.0; 40];
        rates[20] = 10.0;
        let smooth = smooth(&rates);
        assert!((smooth.iter().sum::<f32>() - 10.0).abs() < 1e-3);
        assert!(smooth[20] < 3.0 && smooth[18] > 0.5 && smooth[10] == 0.0);
    }
}
