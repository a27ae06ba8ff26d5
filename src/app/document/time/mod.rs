//! Time in the window: one axis with one cursor for all time views, the history of the run, and its interventions
//! and edits.

mod acted;
mod active;
mod axis;
mod bin_pyramid;
mod coverage;
mod element_bins;
mod event_density;
mod fields;
mod indexer;
mod last_spikes;
pub mod lineage_memory;
pub mod paint;
mod past;
mod scrub;
pub mod spikes;
mod step_curve;
mod step_scale;
mod timeline;
mod train;

pub use acted::{Acted, rows};
pub use active::ActiveElements;
pub use axis::{TimeAxis, TimeLink};
pub use bin_pyramid::{BinPyramid, Merge};
pub use coverage::Coverage;
pub use element_bins::{Bin, ElementBins};
pub use event_density::EventDensity;
pub use fields::{CAPACITY as FIELDS_CAPACITY, FieldHistory};
pub use indexer::Indexer;
pub use last_spikes::LastSpikes;
pub use past::Past;
pub use scrub::Player;
pub use step_curve::StepCurve;
pub use step_scale::{StepQuantity, StepScale};
pub use timeline::Timeline;
pub use train::Train;

use super::activity::ActivityCheck;
use crate::{
    engine::SimSchema,
    sim::{Frame, TimeBase},
};

/// Stimulus or silencing over a span of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub label: String,
    pub from: f64,
    /// First step after the span; infinite if the span never ends.
    pub to: f64,
    /// Step at which the intervention was added. Before this step the intervention has no effect.
    pub since: f64,
    /// Whether the intervention silences rather than stimulates.
    pub is_lesion: bool,
    /// Period and duration of pulses, steps; `None` if the intervention is continuous.
    pub pulses: Option<(f64, f64)>,
}

/// Number of visible pulses above which they are drawn as one bar.
const MAX_PULSES: f64 = 500.0;

impl Span {
    /// Returns the first step at which the intervention acts.
    pub fn start(&self) -> f64 {
        self.from.max(self.since)
    }

    /// Whether the intervention starts or stops during the run, which is the condition for shading it.
    pub fn is_bounded(&self) -> bool {
        self.from.max(self.since) > 0.0 || self.to.is_finite() || self.pulses.is_some()
    }

    /// Iterates over the parts of the span between two steps, each with its first step and the first step after it.
    pub fn parts(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
        let (from, to) = (from.max(self.from).max(self.since), to.min(self.to));
        let (every, on) =
            self.pulses.filter(|(every, _)| (to - from) / every < MAX_PULSES).unwrap_or((f64::MAX, f64::MAX));
        let (start, end, since) = (self.from, self.to, self.since);
        let first = ((from - start) / every).floor().max(0.0) as u64;
        let begin = move |n: u64| start + n as f64 * every;
        let part = move |n: u64| (begin(n).max(since), (begin(n) + on).min(end));
        (first..).map(part).take_while(move |(a, _)| *a < to).filter(move |(_, b)| *b > from)
    }

    /// Iterates over the onsets of the span before step `to`.
    pub fn onsets(&self, to: f64) -> impl Iterator<Item = u64> + use<> {
        let to = to.min(self.to);
        let (every, start) = match self.pulses {
            Some((every, _)) => (every, self.from + ((self.since - self.from) / every).ceil().max(0.0) * every),
            None => (f64::MAX, self.from.max(self.since)),
        };
        (0_u64..).map(move |n| start + n as f64 * every).take_while(move |at| *at < to).map(|at| at as u64)
    }
}

/// Edit that was applied while the simulation ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// Step before which the edit was applied.
    pub step: u64,
    pub label: String,
}

/// Time state of the window.
#[derive(Default)]
pub struct Time {
    /// Visible times and cursor.
    pub axis: TimeAxis,
    /// History of the run.
    pub past: Past,
    /// Stimuli and silencing.
    pub spans: Vec<Span>,
    /// Names of the disabled stimuli.
    pub disabled_stimuli: Vec<String>,
    /// Edits applied while the simulation ran.
    pub edits: Vec<Edit>,
    /// Moves the cursor during playback.
    pub player: Player,
    /// Check of whether the newest activity looks wrong.
    pub activity: ActivityCheck,
    /// Step whose states the views show, and the last known step before it; `None` for the present.
    shown_states: Option<(u64, u64)>,
    epoch: u64,
    /// Window that is repainted when the indexer has a snapshot; `None` if spikes are indexed on the window's thread.
    wake: Option<egui::Context>,
}

