//! Requests of panels, pages and dialogs to the window. They are executed after drawing.

use crate::{
    app::{
        document::command::{Intent, UiCommand},
        kit::level::Level,
        views::ViewRequest,
    },
    params::{Change, ParamId},
    sim::{ProbeId, RequestSpec},
};
use std::path::PathBuf;

/// Request that is not a command, because it has no label, no shortcut and no menu entry.
pub enum ShellRequest {
    /// Shows a message.
    Notify(Level, String),
    /// Handles a request of a view.
    View(ViewRequest),
    /// Runs an intent, or asks first if work would be lost.
    Intent(Intent),
    /// Shows the parameters that match a text in the inspector.
    FindParameter(String),
    /// Shows a group of parameters in the inspector.
    ShowGroup(&'static str),
    /// Shows a probe in the view of its shape.
    ShowProbe(ProbeId),
    /// Shows a set in the table.
    ShowSet(&'static str),
    /// Sets a parameter.
    Set(Change),
    /// Asks for the file of a path parameter.
    Browse(ParamId),
    /// Asks for a connection list to import.
    BrowseImport,
    /// Asks for the values of a parameter that an experiment varies.
    Vary(ParamId),
    /// Selects elements of a set, and frames them in the spatial views.
    Select(&'static str, Vec<u32>),
    /// Selects the elements of a named selection.
    SelectNamed(String),
    /// Searches elements for the palette.
    SearchElements(String),
    /// Finds the path between two elements of a set.
    Path(&'static str, (u32, u32)),
    /// Opens the window of requests with this one selected.
    Requests(&'static RequestSpec),
    /// Opens the settings with a filter text.
    Settings(String),
    /// Shows a run in the Runs panel.
    ShowRun(PathBuf),
    /// Reads the file given at start again.
    RetryOpening,
    /// Removes a project from the list of recent ones.
    ForgetRecent(PathBuf),
}

/// Commands and requests of a frame, in order.
#[derive(Default)]
pub struct Queue {
    pub commands: Vec<UiCommand>,
    pub requests: Vec<ShellRequest>,
}

impl Queue {
    /// Requests a command.
    pub fn push(&mut self, command: UiCommand) {
        self.commands.push(command);
    }

    /// Requests several commands.
    pub fn extend(&mut self, commands: impl IntoIterator<Item = UiCommand>) {
        self.commands.extend(commands);
    }

    /// Adds a request that is not a command.
    pub fn ask(&mut self, request: ShellRequest) {
        self.requests.push(request);
    }
}
