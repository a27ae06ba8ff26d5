//! Actions that wait for something: a file that is read or saved, a run that is kept or resumed.

use crate::{app::document::command::Intent, project::VerifiedRun};
use std::path::PathBuf;

/// What the window waits for, and what follows.
#[derive(Default)]
pub struct Flow {
    /// The action that follows a save.
    pub after_save: Option<Intent>,
    /// A run that is being kept.
    pub keeping: Option<Keeping>,
    /// A run that is resumed, until its simulation is loaded.
    pub resuming: Option<Resuming>,
    /// The file given at start, until a document is open.
    pub opening: Option<Opening>,
    /// Whether the window closes without another question.
    pub may_close: bool,
}

impl Flow {
    /// Why nothing can be run now.
    pub fn not_ready(&self) -> Option<&'static str> {
        match (&self.opening, &self.resuming) {
            (Some(_), _) => Some("No project is open"),
            (_, Some(_)) => Some("The run is being prepared"),
            _ => None,
        }
    }
}

/// A run that is being kept, and what follows.
pub struct Keeping {
    /// The action that waits for it.
    pub then: Option<Intent>,
}

/// The stage of a run that is being continued.
pub enum Resuming {
    /// The simulation of the run is built next.
    Building(Box<VerifiedRun>),
    /// The recording is being prepared.
    Preparing,
}

/// A file given at start that is not open yet.
pub struct Opening {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Why it could not be opened.
    pub error: Option<String>,
}

impl Opening {
    /// A file that is being read.
    pub fn new(path: PathBuf) -> Self {
        Self { path: std::path::absolute(&path).unwrap_or(path), error: None }
    }

    /// Name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().map_or_else(|| self.path.display().to_string(), |n| n.to_string_lossy().into_owned())
    }
}
