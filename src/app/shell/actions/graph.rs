//! Edits of the graph that the document describes. Each is one undo step.

use crate::app::{
    document::{
        graph::{self, edit::GraphEdit},
        items::Item,
        open_document::Document,
    },
    kit::level::Level,
    shell::{messages::Messages, panels::state::Panels, workspace::Workspaces},
};

/// Applies an edit that a view requested, and selects the item.
pub fn edit(
    document: &mut Document,
    workspace: &mut Workspaces,
    panels: &mut Panels,
    messages: &mut Messages,
    edit: &GraphEdit,
) {
    if let GraphEdit::Select(item) = edit {
        return select(document, panels, *item);
    }
    if workspace.graph.is_read_only {
        return messages.notify(Level::Info, "A finished run is read-only. Rerun it to change it");
    }
    let project = &mut document.session.project;
    let Some((item, label)) = edit.apply(project.model.params_mut()) else { return };
    document.session.history.commit_as(project, &label);
    workspace.graph.update(&project.model);
    place(workspace, edit, item);
    select(document, panels, Some(item));
}

/// Returns the edit that adds a node, or an item of the first list whose items belong to nodes to the selected node; `None` if
/// there is no such list or node.
pub fn addition(workspace: &Workspaces, is_attached: bool) -> Option<GraphEdit> {
    let (graph, selected) = (workspace.graph.graph.as_ref()?, workspace.graph.selected);
    if !is_attached {
        return Some(GraphEdit::AddNode(None));
    }
    let (_, node) = selected.filter(|(list, _)| *list == graph.lists.nodes)?;
    let (list, _) = graph.attachable.first()?;
    Some(GraphEdit::Attach { list: *list, node })
}

/// Stores the position of a new node.
fn place(workspace: &mut Workspaces, edit: &GraphEdit, (_, item): Item) {
    let GraphEdit::AddNode(Some(place)) = edit else { return };
    let node = workspace.graph.graph.as_ref().and_then(|graph| graph.nodes.get(item));
    if let Some(name) = node.map(|node| node.name.clone()) {
        workspace.graph.places.set(&name, *place);
    }
}

/// Selects an item in the project tree and shows it in the inspector.
fn select(document: &Document, panels: &mut Panels, item: Option<Item>) {
    panels.sets.forget();
    panels.tree.select(item);
    if let Some((group, item)) = item {
        panels.inspector.show_item(document.session.project.model.params(), (group, item));
    }
}

/// Updates all references to a node that was renamed since the last undo step, and its position. Called before the step is
/// committed, so that both are one step.
pub fn follow_names(document: &mut Document, workspace: &mut Workspaces) {
    let session = &mut document.session;
    let before = session.history.committed().clone();
    if session.live.playback.is_none()
        && let Some((old, new)) = graph::rename::follow(&mut session.project, &before)
    {
        workspace.graph.places.follow(&old, &new);
        session.project.follow_links();
        session.history.commit_as(&session.project, &format!("rename “{old}” to “{new}”"));
    }
}
