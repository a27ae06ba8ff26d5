//! Requests of the window to the engine: speed limit, taps, profiling. A request is sent when it changes, and again if the
//! queue was full.

use super::Live;
use crate::{app::document::playback::ShownTrial, engine::Command, sim::Tap};

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

    /// Returns the number of trials of the simulation or of the shown series; 0 or 1 for a single run.
    pub fn n_trials(&self) -> u32 {
        match &self.playback {
            Some(playback) => playback.trial.as_ref().map_or(1, |trial| trial.n_trials),
            None => self.schema.trials,
        }
    }

    /// Shows another trial, from 0. Of a simulation, views then begin at the present step: frames of the former trial that still
    /// arrive are dropped. Of a series, the trial is only chosen: [`Live::begin_trial`] opens it.
    pub fn show_trial(&mut self, trial: u32) {
        if let Some(playback) = &mut self.playback {
            playback.trial.iter_mut().for_each(|trials| trials.choose(trial));
            return;
        }
        // Until its schema has arrived, a new simulation shows its first trial.
        let is_shown = trial == self.requested.shown_trial || trial >= self.schema.trials || self.is_load_pending();
        if !is_shown && self.send(Command::ShowTrial(trial)) {
            self.requested.shown_trial = trial;
        }
    }

    /// Shows the trial `by` places after the shown one, which is the first one after the last.
    pub fn show_next_trial(&mut self, by: i64) {
        let (n, shown) = (i64::from(self.n_trials().max(1)), i64::from(self.shown_trial()));
        self.show_trial((shown + by).rem_euclid(n) as u32);
    }

    /// Returns the trial that views show, from 0; of a series, the chosen one, which may still be being opened.
    pub fn shown_trial(&self) -> u32 {
        let recorded = self.playback.as_ref().and_then(|playback| playback.trial.as_ref());
        recorded.map_or(self.requested.shown_trial, ShownTrial::chosen)
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
