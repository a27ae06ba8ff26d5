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

pub use active::Active;
pub use axis::{Axis, Link};
pub use band::Band;
pub use fields::{CAPACITY as FIELDS_CAPACITY, Fields};
pub use past::{Past, Train};
pub use scrub::Player;
pub use timeline::Timeline;

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
    /// Whether it takes activity away rather than bringing some.
    pub is_lesion: bool,
}

impl Span {
    /// Whether it begins or ends during the run: what lasts all the time needs no shading.
    pub fn is_bounded(&self) -> bool {
        self.from > 0.0 || self.to.is_finite()
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
