//! Time as the whole window sees it: one axis with one cursor for all views of time, what is remembered of the run,
//! and what happened to it (stimuli, edits).

mod active;
mod axis;
mod band;
mod fields;
pub mod paint;
mod past;
mod scrub;
pub mod spikes;
mod timeline;
mod walls;

pub use active::Active;
pub use axis::{Axis, Link};
pub use band::Band;
pub use fields::{CAPACITY as FIELDS_CAPACITY, Fields};
pub use past::{Past, Train};
pub use scrub::Player;
pub use timeline::Timeline;
pub use walls::Walls;

use crate::{engine::Exhibit, sim::Frame};

/// A span over which something was done to the simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Its name.
    pub label: String,
    /// First step.
    pub from: f64,
    /// First step after; infinite when it never ends.
    pub to: f64,
    /// When it was added: before that it did nothing.
    pub since: f64,
    /// Whether it takes activity away rather than bringing some.
    pub is_lesion: bool,
    /// Steps from pulse to pulse and in a pulse; none without a break.
    pub pulses: Option<(f64, f64)>,
}

/// More pulses than this in view are one bar.
const MOST_PULSES: f64 = 500.0;

impl Span {
    /// Whether it begins or ends during the run: what lasts all the time needs no shading.
    pub fn is_bounded(&self) -> bool {
        self.from.max(self.since) > 0.0 || self.to.is_finite() || self.pulses.is_some()
    }

    /// What of it lies between two steps: first steps, and first steps after.
    pub fn parts(&self, from: f64, to: f64) -> impl Iterator<Item = (f64, f64)> + use<> {
        let (from, to) = (from.max(self.from).max(self.since), to.min(self.to));
        let (every, on) =
            self.pulses.filter(|(every, _)| (to - from) / every < MOST_PULSES).unwrap_or((f64::MAX, f64::MAX));
        let (start, end, since) = (self.from, self.to, self.since);
        let first = ((from - start) / every).floor().max(0.0) as u64;
        let begin = move |n: u64| start + n as f64 * every;
        let part = move |n: u64| (begin(n).max(since), (begin(n) + on).min(end));
        (first..).map(part).take_while(move |(a, _)| *a < to).filter(move |(_, b)| *b > from)
    }

    /// The steps at which it begins, up to a step.
    pub fn onsets(&self, to: f64) -> impl Iterator<Item = u64> + use<> {
        let to = to.min(self.to);
        let (every, start) = match self.pulses {
            Some((every, _)) => (every, self.from + ((self.since - self.from) / every).ceil().max(0.0) * every),
            None => (f64::MAX, self.from.max(self.since)),
        };
        (0_u64..).map(move |n| start + n as f64 * every).take_while(move |at| *at < to).map(|at| at as u64)
    }
}

/// An edit the running simulation took up.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// When.
    pub step: u64,
    /// In words.
    pub label: String,
}

/// The one time of the window.
#[derive(Default)]
pub struct Time {
    /// What is in view, and the cursor.
    pub axis: Axis,
    /// What is remembered.
    pub past: Past,
    /// Stimuli and lesions.
    pub spans: Vec<Span>,
    /// Parameters changed while it ran.
    pub edits: Vec<Edit>,
    /// Plays what is remembered.
    pub player: Player,
    /// Whose states the views show: those of a step, or of the present.
    shown_states: Option<u64>,
    epoch: u64,
}

impl Time {
    /// Takes in what is new.
    pub fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        let is_first = self.past.is_blank() && self.axis.line == Timeline::default();
        self.past.absorb(exhibit, frame);
        self.epoch = frame.epoch;
        if is_first {
            self.axis.line.fit(frame.clock.secs_per_step);
        }
    }

    /// A run of this many steps is to come: all of it is in view when that is less than what is in view at first.
    pub fn expect(&mut self, steps: Option<u64>, secs_per_step: f64) {
        if self.axis.line == Timeline::default() {
            self.axis.line.fit(secs_per_step);
            let span = self.axis.line.span;
            self.axis.line = Timeline::across(steps.map_or(span, |n| (n as f64).clamp(20.0, span)));
        }
    }

    /// A new simulation or a new epoch: nothing is remembered.
    pub fn reset(&mut self) {
        self.axis.reset();
        self.past = Past::default();
        self.edits.clear();
        self.player = Player::default();
        self.shown_states = None;
    }

    /// The step that is shown: where the cursor is, else the present.
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
        assert_eq!(late.onsets(1e9).collect::<Vec<_>>(), [700], "the beginning of that pulse did nothing");
        let added = Span { since: 300.0, ..steady.clone() };
        assert_eq!(
            (added.parts(0.0, 5000.0).collect::<Vec<_>>(), added.onsets(1e9).next()),
            (vec![(300.0, 1000.0)], Some(300))
        );
        let dense = Span { to: f64::INFINITY, pulses: Some((2.0, 1.0)), ..steady };
        assert_eq!(dense.parts(0.0, 1e6).count(), 1, "a bar instead of a hatching");
    }
}
