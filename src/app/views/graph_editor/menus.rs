//! Context menus of the editor.

use crate::app::{
    document::{
        command::UiCommand,
        graph::{Graph, edit::GraphEdit},
    },
    kit::icons,
    views::{ViewCtx, ViewRequest},
};
use egui::{Button, Ui};

/// Draws an entry. Returns whether it was chosen.
fn entry_ui(ui: &mut Ui, ctx: &ViewCtx<'_>, icon: &str, text: impl Into<String>, keys: &str) -> bool {
    let button = Button::new((icons::rich(icon).size(13.0), text.into())).shortcut_text(keys);
    let is_chosen = ui.add_enabled(!ctx.graph.is_read_only, button).clicked();
    if is_chosen {
        ui.close();
    }
    is_chosen
}

/// Draws the menu of the background.
pub fn background_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph) {
    ui.set_min_width(170.0);
    if entry_ui(ui, ctx, icons::PLUS, format!("Add {}", graph.nouns[0]), "") {
        ctx.requests.push(ViewRequest::Command(UiCommand::AddNode));
    }
}

/// Draws the actions on the selected item, which a right-click has selected.
pub fn item_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, is_named: bool) {
    ui.set_min_width(170.0);
    let entries = [
        (UiCommand::Rename, icons::PENCIL, "Rename", "F2"),
        (UiCommand::Duplicate, icons::COPY, "Duplicate", "Ctrl+D"),
        (UiCommand::Delete, icons::TRASH, "Delete", "Delete"),
    ];
    for (command, icon, text, keys) in entries {
        if (is_named || command != UiCommand::Rename) && entry_ui(ui, ctx, icon, text, keys) {
            ctx.requests.push(ViewRequest::Command(command));
        }
    }
}

/// Draws the actions on a node.
pub fn node_menu_ui(ui: &mut Ui, ctx: &mut ViewCtx<'_>, graph: &Graph, node: usize) {
    item_menu_ui(ui, ctx, true);
    ui.separator();
    for (list, noun) in &graph.attachable {
        if entry_ui(ui, ctx, icons::LIGHTNING, format!("Add {noun}"), "") {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Attach { list: *list, node }));
        }
    }
    for (inhibits, word) in [(false, "excitatory"), (true, "inhibitory")] {
        if entry_ui(ui, ctx, icons::LOOP, format!("Connect to itself, {word}"), "") {
            ctx.requests.push(ViewRequest::Graph(GraphEdit::Connect { from: node, to: node, inhibits }));
        }
    }
}