fn start_indexer(wake: &egui::Context) -> Option<Indexer> {
    let wake = wake.clone();
    // If no thread can be started, spikes are indexed on the window's thread.
    Indexer::spawn(move || wake.request_repaint()).ok()
}

impl Time {
    /// Creates a time state that indexes spikes on a thread and repaints a window.
    pub fn with_indexer(wake: egui::Context) -> Self {
        let mut time = Self { wake: Some(wake), ..Self::default() };
        time.reset();
        time
    }

    /// Returns the window to repaint when a job ends; `None` without a window.
    pub fn wake(&self) -> Option<&egui::Context> {
        self.wake.as_ref()
    }

    /// Adds a frame to the history.
    pub fn absorb(&mut self, schema: &SimSchema, frame: &mut Frame) {
        let is_first = self.past.is_blank() && self.axis.line == Timeline::default();
        self.past.absorb(schema, frame);
        self.epoch = frame.epoch;
        if is_first {
            self.axis.line.fit(frame.clock.base);
        }
    }

    /// Prepares for a run of `steps` steps. The whole run is visible if it is shorter than the default span.
    pub fn expect(&mut self, steps: Option<u64>, base: TimeBase) {
        if self.axis.line == Timeline::default() {
            self.axis.line.fit(base);
            let span = self.axis.line.span;
            self.axis.line = Timeline::across(steps.map_or(span, |n| (n as f64).clamp(20.0, span)));
        }
    }

    /// Clears everything for a new simulation or a new epoch.
    pub fn reset(&mut self) {
        self.axis.reset();
        self.past = Past::default();
        self.past.set_indexer(self.wake.as_ref().and_then(start_indexer));
        self.edits.clear();
        self.player = Player::default();
        self.activity = ActivityCheck::default();
        self.shown_states = None;
    }

    /// Clears the history for another trial of the shown series, from its first to its last step. Visible times, range, edits and
    /// playing stay, and the cursor stays within the trial.
    pub fn show_other(&mut self, first: u64, last: u64) {
        let (axis, edits, player) = (std::mem::take(&mut self.axis), std::mem::take(&mut self.edits), self.player);
        self.reset();
        (self.axis, self.edits, self.player) = (axis, edits, player);
        self.past.begin(first);
        if let Some(cursor) = self.axis.cursor().filter(|at| *at > last as f64 || *at < first as f64) {
            self.axis.set_cursor(cursor.clamp(first as f64, last.max(first) as f64));
        }
    }

    /// Returns the step that is displayed: the cursor, or `now` without a cursor.
    pub fn shown(&self, now: u64) -> u64 {
        self.axis.cursor().map_or(now, |cursor| cursor.max(0.0) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_are_parts_of_a_span() {
        let steady = Span { label: "s".into(), from: 100.0, to: 1000.0, since: 0.0, is_lesion: false, pulses: None };
        assert_eq!(steady.parts(0.0, 5000.0).collect::<Vec<_>>(), [(100.0, 1000.0)]);
        assert_eq!(steady.onsets(1e9).collect::<Vec<_>>(), [100]);
        let pulsed = Span { pulses: Some((300.0, 50.0)), ..steady.clone() };
        assert_eq!(pulsed.parts(0.0, 5000.0).collect::<Vec<_>>(), [(100.0, 150.0), (400.0, 450.0), (700.0, 750.0)]);
        assert_eq!(pulsed.parts(140.0, 420.0).collect::<Vec<_>>(), [(100.0, 150.0), (400.0, 450.0)]);
        assert_eq!(pulsed.parts(151.0, 399.0).count(), 0);
        assert_eq!(pulsed.onsets(700.5).collect::<Vec<_>>(), [100, 400, 700]);
        let late = Span { since: 420.0, ..pulsed.clone() };
        assert_eq!(late.parts(0.0, 5000.0).collect::<Vec<_>>(), [(420.0, 450.0), (700.0, 750.0)]);
        assert_eq!(late.onsets(1e9).collect::<Vec<_>>(), [700], "the start of that pulse had no effect");
        let added = Span { since: 300.0, ..steady.clone() };
        assert_eq!(
            (added.parts(0.0, 5000.0).collect::<Vec<_>>(), added.onsets(1e9).next()),
            (vec![(300.0, 1000.0)], Some(300))
        );
        let dense = Span { to: f64::INFINITY, pulses: Some((2.0, 1.0)), ..steady };
        assert_eq!(dense.parts(0.0, 1e6).count(), 1, "drawn as one bar");
    }
}
