//! Parts of the window that its layout and its actions use.

use super::{
    commands::CommandState, flow::Flow, host::Host, keymap::Keymap, messages::Messages, overlays::Overlays,
    panels::state::Panels, workspace::Workspaces,
};
use crate::app::document::open_document::Document;

/// All parts except the preferences, which no action on a document, a run or a file changes.
pub struct ActionParts<'a> {
    pub document: &'a mut Document,
    pub workspace: &'a mut Workspaces,
    pub panels: &'a mut Panels,
    pub overlays: &'a mut Overlays,
    pub messages: &'a mut Messages,
    pub flow: &'a mut Flow,
    pub host: &'a mut Host,
}

impl ActionParts<'_> {
    /// Returns the state that labels and availability of commands depend on.
    pub fn command_state<'a>(&'a self, keymap: &'a Keymap) -> CommandState<'a> {
        let Self { document, workspace, panels, flow, host, .. } = self;
        let params = document.session.project.model.params();
        panels.around(params, workspace, flow, &host.recent, keymap).with(document)
    }
}
