//! Context menus of the editor.

use super::section::Section;
use crate::app::{
    document::{
        command::UiCommand,
        graph::{Graph, edit::GraphEdit},
    },
    kit::icons,
    views::{ViewCtx, ViewRequest},
};
use egui::{Button, Rect, Ui};

/// Draws an entry. Returns whether it was chosen.
fn entry_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, icon: &str, text: impl Into<String>, keys: String) -> bool {
    let button = Button::new((icons::rich(icon).size(13.0), text.into())).shortcut_text(keys);
    let is_chosen = ui.add_enabled(!ctx.graph.is_read_only, button).clicked();
    if is_chosen {
        ui.close();
    }
    is_chosen
}

/// Draws the menu of the background. It also changes the section that the canvas shows.
pub fn background_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, (section, canvas): (&mut Section, Rect)) {
    ui.set_min_width(170.0);
    let keys = (ctx.keys)(&UiCommand::AddNode);
    if entry_ui(ui, ctx, icons::PLUS, format!("Add {}", graph.nouns[0]), keys) {
        ctx.requests.push(ViewRequest::Command(UiCommand::AddNode));
    }
    ui.separator();
    for (text, shows_more) in [("Enlarge", false), ("Show more", true)] {
        if ui.add_enabled(!shows_more || !section.is_whole(), Button::new(text)).clicked() {
            section.step(canvas, shows_more);
        }
    }
    if ui.add_enabled(!section.is_whole(), Button::new("Show all")).clicked() {
        *section = Section::default();
        ui.close();
    }
}

/// Draws the actions on the selected item, which a right-click has selected.
pub fn item_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, is_named: bool) {
    ui.set_min_width(170.0);
    let entries = [
        (UiCommand::Rename, icons::PENCIL, "Rename"),
        (UiCommand::Duplicate, icons::COPY, "Duplicate"),
        (UiCommand::Delete, icons::TRASH, "Delete"),
    ];
    for (command, icon, text) in entries {
        let keys = (ctx.keys)(&command);
        if (is_named || command != UiCommand::Rename) && entry_ui(ui, ctx, icon, text, keys) {
            ctx.requests.push(ViewRequest::Command(command));
        }
    }
}

/// Draws the actions on an edge, which a right-click has selected.
pub fn edge_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, edge: usize) {
    if graph.lists.weight.is_some() {
        let word = if graph.edges[edge].weight < 0.0 { "excitatory" } else { "inhibitory" };
        if entry_ui(ui, ctx, icons::LOOP, format!("Make {word}"), String::new()) {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Negate(edge)));
        }
    }
    item_menu_ui(ui, ctx, false);
}

/// Draws the actions on a node.
pub fn node_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, node: usize) {
    item_menu_ui(ui, ctx, true);
    ui.separator();
    for (list, noun) in &graph.attachable {
        if entry_ui(ui, ctx, icons::LIGHTNING, format!("Add {noun}"), String::new()) {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Attach { list: *list, node }));
        }
    }
    for (inhibits, word) in [(false, "excitatory"), (true, "inhibitory")] {
        if entry_ui(ui, ctx, icons::LOOP, format!("Connect to itself, {word}"), String::new()) {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Connect { from: node, to: node, inhibits }));
        }
    }
}
