//! Answers of dialogs, purposes of file dialogs, and the unrecorded run that a dialog offers to keep.

use crate::{
    app::{document::command::Intent, shell::figure::FigureHandle},
    export::About,
    project::experiment::Experiment,
    sim::TimeBase,
};
use std::{path::PathBuf, sync::Arc};

/// Answer of a dialog.
pub enum Answer {
    Restore,
    Both,
    Forget,
    Reload,
    KeepReport,
    Cancel,
    Save(Intent),
    Discard(Intent),
    KeepRun(Intent),
    DiscardRun(Intent),
    Path(Purpose, PathBuf),
    Layout(String, bool),
    /// Replaces the experiment of the document, and starts it.
    RunVaried(Experiment),
    /// Adds the conditions to the experiment of the document.
    AddVaried(Experiment),
    /// Exports the run in a folder as NWB with this subject and session.
    ExportNwb(PathBuf, About),
    /// Renames the run in a folder.
    RenameRun(PathBuf, String),
    /// Deletes the runs in these folders.
    DeleteRuns(Vec<PathBuf>),
}

/// Purpose of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Opens a project.
    Open,
    /// Saves the project to a new file.
    SaveAs,
    /// Sets a parameter to the chosen path.
    Parameter(crate::params::ParamId),
    /// Imports a connection list.
    Import,
    /// Writes a text to a file; the fields are the proposed name and the text.
    SaveText(String, Arc<str>),
    /// Writes the figure of a panel.
    Figure(FigureHandle),
}

/// Run that a crashed window did not record.
pub struct LeftRun {
    /// Folder of the safety recording.
    pub folder: PathBuf,
    /// Name of the project.
    pub name: String,
    /// Folder of the project's runs.
    pub runs: PathBuf,
    /// First and last step of the run.
    pub steps: (u64, u64),
    /// Time base of the run.
    pub base: TimeBase,
    /// Step of the saved state; `None` if no state was saved.
    pub state_step: Option<u64>,
}
