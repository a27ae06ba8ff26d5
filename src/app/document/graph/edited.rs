//! Graph of the open document as views show it.

use super::{Graph, places::Places};
use crate::{app::document::items::Item, kinds::Model};
use std::sync::Arc;

/// Graph of the open document, the selected item, and the positions of the nodes, which are not part of the document.
#[derive(Default)]
pub struct EditedGraph {
    /// The graph; `None` if the document describes none.
    pub graph: Option<Arc<Graph>>,
    /// Positions of the nodes.
    pub places: Places,
    /// Selected item of a list; `None` if no item is selected.
    pub selected: Option<Item>,
    /// Whether the document is a finished run, which cannot be edited.
    pub is_read_only: bool,
    /// Model from which the graph was read.
    read_from: Option<Model>,
}

impl EditedGraph {
    /// Reads the graph again if the model has changed.
    pub fn update(&mut self, model: &Model) {
        if self.read_from.as_ref() != Some(model) {
            self.graph = Graph::of(model).map(Arc::new);
            self.read_from = Some(model.clone());
        }
    }
}
