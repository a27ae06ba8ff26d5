//! The state that commands depend on: which of them there are, their labels, and whether they can run.

use crate::app::{
    document::open_document::Document,
    host::recent::Recent,
    shell::{flow::Flow, keymap::Keymap, pacing::Pacing, workspace::Workspaces},
};

/// The window around the document, as far as commands depend on it.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub workspace: &'a Workspaces,
    /// Projects opened last.
    pub recent: &'a Recent,
    pub keymap: &'a Keymap,
    pub flow: &'a Flow,
    pub pacing: Pacing,
    /// Whether an item of the project tree is selected.
    pub has_item: bool,
}

impl<'a> Around<'a> {
    /// The state with a document. Panels that edit the document borrow it for one call.
    pub const fn with(self, document: &'a Document) -> CommandState<'a> {
        CommandState { document, around: self }
    }
}

/// Everything that commands depend on.
#[derive(Clone, Copy)]
pub struct CommandState<'a> {
    pub document: &'a Document,
    pub around: Around<'a>,
}
