//! Keyboard shortcuts of commands, and the command of the keys pressed in a frame.

use crate::app::{
    document::command::UiCommand,
    shell::{commands::CommandState, workspace},
};
use egui::{Event, Key, KeyboardShortcut, Modifiers};

impl UiCommand {
    /// Returns the default shortcut; `None` if the command has none. Shortcuts without Ctrl or Alt are inactive while a text
    /// field has the focus.
    pub const fn shortcut(&self) -> Option<KeyboardShortcut> {
        const CTRL: Modifiers = Modifiers::COMMAND;
        const SHIFT_CTRL: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
        const ALT_CTRL: Modifiers = Modifiers { alt: true, ..Modifiers::COMMAND };
        const NUMBERS: [Key; workspace::WITH_KEYS] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];
        let (modifiers, key) = match self {
            Self::NewLike => (CTRL, Key::N),
            Self::Open => (CTRL, Key::O),
            Self::Save => (CTRL, Key::S),
            Self::SaveAs => (SHIFT_CTRL, Key::S),
            Self::Quit => (CTRL, Key::Q),
            Self::Undo => (CTRL, Key::Z),
            Self::Redo => (SHIFT_CTRL, Key::Z),
            Self::RunPause => (Modifiers::NONE, Key::Space),
            Self::Step => (Modifiers::NONE, Key::Period),
            Self::StepMore => (Modifiers::SHIFT, Key::Period),
            Self::Rewind => (CTRL, Key::Backspace),
            Self::MoveCursor(-1) => (Modifiers::NONE, Key::ArrowLeft),
            Self::MoveCursor(1) => (Modifiers::NONE, Key::ArrowRight),
            Self::MoveCursor(-10) => (Modifiers::SHIFT, Key::ArrowLeft),
            Self::MoveCursor(10) => (Modifiers::SHIFT, Key::ArrowRight),
            Self::GoStart => (Modifiers::NONE, Key::Home),
            Self::GoLive => (Modifiers::NONE, Key::End),
            Self::PlayPast => (Modifiers::SHIFT, Key::Space),
            Self::Rebuild => (CTRL, Key::R),
            Self::Stimulate => (Modifiers::NONE, Key::S),
            Self::Silence => (Modifiers::NONE, Key::X),
            Self::Probe => (Modifiers::NONE, Key::P),
            Self::SelectNone => (Modifiers::NONE, Key::Escape),
            Self::ExportPanel => (CTRL, Key::E),
            Self::FocusSelection => (Modifiers::NONE, Key::F),
            Self::ColorMenu => (Modifiers::NONE, Key::C),
            Self::ToggleRange => (Modifiers::NONE, Key::R),
            Self::Rename => (Modifiers::NONE, Key::F2),
            Self::Delete => (Modifiers::NONE, Key::Delete),
            Self::Workspace(at) if *at < workspace::WITH_KEYS => (CTRL, NUMBERS[*at]),
            Self::Maximise => (Modifiers::SHIFT, Key::F),
            Self::FilterPanel => (CTRL, Key::F),
            Self::NextPanel => (Modifiers::NONE, Key::F6),
            Self::PreviousPanel => (Modifiers::SHIFT, Key::F6),
            Self::UndoLayout => (ALT_CTRL, Key::Z),
            Self::RedoLayout => (ALT_CTRL, Key::Y),
            Self::ToggleTree => (CTRL, Key::B),
            Self::ToggleInspector => (CTRL, Key::I),
            Self::ToggleLog => (CTRL, Key::J),
            Self::ToggleDev => (Modifiers::NONE, Key::F12),
            Self::FullScreen => (Modifiers::NONE, Key::F11),
            Self::ZoomIn => (CTRL, Key::Plus),
            Self::ZoomOut => (CTRL, Key::Minus),
            Self::ZoomReset => (CTRL, Key::Num0),
            Self::Palette => (CTRL, Key::K),
            Self::Help => (Modifiers::SHIFT, Key::Questionmark),
            Self::PanelHelp => (Modifiers::NONE, Key::F1),
            Self::Settings => (CTRL, Key::Comma),
            _ => return None,
        };
        Some(KeyboardShortcut::new(modifiers, key))
    }
}

/// Returns the command whose shortcut was pressed in this frame; `None` without one. Keys without Ctrl or Alt are left to a
/// focused text field.
pub fn pressed(ctx: &egui::Context, state: &CommandState<'_>, is_modal: bool) -> Option<UiCommand> {
    // Without a pressed key the list of commands need not be built.
    if !ctx.input(|i| i.events.iter().any(|event| matches!(event, Event::Key { pressed: true, .. }))) {
        return None;
    }
    let typing = ctx.text_edit_focused() || is_modal;
    let menu_is_open = egui::Popup::is_any_open(ctx);
    // A focused slider or list handles the arrow keys.
    let has_focus = ctx.memory(|m| m.focused().is_some());
    let moves = |c: &UiCommand| matches!(c, UiCommand::MoveCursor(_) | UiCommand::GoStart | UiCommand::GoLive);
    let mut all = UiCommand::all(state);
    // Shortcuts with more modifiers are tested first, because Ctrl+Z also matches Ctrl+Shift+Z.
    let extra = |s: KeyboardShortcut| s.modifiers.shift as u8 + s.modifiers.alt as u8;
    all.sort_by_key(|c| std::cmp::Reverse(state.around.keymap.of(c).map_or(0, extra)));
    ctx.input_mut(|input| {
        if !typing && input.consume_shortcut(&KeyboardShortcut::new(Modifiers::COMMAND, Key::Y)) {
            return Some(UiCommand::Redo);
        }
        if input.consume_shortcut(&KeyboardShortcut::new(Modifiers { shift: true, ..Modifiers::COMMAND }, Key::P)) {
            return Some(UiCommand::Palette);
        }
        // It depends on the keyboard layout whether `?` needs Shift.
        let is_default = state.around.keymap.of(&UiCommand::Help) == UiCommand::Help.shortcut();
        if !typing && is_default && input.consume_key(Modifiers::NONE, Key::Questionmark) {
            return Some(UiCommand::Help);
        }
        // The comma steps back, because it is next to the full stop, which steps forward.
        for (modifiers, steps) in [(Modifiers::SHIFT, -10), (Modifiers::NONE, -1)] {
            if !typing && input.consume_key(modifiers, Key::Comma) {
                return Some(UiCommand::MoveCursor(steps));
            }
        }
        all.into_iter().find(|command| {
            let Some(shortcut) = state.around.keymap.of(command) else { return false };
            let plain =
                !shortcut.modifiers.command && !shortcut.modifiers.alt && !is_function_key(shortcut.logical_key);
            let leave = typing && (plain || matches!(command, UiCommand::Undo | UiCommand::Redo));
            // Without a selected item of the project tree, other lists may use these keys.
            let idle = matches!(command, UiCommand::Rename | UiCommand::Delete) && !state.around.has_item;
            let leave = leave || idle;
            let closes_menu = menu_is_open && *command == UiCommand::SelectNone;
            let leave = leave || (has_focus && moves(command));
            !leave && !closes_menu && !is_modal && input.consume_shortcut(&shortcut)
        })
    })
}

fn is_function_key(key: Key) -> bool {
    matches!(key, Key::F1 | Key::F2 | Key::F6 | Key::F11 | Key::F12)
}
