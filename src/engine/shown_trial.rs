//! Trial of the simulation that the screen shows, and recordings of all trials.

use super::{EndStatus, Event, RecordingEnd, worker::Worker};
use crate::sim::{Frame, Tap, TrialChoice};
use std::io;

/// Contents of frames for the screen, besides the subscribed probes.
#[derive(Default)]
pub(super) struct Screen {
    /// Trial that is shown, from 0.
    pub trial: u32,
    /// Whether frames contain individuals.
    pub with_individuals: bool,
}

impl<W: Fn()> Worker<W> {
    /// Selects the probes that are sampled for the screen, of the shown trial.
    pub(super) fn subscribe(&mut self, taps: Vec<Tap>) {
        self.subscribed = taps;
        self.read_shown_trial();
        self.sample_now();
    }

    /// Shows another trial from the present step on.
    pub(super) fn show_trial(&mut self, trial: u32) {
        let Some(sim) = self.sim.as_mut().filter(|sim| trial < sim.trials()) else { return };
        if trial == self.screen.trial {
            return;
        }
        sim.show_trial(trial);
        self.screen.trial = trial;
        // Views begin again, but the time that the simulation has run is that of a recording in progress.
        self.epoch += 1;
        self.unpublished = None;
        self.read_shown_trial();
        self.update_schema(self.clock().step);
        self.update_states();
        self.sample_now();
    }

    fn read_shown_trial(&mut self) {
        let shown = TrialChoice::One(self.screen.trial);
        let of_one = |tap: &&mut Tap| matches!(tap.trial, TrialChoice::One(_));
        self.subscribed.iter_mut().filter(of_one).for_each(|tap| tap.trial = shown);
        self.update_taps();
    }

    /// Gives the readings of the shown trial the keys of a simulation with one trial, as views know them.
    pub(super) fn as_shown(&self, mut frame: Frame) -> Frame {
        let shown = TrialChoice::One(self.screen.trial);
        frame.readings.retain(|(key, _)| key.trial == shown || matches!(key.trial, TrialChoice::Statistic(_)));
        let own = frame.readings.iter_mut().filter(|(key, _)| key.trial == shown);
        own.for_each(|(key, _)| key.trial = TrialChoice::default());
        frame
    }

    /// Ends a recording of all trials if their element sets no longer agree, because a recording has one schema.
    pub(super) fn end_if_trials_differ(&mut self) {
        let records_all =
            self.recorder.as_ref().is_some_and(|r| r.taps.iter().any(|tap| tap.trial == TrialChoice::All));
        if !records_all || !self.sim.as_ref().is_some_and(|sim| sim.trials_differ()) {
            return;
        }
        let Some(recorder) = self.recorder.take() else { return };
        let why =
            "the elements of the trials no longer agree: record them with `neuropil run --trials`, or set Trials to 1";
        let (digest, clock) = self.batch_start.clone().unwrap_or_else(|| (self.digest(), self.clock()));
        let status = EndStatus::Failed(why.to_owned());
        let (_, end) = recorder.finish(RecordingEnd { status, digest, clock, computed: self.computed });
        self.send_event(Event::RecordingFailed(io::Error::other(why), end));
        self.update_taps();
        self.pace.forget();
    }
}
