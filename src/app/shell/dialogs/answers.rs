//! What dialogs ask for and what they answer.

use crate::{
    app::{
        document::{command::Intent, sweep::values::SweptValues},
        shell::figure::FigureHandle,
    },
    sim::TimeBase,
};
use std::{path::PathBuf, sync::Arc};

/// The answer of a dialog.
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
    Sweep(SweptValues),
}

/// Purpose of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To open a project.
    Open,
    /// To save the project.
    SaveAs,
    /// To set a parameter to the path.
    Parameter(crate::params::ParamId),
    /// A connection list to import.
    Import,
    /// To write a text: a proposed name and the text.
    SaveText(String, Arc<str>),
    /// To write a picture of a panel.
    Figure(FigureHandle),
}

/// A run that a crashed window did not record.
pub struct LeftRun {
    /// The safety recording.
    pub folder: PathBuf,
    /// Name of the project.
    pub name: String,
    /// The folder of the project's runs.
    pub runs: PathBuf,
    /// First and last step.
    pub steps: (u64, u64),
    /// Time base of a step.
    pub base: TimeBase,
    /// Step of the saved state, if there is one.
    pub state_step: Option<u64>,
}
