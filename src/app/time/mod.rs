//! Time as the whole window sees it: one axis with one cursor for all views of time, what is remembered of the run,
//! and what happened to it (stimuli, edits).

mod active;
mod axis;
mod fields;
pub mod paint;
mod past;
pub mod spikes;
mod timeline;

pub use active::Active;
pub use axis::{Axis, Link};
pub use fields::Fields;
pub use past::{Past, Train};
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
}

impl Time {
    /// Takes in what is new.
    pub fn absorb(&mut self, exhibit: &Exhibit, frame: &Frame) {
        let is_first = self.past.is_blank() && self.axis.line == Timeline::default();
        self.past.absorb(exhibit, frame);
        if is_first {
            self.axis.line.fit(frame.clock.secs_per_step);
        }
    }

    /// A new simulation or a new epoch: nothing is remembered.
    pub fn reset(&mut self) {
        self.axis.reset();
        self.past = Past::default();
        self.edits.clear();
    }

    /// The step that is shown: where the cursor is, else the present.
    pub fn shown(&self, now: u64) -> u64 {
        self.axis.cursor().map_or(now, |cursor| cursor.max(0.0) as u64)
    }
}
