//! Row of the table of commands: label, tooltip, icon, keys, where the command is offered, and what it needs.

use super::{CommandState, requirements::Requirement};
use crate::app::document::command::UiCommand;
use egui::{Key, KeyboardShortcut, Modifiers};

pub const NONE: Modifiers = Modifiers::NONE;
pub const SHIFT: Modifiers = Modifiers::SHIFT;
pub const CTRL: Modifiers = Modifiers::COMMAND;
pub const SHIFT_CTRL: Modifiers = Modifiers { shift: true, ..Modifiers::COMMAND };
pub const ALT_CTRL: Modifiers = Modifiers { alt: true, ..Modifiers::COMMAND };

/// Properties of a command. A row of a command with data serves all values without a row of their own. Keys and separator are
/// those of the row's own value.
pub struct Row {
    pub command: UiCommand,
    label: Label,
    pub tooltip: &'static str,
    pub icon: &'static str,
    keys: Keys,
    /// Keys that the user cannot change.
    pub fixed_keys: Option<KeyboardShortcut>,
    pub yields_to: YieldsTo,
    /// Whether a shortcut can be assigned. It cannot be for entries that depend on the state.
    pub takes_keys: bool,
    pub follows_separator: bool,
    pub offered: Offered,
    /// Whether the palette offers the command, but no menu.
    pub only_in_palette: bool,
    needs: &'static [Requirement],
}

#[derive(Clone, Copy)]
enum Label {
    Fixed(&'static str),
    Computed(fn(&UiCommand, &CommandState<'_>) -> String),
}

#[derive(Clone, Copy)]
enum Keys {
    Own(Option<KeyboardShortcut>),
    /// Computed from the data of the command.
    Computed(fn(&UiCommand) -> Option<KeyboardShortcut>),
}

/// Values of a row's command that menus or the palette offer.
#[derive(Clone, Copy)]
pub enum Offered {
    /// The row's own value is always offered.
    One,
    /// The state determines which values are offered.
    Each(fn(&CommandState<'_>) -> Vec<UiCommand>),
    /// Panels queue the command, or searches in the palette.
    Never,
}

/// Widgets that handle the keys of a command before it does. All keys without Ctrl or Alt yield to text fields.
#[derive(Clone, Copy, PartialEq)]
pub enum YieldsTo {
    /// No widget handles the keys.
    Nothing,
    /// Text fields, with Ctrl or Alt too.
    TextFields,
    /// Any focused widget: sliders and lists handle the arrow keys.
    FocusedWidgets,
    /// Lists, if no item of the project tree is selected.
    Lists,
    /// Open menus, which Escape closes.
    Menus,
}

impl Row {
    /// Creates the row of a command that is always offered and has no keys.
    pub const fn new(command: UiCommand, label: &'static str, tooltip: &'static str, icon: &'static str) -> Self {
        Self {
            command,
            label: Label::Fixed(label),
            tooltip,
            icon,
            keys: Keys::Own(None),
            fixed_keys: None,
            yields_to: YieldsTo::Nothing,
            takes_keys: true,
            follows_separator: false,
            offered: Offered::One,
            only_in_palette: false,
            needs: &[],
        }
    }

    /// Creates a row whose label depends on the state or on the data of the command.
    pub const fn labelled_by(
        command: UiCommand,
        label: fn(&UiCommand, &CommandState<'_>) -> String,
        tooltip: &'static str,
        icon: &'static str,
    ) -> Self {
        let mut row = Self::new(command, "", tooltip, icon);
        row.label = Label::Computed(label);
        row
    }

    /// Sets the default shortcut.
    pub const fn keys(mut self, modifiers: Modifiers, key: Key) -> Self {
        self.keys = Keys::Own(Some(KeyboardShortcut::new(modifiers, key)));
        self
    }

    /// Sets default shortcuts that depend on the data of the command.
    pub const fn keys_by(mut self, keys: fn(&UiCommand) -> Option<KeyboardShortcut>) -> Self {
        self.keys = Keys::Computed(keys);
        self
    }

    /// Adds keys that the user cannot change.
    pub const fn fixed_keys(mut self, modifiers: Modifiers, key: Key) -> Self {
        self.fixed_keys = Some(KeyboardShortcut::new(modifiers, key));
        self
    }

    /// Leaves the keys to widgets that handle them.
    pub const fn yields_to(mut self, widgets: YieldsTo) -> Self {
        self.yields_to = widgets;
        self
    }

    /// Excludes the command from the shortcut editor.
    pub const fn without_keys(mut self) -> Self {
        self.takes_keys = false;
        self
    }

    /// Puts a separator before the entry in the menu.
    pub const fn after_separator(mut self) -> Self {
        self.follows_separator = true;
        self
    }

    /// Offers the values that a function returns.
    pub const fn each(mut self, values: fn(&CommandState<'_>) -> Vec<UiCommand>) -> Self {
        self.offered = Offered::Each(values);
        self
    }

    /// Offers the command in the palette, but in no menu.
    pub const fn only_in_palette(mut self) -> Self {
        self.only_in_palette = true;
        self
    }

    /// Offers the command nowhere: panels queue it.
    pub const fn only_queued(mut self) -> Self {
        self.offered = Offered::Never;
        self
    }

    /// Sets the requirements, in the order in which they are tested.
    pub const fn needs(mut self, needs: &'static [Requirement]) -> Self {
        self.needs = needs;
        self
    }

    /// Returns the label of a command that the row serves.
    pub fn text(&self, command: &UiCommand, state: &CommandState<'_>) -> String {
        match self.label {
            Label::Fixed(text) => text.to_owned(),
            Label::Computed(label) => label(command, state),
        }
    }

    /// Returns the default shortcut of a command that the row serves; `None` if it has none.
    pub fn shortcut(&self, command: &UiCommand) -> Option<KeyboardShortcut> {
        match self.keys {
            Keys::Own(keys) => keys.filter(|_| self.command == *command),
            Keys::Computed(keys) => keys(command),
        }
    }

    /// Appends the commands that menus or the palette offer.
    pub fn append(&self, state: &CommandState<'_>, all: &mut Vec<UiCommand>) {
        match self.offered {
            Offered::One => all.push(self.command.clone()),
            Offered::Each(values) => all.extend(values(state)),
            Offered::Never => {}
        }
    }

    /// Returns the reason of the first requirement that is not met; `None` if all are.
    pub fn why_not(&self, command: &UiCommand, state: &CommandState<'_>) -> Option<&'static str> {
        self.needs.iter().find_map(|why_not| why_not(command, state))
    }
}
