//! The open document with everything that is measured, read or kept for it.

use super::{autosave::Autosave, journal::Journal, library::Library, profile::Profile, session::Session, time::Time};

/// The open document: project and simulation, its run in memory, its runs on disk.
pub struct Document {
    /// The project and its simulation.
    pub session: Session,
    /// The time axis of all views, and the run in memory.
    pub time: Time,
    /// Measured times of the simulation.
    pub profile: Profile,
    /// The recorded runs beside the project.
    pub library: Library,
    /// The copy that is restored after a crash.
    pub journal: Journal,
    /// The timer of automatic saves.
    pub autosave: Autosave,
}

impl Document {
    /// A document whose run and library are still empty.
    pub fn new(session: Session, time: Time, journal: Journal) -> Self {
        Self {
            session,
            time,
            profile: Profile::default(),
            library: Library::default(),
            journal,
            autosave: Autosave::default(),
        }
    }
}
