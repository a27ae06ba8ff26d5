//! The end of a run: *Run* pauses at the duration, or continues until paused.

use super::{Live, Target};
use crate::engine::Command;
use std::time::Instant;

impl Live {
    /// Whether a simulation was sent to the engine, which has not answered with its schema yet. Another simulation may still be
    /// loaded.
    pub const fn is_load_pending(&self) -> bool {
        self.versions.n_loads_pending > 0
    }

    /// Sets the number of steps after which a run pauses, also for the run in progress; with `None`, runs continue until they
    /// are paused.
    pub fn limit_steps(&mut self, steps: Option<u64>) {
        if self.requested.steps_per_run != steps {
            self.requested.steps_per_run = steps;
            if self.requested.is_playing {
                self.start_run();
            }
        }
    }

    /// Runs to the end of the duration, or until paused. A run beyond the duration pauses at the next multiple of the
    /// duration.
    pub fn play(&mut self) {
        match self.loading.as_mut() {
            Some(loading) if self.versions.sent.is_none() => loading.play = true,
            // The views cannot subscribe before the schema arrives, and would miss the first steps.
            _ if self.versions.n_loads_pending > 0 => self.requested.play_when_loaded = true,
            _ => self.start_run(),
        }
    }

    pub(super) fn start_run(&mut self) {
        let command = self.requested.steps_per_run.map_or(Command::Play, Command::RunToMultiple);
        if !self.send(command) {
            return;
        }
        self.requested.is_playing = true;
        let from = self.clock.step;
        self.target = self.next_end(from).map(|to| Target { from, to, since: Instant::now() });
    }

    /// Returns the step at which *Run* pauses if the simulation continues from `step`; `None` if the run continues until
    /// paused.
    pub fn next_end(&self, step: u64) -> Option<u64> {
        self.requested.steps_per_run.map(|steps| (step / steps.max(1) + 1).saturating_mul(steps.max(1)))
    }

    /// Whether the simulation is at the end of a run.
    pub fn has_ended(&self) -> bool {
        let is_end = |steps: u64| self.clock.step > 0 && self.clock.step.is_multiple_of(steps.max(1));
        self.playback.is_none()
            && self.versions.sent.is_some()
            && !self.running
            && self.requested.steps_per_run.is_some_and(is_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Event, SimSchema};
    use std::sync::Arc;

    #[test]
    fn run_waits_for_the_schema_of_a_sent_simulation() {
        let mut live =
            Live::new(None, Arc::new(|_, _, _| Err(crate::sim::SimError::Cancelled)), egui::Context::default())
                .expect("no thread is started");
        live.versions.n_loads_pending = 1;
        live.play();
        assert!(live.requested.play_when_loaded && !live.requested.is_playing);
        live.pause();
        assert!(!live.requested.play_when_loaded, "Pause takes it back");
        live.play();
        live.handle_event(Event::Loaded(SimSchema::default()), &mut vec![]);
        assert!(live.requested.starts_when_subscribed, "the views subscribe first");
    }
}
