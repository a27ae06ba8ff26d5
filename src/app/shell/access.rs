//! Access to the window for tests and benches: reading its state and acting on it.

use super::App;
use crate::app::document::{command::UiCommand, session::Session, time};

impl App {
    /// The open document and its simulation.
    pub fn session(&self) -> &Session {
        &self.document.session
    }

    /// The time axis shared by all views, and the history of the run.
    pub fn time(&self) -> &time::Time {
        &self.document.time
    }

    /// For tests: edits the document, as a widget would.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.document.session
    }

    /// The profile measured while a Profile view was open.
    pub fn profile(&self) -> &crate::app::document::profile::Profile {
        &self.document.profile
    }

    /// For tests: sets the number of steps that the time axis shows.
    pub fn zoom_time(&mut self, steps: f64) {
        self.document.time.axis.line = time::Timeline::across(steps);
    }

    /// Names of the workspaces, in the order of their tabs.
    pub fn workspaces(&self) -> impl Iterator<Item = &str> {
        self.workspace.titles()
    }

    /// For tests: executes a command, as a menu would.
    pub fn command(&mut self, ctx: &egui::Context, command: UiCommand) {
        self.handle_command(ctx, command);
    }

    /// The messages on screen.
    pub fn messages(&self) -> Vec<&str> {
        self.messages.toasts.texts().collect()
    }
}
