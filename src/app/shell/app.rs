//! The window's state, [`App`], in its parts. Each part is declared beside the data that it contains. Panels and actions take the
//! parts that they use, and do not name `App`.

use super::{
    commands::CommandState,
    flow::Flow,
    frame_times::Part,
    host::Host,
    initial,
    messages::Messages,
    overlays::Overlays,
    panels::{
        problems::{Problem, problems},
        state::Panels,
    },
    parts::ActionParts,
    preferences::Preferences,
    start::Start,
    workspace::Workspaces,
};
use crate::app::{
    document::{open_document::Document, profile::Profile, session::Session, time},
    host::device::Devices,
};
use std::sync::Arc;

/// State of the program's window.
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

/// Creates the window's content and starts its threads. Fails if a thread cannot be started.
pub fn create(cc: &eframe::CreationContext<'_>, mut start: Start) -> Result<App, String> {
    initial::set_up(&cc.egui_ctx);
    let devices = Arc::new(Devices::default());
    let mut app = App {
        preferences: initial::preferences(&cc.egui_ctx, &start),
        workspace: initial::workspaces(&start),
        flow: initial::flow(&start),
        document: initial::document(cc, &mut start, &devices)?,
        host: initial::host(cc, &start, devices)?,
        panels: Panels::default(),
        overlays: Overlays::default(),
        messages: Messages::default(),
    };
    let (mut parts, preferences) = app.parts();
    initial::begin(&mut parts, start, preferences.settings.unrecorded_bytes())?;
    Ok(app)
}

impl App {
    /// Returns the parts that the layout and actions use, and the preferences.
    pub(crate) fn parts(&mut self) -> (ActionParts<'_>, &mut Preferences) {
        let Self { document, workspace, panels, overlays, messages, preferences, flow, host } = self;
        (ActionParts { document, workspace, panels, overlays, messages, flow, host }, preferences)
    }

    /// Returns the state that labels and availability of commands depend on; only tests use it.
    pub fn command_state(&self) -> CommandState<'_> {
        let Self { document, workspace, panels, preferences, flow, host, .. } = self;
        let params = document.session.project.model.params();
        panels.around(params, workspace, flow, &host.recent, &preferences.keymap).with(document)
    }

    /// Returns the open document with its simulation.
    pub fn session(&self) -> &Session {
        &self.document.session
    }

    /// Returns the time axis that all views share, and the history of the run.
    pub fn time(&self) -> &time::Time {
        &self.document.time
    }

    /// Returns the open document for edits; only tests use it.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.document.session
    }

    /// Returns the profile that was measured while a Profile view was open.
    pub fn profile(&self) -> &Profile {
        &self.document.profile
    }

    /// Returns the name of each part of the window, with median and 99th percentile of its layout time, ms.
    pub fn panels_ms(&self) -> Vec<(&'static str, [f32; 2])> {
        let parts = Part::ALL.into_iter();
        parts
            .filter_map(|part| {
                self.host.frames.part(part).quantiles().map(|[median, _, p99, _]| (part.name(), [median, p99]))
            })
            .collect()
    }

    /// Sets the number of steps that the time axis shows; only tests use it.
    pub fn zoom_time(&mut self, steps: f64) {
        self.document.time.axis.line = time::Timeline::across(steps);
    }

    /// Iterates over the names of the workspaces, in the order of their tabs.
    pub fn workspaces(&self) -> impl Iterator<Item = &str> {
        self.workspace.titles()
    }

    /// Texts of the messages on screen.
    pub fn messages(&self) -> Vec<&str> {
        self.messages.toasts.texts().collect()
    }

    /// Returns the current problems of the open document.
    pub fn problems(&self) -> Vec<Problem> {
        problems(&self.document, &self.flow, &self.host.devices, &self.messages.toasts)
    }
}
