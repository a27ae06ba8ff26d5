//! [`App`] holds the window in its parts. Each part is declared beside what it owns; this file knows none of the panels
//! and actions that work on them.

use super::{
    commands::{Around, CommandState},
    flow::Flow,
    host::Host,
    messages::Messages,
    overlays::Overlays,
    panels::{
        problems::{Problem, problems},
        state::Panels,
    },
    parts::ActionParts,
    preferences::Preferences,
    workspace::Workspaces,
};
use crate::app::document::{open_document::Document, profile::Profile, session::Session, time};

/// The program's window, in its parts.
pub struct App {
    pub(crate) document: Document,
    pub(crate) workspace: Workspaces,
    pub(crate) panels: Panels,
    pub(crate) overlays: Overlays,
    pub(crate) messages: Messages,
    pub(crate) preferences: Preferences,
    pub(crate) flow: Flow,
    pub(crate) host: Host,
}

impl App {
    /// Everything that commands depend on.
    pub fn command_state(&self) -> CommandState<'_> {
        let Self { document, workspace, panels, preferences, flow, host, .. } = self;
        let around = Around {
            workspace,
            recent: &host.recent,
            keymap: &preferences.keymap,
            flow,
            pacing: panels.pacing,
            has_item: panels.has_item(document.session.project.model.params()),
        };
        around.with(document)
    }

    /// The parts that actions on documents, runs and files work on.
    pub(crate) fn parts(&mut self) -> ActionParts<'_> {
        let Self { document, workspace, overlays, messages, flow, host, .. } = self;
        ActionParts { document, workspace, overlays, messages, flow, host }
    }

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
    pub fn profile(&self) -> &Profile {
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

    /// The messages on screen.
    pub fn messages(&self) -> Vec<&str> {
        self.messages.toasts.texts().collect()
    }

    /// Current problems of the open document.
    pub fn problems(&self) -> Vec<Problem> {
        problems(&self.document, &self.flow, &self.host.devices, &self.messages.toasts)
    }
}
