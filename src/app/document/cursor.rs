//! Movement of a document's time cursor by commands and by playback, and the formatting of times.

use super::{command::UiCommand, interventions, open_document::Document, replayed::Replayed};
use crate::{
    app::kit::{self, text},
    sim::TimeBase,
};

/// Playback speed for steps without a duration, steps per second.
const STEPS_PER_SEC: f64 = 100.0;

impl Document {
    /// Formats the time of the step that is shown at a position of the time axis: the last step before the position.
    pub fn time_text(&self, place: f64) -> String {
        let (live, step) = (&self.session.live, place.floor());
        // Without a simulation, the clock has no time base.
        let base = if live.is_loaded() { live.clock.base } else { self.session.project.model.time_base() };
        if base.is_count() {
            return format!("{} {}", text::count(step as u64), base.name(step as u64));
        }
        let per_step = base.per_step();
        let last = live.playback.as_ref().map_or(0, |run| run.last);
        let newest = step.max(self.time.past.newest().max(last) as f64) * per_step;
        kit::TimeUnit::of(base, newest, 1.0).text(step * per_step, per_step)
    }

    /// Formats a number of steps as a duration.
    pub fn span_text(&self, steps: f64) -> String {
        let base = self.session.live.clock.base;
        kit::steps(if base.is_count() { steps.round() } else { steps }, base)
    }

    /// Moves the cursor by steps, starting at the newest step if there is no cursor.
    pub fn move_cursor(&mut self, steps: f64) {
        let (oldest, now) = (self.time.past.oldest() as f64, self.time.past.newest() as f64);
        let from = self.time.axis.cursor().unwrap_or(now);
        self.time.player.is_playing = false;
        self.time.axis.scrub(from + steps, oldest, now);
    }

    /// Toggles playback. Playback starts at the cursor; without a cursor or with the cursor at the end, it starts at the
    /// beginning of the range, or at the oldest step without a range.
    pub fn toggle_playback(&mut self) {
        let is_playing = &mut self.time.player.is_playing;
        *is_playing = !*is_playing;
        let is_at_end = self.time.axis.cursor().is_none_or(|at| at >= self.time.past.newest() as f64);
        if *is_playing && is_at_end {
            let start = self.time.axis.range.map_or(self.time.past.oldest() as f64, |(from, _)| from);
            self.time.axis.set_cursor(start);
        }
    }

    /// Moves the cursor during playback by seconds of wall-clock time, at the speed limit of the run or in real time. Returns
    /// whether the cursor moved.
    pub fn play_past(&mut self, secs: f64) -> bool {
        if !self.time.player.is_playing {
            return false;
        }
        // After another trial was chosen, the cursor waits until the trial is read up to it.
        let is_unread = |at: f64| at > self.time.past.newest() as f64;
        let is_reading = self.session.live.playback.as_ref().is_some_and(|run| run.fraction < 1.0);
        if is_reading && self.time.axis.cursor().is_some_and(is_unread) {
            return false;
        }
        let speed = self.session.project.run.speed;
        let secs = secs * if speed > 0.0 { speed } else { 1.0 };
        self.time.play(match self.session.live.clock.base {
            TimeBase::Count { .. } => secs * STEPS_PER_SEC,
            TimeBase::Seconds { per_step } => secs / per_step.max(1e-9),
        })
    }

    /// Returns the command that continues from the last checkpoint of the shown run at or before the time cursor; `None` without
    /// a shown run or such a checkpoint.
    pub fn checkpoint_at_cursor(&self) -> Option<UiCommand> {
        let run = self.session.live.playback.as_ref()?;
        let step = run.checkpoint_before(self.time.axis.cursor().unwrap_or(run.last as f64))?;
        Some(UiCommand::Branch(run.folder.clone(), step))
    }

    /// Updates the declared interventions and the applied edits on the time axis.
    pub fn update_marks(&mut self) {
        let live = &self.session.live;
        let model = &self.session.project.model;
        self.time.disabled_stimuli = interventions::disabled_stimuli(model.params());
        let secs = live.clock.base.per_step().max(f64::MIN_POSITIVE);
        let run = live.run_log().filter(|run| run.project.model.name() == model.name());
        let Some(run) = run else {
            self.time.spans = interventions::spans(model.params(), secs);
            self.time.edits.clear();
            self.replayed = None;
            return;
        };
        let is_other = |r: &Replayed| r.n_done > run.log.len() || r.secs != secs || r.began != run.project.model;
        if self.replayed.as_ref().is_none_or(is_other) {
            self.replayed = Some(Replayed::new(run.project.model.clone(), secs));
            self.time.edits.clear();
        }
        let Some(replayed) = &mut self.replayed else { return };
        if replayed.n_done < run.log.len() || self.time.edits.len() != run.log.len() {
            self.time.edits.truncate(replayed.n_done);
            self.time.edits.extend(replayed.catch_up(&run.log));
        }
        self.time.spans = replayed.acted.spans();
    }
}
