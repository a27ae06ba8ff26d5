//! Drawing of commands as menu entries and buttons.

use super::CommandState;
use crate::app::{
    document::command::UiCommand,
    kit::{icons, widgets},
    shell::{keymap, queue::Queue},
};
use egui::{Button, RichText, Ui};

/// Draws menu entries with their shortcuts. A click queues the command.
pub fn entries_ui(ui: &mut Ui, state: &CommandState<'_>, entries: &[UiCommand], queue: &mut Queue) {
    for (i, command) in entries.iter().enumerate() {
        if command.follows_separator() && i > 0 {
            ui.separator();
        }
        let why_not = command.why_not(state);
        let mut button = Button::new((icons::rich(command.icon()).size(13.0), command.text(state)));
        if let Some(shortcut) = state.around.keymap.of(command) {
            button = button.shortcut_text(RichText::new(keymap::shortcut_text(ui.ctx(), &shortcut)).small());
        }
        let response = ui.add_enabled(why_not.is_none(), button).accessible_name(command.text(state));
        let response = response.on_hover_text(command.tooltip()).on_disabled_hover_text(why_not.unwrap_or_default());
        if response.clicked() {
            queue.push(command.clone());
            ui.close();
        }
    }
}

/// Draws a button that queues a command, disabled if the command is not available.
pub fn button_ui(ui: &mut Ui, state: &CommandState<'_>, command: UiCommand, queue: &mut Queue) {
    let why_not = command.why_not(state);
    let name = command.text(state);
    let response = ui.add_enabled_ui(why_not.is_none(), |ui| widgets::icon_button(ui, command.icon(), &name)).inner;
    if response.on_disabled_hover_text(why_not.unwrap_or_default()).clicked() {
        queue.push(command);
    }
}
