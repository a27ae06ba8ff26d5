//! Requests of the window to the engine: speed limit, taps, profiling. A request is sent when it changes, and again if the
//! queue was full.

use super::Live;
use crate::{engine::Command, sim::Tap};

impl Live {
    /// Sets the speed limit if it has changed; `None` for no limit.
    pub fn limit_speed(&mut self, speed: Option<f64>) {
        if self.requested.speed_sent != speed && self.send(Command::Speed(speed)) {
            self.requested.speed_sent = speed;
            self.pace.forget();
        }
    }

    /// Subscribes to the taps of the visible views if they have changed. Starts a loaded simulation that waits for the views.
    pub fn subscribe(&mut self, taps: Vec<Tap>) {
        if self.versions.sent.is_some()
            && self.requested.subscribed != taps
            && self.send(Command::Subscribe(taps.clone()))
        {
            self.requested.subscribed.clone_from(&taps);
        }
        let is_subscribed = self.versions.sent.is_some() && self.requested.subscribed == taps;
        if is_subscribed && std::mem::take(&mut self.requested.starts_when_subscribed) {
            self.start_run();
        }
    }

    /// Shows another trial of the simulation, from 0. Views then begin at the present step: frames of the former trial that still
    /// arrive are dropped.
    pub fn show_trial(&mut self, trial: u32) {
        // Until its schema has arrived, a new simulation shows its first trial.
        let is_shown = trial == self.requested.shown_trial || trial >= self.schema.trials || self.is_load_pending();
        if !is_shown && self.send(Command::ShowTrial(trial)) {
            self.requested.shown_trial = trial;
        }
    }

    /// Shows the trial `by` places after the shown one, which is the first one after the last.
    pub fn show_next_trial(&mut self, by: i64) {
        let (n, shown) = (i64::from(self.schema.trials.max(1)), i64::from(self.requested.shown_trial));
        self.show_trial((shown + by).rem_euclid(n) as u32);
    }

    /// Returns the trial of the simulation that views show, from 0.
    pub const fn shown_trial(&self) -> u32 {
        self.requested.shown_trial
    }

    /// Returns the taps that the engine samples for the window.
    pub fn subscriptions(&self) -> &[Tap] {
        &self.requested.subscribed
    }

    /// Requests the individuals in sets of slots, or cancels the request, if `wanted` has changed.
    pub fn follow_individuals(&mut self, wanted: bool) {
        let wanted = wanted && self.playback.is_none();
        if self.versions.sent.is_some()
            && self.requested.follows_individuals != wanted
            && self.send(Command::Individuals(wanted))
        {
            self.requested.follows_individuals = wanted;
            if !wanted {
                self.individuals.clear();
            }
        }
    }

    /// Makes the next call of [`Live::subscribe`] subscribe again, so that a paused simulation is sampled.
    pub fn sample_again(&mut self) {
        self.requested.subscribed.clear();
    }

    /// Turns profiling on (one measured batch out of `every`; for 0 the engine chooses) or off, if it has changed.
    pub fn profile(&mut self, every: Option<u32>) {
        if self.versions.sent.is_some() && self.requested.profiled != every && self.send(Command::Profile(every)) {
            self.requested.profiled = every;
        }
    }
}
