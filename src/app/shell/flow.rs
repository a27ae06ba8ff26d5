//! Actions that wait for other work: reading or saving a file, keeping or resuming a run.

use crate::{app::document::command::Intent, project::VerifiedRun};
use std::path::PathBuf;

/// Pending work of the window, and the actions that follow.
#[derive(Default)]
pub struct Flow {
    /// Action that follows a save.
    pub after_save: Option<Intent>,
    /// Run that is being kept.
    pub keeping: Option<Keeping>,
    /// Run that is being resumed, until its simulation is loaded.
    pub resuming: Option<Resuming>,
    /// File given at start, until a document is open.
    pub opening: Option<Opening>,
    /// Whether the window closes without asking again.
    pub may_close: bool,
}

impl Flow {
    /// Returns the reason why no simulation can be run now; `None` if one can.
    pub fn not_ready(&self) -> Option<&'static str> {
        match (&self.opening, &self.resuming) {
            (Some(_), _) => Some("No project is open"),
            (_, Some(_)) => Some("The run is being prepared"),
            _ => None,
        }
    }
}

/// Run that is being kept.
pub struct Keeping {
    /// Action that waits until the run is kept.
    pub then: Option<Intent>,
}

/// Stage of a run that is being resumed.
pub enum Resuming {
    /// The simulation of the run is being built.
    Building(Box<VerifiedRun>),
    /// The recording of the run is being prepared.
    Preparing,
}

/// File given at start that is not yet open.
pub struct Opening {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Reason why the file could not be opened; `None` while it is being read.
    pub error: Option<String>,
}

impl Opening {
    /// Creates the state of a file that is being read.
    pub fn new(path: PathBuf) -> Self {
        Self { path: std::path::absolute(&path).unwrap_or(path), error: None }
    }

    /// Returns the name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| self.path.display().to_string(), |n| n.to_string_lossy().into_owned())
    }
}
