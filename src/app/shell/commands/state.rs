//! State that determines which commands there are, their labels, and whether they are available.

use crate::app::{
    document::open_document::Document,
    host::recent::Recent,
    shell::{flow::Flow, keymap::Keymap, pacing::Pacing, workspace::Workspaces},
};

/// State of the window, except the document, that commands depend on.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub workspace: &'a Workspaces,
    /// Most recently opened projects.
    pub recent: &'a Recent,
    pub keymap: &'a Keymap,
    pub flow: &'a Flow,
    pub pacing: Pacing,
    /// Whether an item of the project tree is selected.
    pub has_item: bool,
}

impl<'a> Around<'a> {
    /// Combines the state with a document. Panels that edit the document borrow it only for this call.
    pub const fn with(self, document: &'a Document) -> CommandState<'a> {
        CommandState { document, around: self }
    }
}

/// State that commands depend on.
#[derive(Clone, Copy)]
pub struct CommandState<'a> {
    pub document: &'a Document,
    pub around: Around<'a>,
}
