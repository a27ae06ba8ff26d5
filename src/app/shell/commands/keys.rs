//! The command of the keys pressed in a frame.

use super::{CommandState, row::YieldsTo, table};
use crate::app::document::command::UiCommand;
use egui::{Event, InputState, Key, KeyboardShortcut, Modifiers};
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
    ctx.input_mut(|input| fixed(input, &focus).or_else(|| assigned(input, state, &focus)))
}

/// Returns the command whose fixed keys were pressed. They yield to text fields only.
fn fixed(input: &mut InputState, focus: &Focus) -> Option<UiCommand> {
    let mut all: Vec<_> = table::rows().filter_map(|(_, row)| Some((row.fixed_keys?, row))).collect();
    all.sort_by_key(|(keys, _)| Reverse(n_extra(*keys)));
    let found = all.into_iter().find(|(keys, row)| {
        let leave = focus.typing && (is_plain(*keys) || row.yields_to == YieldsTo::TextFields);
        !leave && input.consume_shortcut(keys)
    });
    found.map(|(_, row)| row.command.clone())
}

/// Returns the command whose default or changed shortcut was pressed.
fn assigned(input: &mut InputState, state: &CommandState<'_>, focus: &Focus) -> Option<UiCommand> {
    if focus.is_modal {
        return None;
    }
    let keys = |command: UiCommand| Some((state.around.keymap.of(&command)?, command));
    let mut all: Vec<_> = UiCommand::all(state).into_iter().filter_map(keys).collect();
    all.sort_by_key(|(keys, _)| Reverse(n_extra(*keys)));
    let found = all.into_iter().find(|(keys, command)| {
        let leave = (focus.typing && is_plain(*keys)) || focus.handles_keys(table::find(command).1.yields_to);
        !leave && input.consume_shortcut(&any_layout(*keys))
    });
    found.map(|(_, command)| command)
}

impl Focus {
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

/// Number of modifiers besides Ctrl. Shortcuts with more are tested first, because Ctrl+Z also matches Ctrl+Shift+Z.
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
