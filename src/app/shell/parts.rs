//! Parts of the window that actions use.

use super::{
    flow::Flow, host::Host, messages::Messages, overlays::Overlays, panels::state::Panels, workspace::Workspaces,
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
