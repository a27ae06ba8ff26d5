//! The command of the keys pressed in a frame.

use super::{
    CommandState,
    row::{Row, YieldsTo},
    table,
};
use crate::app::document::command::UiCommand;
use egui::{Event, Key, KeyboardShortcut, Modifiers};
use std::cmp::Reverse;

/// State that determines which keys are left to widgets.
struct Focus {
    /// Whether a text field has the focus, or a dialog is open.
    typing: bool,
    is_modal: bool,
    menu_is_open: bool,
    /// Whether any widget has the focus.
    has_focus: bool,
    /// Whether an item of the project tree is selected.
    has_item: bool,
}

/// Returns the command whose shortcut was pressed in this frame; `None` without one. Keys without Ctrl or Alt are left to a
/// focused text field.
pub fn pressed(ctx: &egui::Context, state: &CommandState<'_>, is_modal: bool) -> Option<UiCommand> {
    // Without a pressed key the list of commands need not be built.
    if !ctx.input(|i| i.events.iter().any(|event| matches!(event, Event::Key { pressed: true, .. }))) {
        return None;
    }
    let focus = Focus {
        typing: ctx.text_edit_focused() || is_modal,
        is_modal,
        menu_is_open: egui::Popup::is_any_open(ctx),
        has_focus: ctx.memory(|m| m.focused().is_some()),
        has_item: state.around.has_item,
    };
    let all = all_keys(state);
    ctx.input_mut(|input| {
        let found = all.iter().find(|keys| !focus.takes(keys) && input.consume_shortcut(&any_layout(keys.keys)));
        found.map(|keys| keys.command.clone())
    })
}

/// Keys of a command.
struct CommandKeys {
    keys: KeyboardShortcut,
    command: UiCommand,
    /// Whether the user cannot change the keys.
    is_fixed: bool,
}

/// Returns all keys of commands in the order in which they are tested. Keys with more modifiers come first, because Ctrl+Z also
/// matches Ctrl+Shift+Z; among equal keys, those that the user can change come first.
fn all_keys(state: &CommandState<'_>) -> Vec<CommandKeys> {
    let changeable = |command: UiCommand| Some((state.around.keymap.of(&command)?, command, false));
    let fixed = |row: &'static Row| Some((row.fixed_keys?, row.command.clone(), true));
    let all = UiCommand::all(state).into_iter().filter_map(changeable);
    let all = all.chain(table::rows().filter_map(|(_, row)| fixed(row)));
    let mut all: Vec<_> = all.map(|(keys, command, is_fixed)| CommandKeys { keys, command, is_fixed }).collect();
    all.sort_by_key(|keys| Reverse(n_extra(keys.keys)));
    all
}

impl Focus {
    /// Whether widgets or a dialog handle the keys of a command now. Fixed keys yield to text fields only.
    fn takes(&self, of: &CommandKeys) -> bool {
        let yields_to = table::find(&of.command).1.yields_to;
        let is_typed = self.typing && is_plain(of.keys);
        match of.is_fixed {
            true => is_typed || self.typing && yields_to == YieldsTo::TextFields,
            false => is_typed || self.is_modal || self.handles_keys(yields_to),
        }
    }

    /// Whether widgets handle the keys of a command now.
    const fn handles_keys(&self, yields_to: YieldsTo) -> bool {
        match yields_to {
            YieldsTo::Nothing => false,
            YieldsTo::TextFields => self.typing,
            YieldsTo::FocusedWidgets => self.has_focus,
            YieldsTo::Lists => !self.has_item,
            YieldsTo::Menus => self.menu_is_open,
        }
    }
}

/// Returns the number of modifiers besides Ctrl.
const fn n_extra(keys: KeyboardShortcut) -> u8 {
    keys.modifiers.shift as u8 + keys.modifiers.alt as u8
}

/// Whether a text field handles the keys: those without Ctrl or Alt, except function keys.
const fn is_plain(keys: KeyboardShortcut) -> bool {
    !keys.modifiers.command && !keys.modifiers.alt && !is_function_key(keys.logical_key)
}

/// Removes Shift from the keys of `?`: it depends on the keyboard layout whether that needs Shift.
fn any_layout(keys: KeyboardShortcut) -> KeyboardShortcut {
    match keys.logical_key {
        Key::Questionmark => KeyboardShortcut { modifiers: Modifiers { shift: false, ..keys.modifiers }, ..keys },
        _ => keys,
    }
}

const fn is_function_key(key: Key) -> bool {
    matches!(key, Key::F1 | Key::F2 | Key::F6 | Key::F11 | Key::F12)
}
