//! Trial of the simulation that the screen shows. Recordings contain the first trial.

use super::worker::Worker;
use crate::sim::{Frame, Tap, TrialChoice};

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
        let n = self.sim.as_ref().map_or(0, |sim| sim.trials());
        if trial >= n || trial == self.screen.trial {
            return;
        }
        self.screen.trial = trial;
        self.read_shown_trial();
        self.start_epoch();
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
        let own = frame.readings.iter_mut().filter(|(key, _)| key.trial == shown);
        own.for_each(|(key, _)| key.trial = TrialChoice::default());
        frame
    }
}
