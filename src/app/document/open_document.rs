//! The open document with all data that are measured, read or kept for it.

use super::{
    autosave::Autosave, experiment::Experiments, journal::Journal, library::Library, profile::Profile,
    replayed::Replayed, session::Session, time::Time,
};
use crate::sim::Frame;

/// The open document: project and simulation, its run in memory, its runs on disk.
pub struct Document {
    /// Project and its simulation.
    pub session: Session,
    /// Time axis of all views, and the run in memory.
    pub time: Time,
    /// Measured times of the simulation.
    pub profile: Profile,
    /// Recorded runs next to the project.
    pub library: Library,
    /// Experiments next to the project.
    pub experiments: Experiments,
    /// Copy of the document that is restored after a crash.
    pub journal: Journal,
    /// Parameters that the engine ran with, replayed from its log; `None` before a run.
    pub replayed: Option<Replayed>,
    /// [`Frame::epoch`] of the last frame; 0 before the first frame of a document.
    epoch: u64,
    /// Timer of automatic saves.
    pub autosave: Autosave,
}

impl Document {
    /// Creates a document whose run and library are still empty.
    pub fn new(session: Session, time: Time, journal: Journal) -> Self {
        Self {
            session,
            time,
            profile: Profile::default(),
            library: Library::default(),
            experiments: Experiments::default(),
            journal,
            replayed: None,
            epoch: 0,
            autosave: Autosave::default(),
        }
    }

    /// Forgets the frames of the former document.
    pub fn forget_frames(&mut self) {
        self.epoch = 0;
    }

    /// Applies a frame of the simulation to selection, profile, the run in memory and the filter. If the cursor is in the
    /// past, removes the present states from the frame. Returns whether the frame begins a new epoch.
    pub fn absorb(&mut self, frame: &mut Frame) -> bool {
        self.session.follow_individuals(frame);
        self.profile.absorb(frame);
        let is_new_epoch = std::mem::replace(&mut self.epoch, frame.epoch) != frame.epoch;
        match &self.session.live.playback {
            Some(trial) if is_new_epoch => self.time.show_other(trial.first, trial.last),
            None if is_new_epoch => self.time.reset(),
            _ => {}
        }
        let schema = &self.session.live.schema;
        self.time.absorb(schema, frame);
        if self.time.axis.cursor().is_some() {
            let is_state = |id: u16| schema.probes.get(usize::from(id)).is_some_and(|p| p.shape.is_state());
            frame.readings.retain(|(key, _)| !is_state(key.probe));
        }
        self.session.filter.absorb(schema, frame);
        is_new_epoch
    }

    /// Applies the states at the cursor to the filter, and returns them as a frame; `None` if they are already shown.
    pub fn absorb_states_at_cursor(&mut self) -> Option<Frame> {
        let live = &self.session.live;
        let frame = self.time.states_to_show(&live.schema, live.clock)?;
        self.session.filter.absorb(&live.schema, &frame);
        Some(frame)
    }
}
