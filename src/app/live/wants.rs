//! What the window wants of the engine at the moment. It is said when it has changed, and again when it was not heard.

use super::Live;
use crate::{engine::Command, sim::Tap};

impl Live {
    /// Limits the speed, when it is not already.
    pub fn limit_speed(&mut self, speed: Option<f64>) {
        if self.speed_sent != speed && self.send(Command::Speed(speed)) {
            self.speed_sent = speed;
            self.pace.forget();
        }
    }

    /// Says which probes are on screen, when that has changed.
    pub fn watch(&mut self, taps: Vec<Tap>) {
        if self.sent.is_some() && self.watched != taps && self.send(Command::Watch(taps.clone())) {
            self.watched = taps;
        }
    }

    /// Says whether somebody looks at where the time goes, and how many batches there are to one that is measured, when
    /// that has changed.
    pub fn profile(&mut self, every: Option<u32>) {
        if self.sent.is_some() && self.profiled != every && self.send(Command::Profile(every)) {
            self.profiled = every;
        }
    }
}
