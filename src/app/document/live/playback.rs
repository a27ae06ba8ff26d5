//! Playback of a finished run instead of a simulation.

use super::{Builder, EditAcks, Live, LiveEvent, RunLog};
use crate::{
    app::{
        document::playback::{OpenedRun, Playback, TrialToOpen},
        kit::level::Level,
    },
    sim::{Clock, Frame},
};

impl Live {
    /// Returns the function that builds simulations.
    pub fn builder(&self) -> Builder {
        self.builder.clone()
    }

    /// Shows a finished run instead of a simulation. Fails if its streams cannot be read.
    pub fn show(&mut self, opened: OpenedRun) -> Result<(), String> {
        let wake = self.wake.clone();
        let playback = Playback::read(&opened, move || wake.request_repaint())?;
        self.clock = Clock { step: playback.first, base: opened.run.manifest.time_base() };
        self.versions.run_log = Some(RunLog { project: opened.project, log: opened.log });
        self.schema = opened.schema;
        self.next_schemas = opened.later.into();
        self.playback = Some(playback);
        Ok(())
    }

    /// Shows another trial of the shown series. Its first frame has the next epoch and replaces the data of the former trial, which stay
    /// until then. Fails, and shows the former trial, if its streams cannot be read.
    pub fn show_other_trial(&mut self, opened: OpenedRun) -> Result<(), String> {
        let wake = self.wake.clone();
        let epoch = self.playback.as_ref().map_or(0, |shown| shown.epoch + 1);
        let mut playback = Playback::read(&opened, move || wake.request_repaint())?;
        playback.epoch = epoch;
        self.versions.run_log = Some(RunLog { project: opened.project, log: opened.log });
        self.next_schemas = std::iter::once(opened.schema).chain(opened.later).collect();
        self.acks = EditAcks::default();
        self.playback = Some(playback);
        Ok(())
    }

    /// Begins the opening of the chosen trial of the shown series; `None` if no trial is to be opened now.
    pub fn begin_trial(&mut self) -> Option<TrialToOpen> {
        let model = &self.versions.run_log.as_ref()?.project.model;
        self.playback.as_mut()?.begin_trial(model)
    }

    /// Starts to read the run again for panels that were opened late. Returns the panels as [`Playback::read_again`] does.
    pub fn read_again(&mut self, waiting: &mut Vec<String>) -> Vec<String> {
        let wake = self.wake.clone();
        let playback = self.playback.as_mut();
        playback.map_or_else(Vec::new, |p| p.read_again(waiting, move || wake.request_repaint()))
    }

    /// Takes the frames for panels that were opened late, and the names of the panels.
    pub fn take_again(&mut self) -> (Vec<String>, Vec<Frame>) {
        self.playback.as_mut().map(Playback::take_again).unwrap_or_default()
    }

    /// Takes the frames read since the last call.
    pub(super) fn poll_playback(&mut self, events: &mut Vec<LiveEvent>) {
        let Some(playback) = &mut self.playback else { return };
        let (frames, epoch) = (playback.take(), playback.epoch);
        let error = playback.error.take();
        for mut frame in frames {
            frame.epoch = epoch;
            while self.next_schemas.front().is_some_and(|next| next.generation <= frame.generation) {
                self.change_schema(events);
            }
            self.clock = frame.clock;
            events.push(LiveEvent::Frame(frame));
        }
        if let Some(error) = error {
            events.push(LiveEvent::Message(Level::Error, format!("Could not read the whole run: {error}")));
        }
    }
}
