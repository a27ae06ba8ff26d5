//! Parts of the window that actions on documents, runs and files use.

use super::{flow::Flow, host::Host, messages::Messages, overlays::Overlays, workspace::Workspaces};
use crate::app::document::open_document::Document;

/// All parts except panels and preferences, which adapt to a new document when they are drawn.
pub struct ActionParts<'a> {
    pub document: &'a mut Document,
    pub workspace: &'a mut Workspaces,
    pub overlays: &'a mut Overlays,
    pub messages: &'a mut Messages,
    pub flow: &'a mut Flow,
    pub host: &'a mut Host,
}
