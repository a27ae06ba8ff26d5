//! Rows of the menu *Edit*.

use crate::{
    app::{
        document::{
            command::UiCommand as C,
            graph::Graph,
            interventions::{self, Intervention},
        },
        kit::icons,
        shell::commands::{
            CommandState,
            requirements::{open_project, selection, unless, writable},
            row::{CTRL, NONE, Row, SHIFT_CTRL, YieldsTo},
        },
    },
    sim::{ProbeSpec, Shape},
};
use egui::Key;

const TRAVELS: &str = "Also applies to the running simulation";
const ITEM: &str = "The selected item of the project tree";

pub const ROWS: &[Row] = &[
    Row::new(C::Undo, "Undo", TRAVELS, icons::UNDO)
        .keys(CTRL, Key::Z)
        .yields_to(YieldsTo::TextFields)
        .needs(&[open_project, past_edit]),
    Row::new(C::Redo, "Redo", TRAVELS, icons::REDO)
        .keys(SHIFT_CTRL, Key::Z)
        .fixed_keys(CTRL, Key::Y)
        .yields_to(YieldsTo::TextFields)
        .needs(&[open_project, undone_edit]),
    Row::new(
        C::ResetParameters,
        "Reset all parameters",
        "Sets all parameters to their defaults; lists stay",
        icons::SLIDERS,
    )
    .after_separator()
    .needs(&[open_project, writable]),
    Row::new(
        C::UseShape,
        "Use shape of the weights file",
        "Sets layers, heads, width, context and tokenizer to those of the file of initial weights",
        icons::SLIDERS,
    )
    .only_in_palette()
    .needs(&[open_project, writable, weights]),
    Row::new(C::Stimulate, "Stimulate selection", "Adds a stimulus on the selection", icons::LIGHTNING)
        .keys(NONE, Key::S)
        .after_separator()
        .needs(&[writable, stimulus, selection, target]),
    Row::new(C::Silence, "Silence selection", "Silences the selection", icons::SCISSORS)
        .keys(NONE, Key::X)
        .needs(&[writable, silencing, selection, target]),
    Row::new(
        C::Probe,
        "Probe selection",
        "Saves the selection as a group, shows its traces and records them",
        icons::CROSSHAIR,
    )
    .keys(NONE, Key::P)
    .needs(&[selection, traces]),
    Row::new(
        C::SaveSelection,
        "Save selection as group",
        "Saves the selection as a named group of the project",
        icons::SELECTION,
    )
    .needs(&[writable, selection]),
    Row::new(C::SelectNone, "Clear selection", "Clears the selection in all views", icons::SELECTION)
        .keys(NONE, Key::Escape)
        .yields_to(YieldsTo::Menus),
    Row::labelled_by(C::AddNode, node_text, "Adds it to the network; arrows and inputs connect it", icons::PLUS)
        .after_separator()
        .each(|state| graph(state).map(|_| C::AddNode).into_iter().collect())
        .needs(&[writable]),
    Row::labelled_by(C::AddToNode, attached_text, "Adds it to the selected circle of the network", icons::LIGHTNING)
        .each(|state| graph(state).filter(|g| !g.attachable.is_empty()).map(|_| C::AddToNode).into_iter().collect())
        .needs(&[writable, node]),
    Row::new(C::Rename, "Rename", ITEM, icons::PENCIL)
        .keys(NONE, Key::F2)
        .yields_to(YieldsTo::Lists)
        .after_separator()
        .needs(&[writable, item]),
    Row::new(C::Duplicate, "Duplicate", ITEM, icons::COPY)
        .keys(CTRL, Key::D)
        .yields_to(YieldsTo::Lists)
        .needs(&[writable, item]),
    Row::new(C::Delete, "Delete", "Deletes the selected item of the project tree; undo restores it", icons::TRASH)
        .keys(NONE, Key::Delete)
        .yields_to(YieldsTo::Lists)
        .needs(&[writable, item]),
];

fn graph<'a>(state: &CommandState<'a>) -> Option<&'a Graph> {
    state.around.workspace.graph.graph.as_deref()
}

fn node_text(_: &C, state: &CommandState<'_>) -> String {
    format!("Add {}", graph(state).map_or("node", |graph| &graph.nouns[0]))
}

fn attached_text(_: &C, state: &CommandState<'_>) -> String {
    let noun = graph(state).and_then(|graph| graph.attachable.first());
    format!("Add {}", noun.map_or("input", |(_, noun)| noun))
}

/// Requires a selected node of the graph.
fn node(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let selected = state.around.workspace.graph.selected;
    let is_node = graph(state).zip(selected).is_some_and(|(graph, (list, _))| list == graph.lists.nodes);
    unless(is_node, "Select a circle of the network first")
}

fn past_edit(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let history = &state.document.session.history;
    unless(history.counts().0 > 0 || history.labels().0.is_some(), "Nothing to undo")
}

fn undone_edit(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.history.counts().1 > 0, "Nothing to redo")
}

fn weights(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.document.session.project.shape_file().is_some(), "The project names no file of weights")
}

fn stimulus(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    effect(state, Intervention::Stimulate)
}

fn silencing(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    effect(state, Intervention::Silence)
}

/// Requires that the kind has an effect for the intervention.
fn effect(state: &CommandState<'_>, intervention: Intervention) -> Option<&'static str> {
    let params = state.document.session.project.model.params();
    unless(interventions::can(params, intervention), "This model has no such intervention")
}

fn target(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let session = &state.document.session;
    let can_target = interventions::can_target(&session.live.schema, &session.selection);
    unless(can_target, "Interventions do not act on this selection")
}

fn traces(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    let session = &state.document.session;
    let of_set = |probe: &ProbeSpec| probe.shape == Shape::Series { of: session.selection.set };
    unless(session.live.schema.probes.iter().any(of_set), "No traces are available for this selection")
}

fn item(_: &C, state: &CommandState<'_>) -> Option<&'static str> {
    unless(state.around.has_item, "No item is selected in the project tree")
}
