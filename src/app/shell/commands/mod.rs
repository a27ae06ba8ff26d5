//! The commands of the window. Menus, the palette, panels and the keyboard read labels, icons, keys and requirements from the
//! rows of [`table`].

mod keys;
pub mod menu;
mod requirements;
mod row;
mod state;
mod table;

pub use keys::pressed;
pub use state::{Around, CommandState};
pub use table::MENUS;

use crate::app::document::command::UiCommand;
use egui::KeyboardShortcut;

impl UiCommand {
    /// Returns all commands that menus or the palette offer, in the order of the palette. The state determines those of recent
    /// files, runs and views.
    pub fn all(state: &CommandState<'_>) -> Vec<Self> {
        let mut all = vec![];
        table::rows().for_each(|(_, row)| row.append(state, &mut all));
        all
    }

    /// Returns the commands on the layout.
    pub fn layout(state: &CommandState<'_>) -> Vec<Self> {
        let mut all = vec![];
        table::LAYOUT.iter().for_each(|row| row.append(state, &mut all));
        all
    }

    /// Returns the label for menus and the palette.
    pub fn text(&self, state: &CommandState<'_>) -> String {
        table::find(self).1.text(self, state)
    }

    pub fn tooltip(&self) -> &'static str {
        table::find(self).1.tooltip
    }

    pub fn icon(&self) -> &'static str {
        table::find(self).1.icon
    }

    /// Returns the title of the menu that offers the command; empty if none does.
    pub fn menu(&self) -> &'static str {
        table::find(self).0
    }

    /// Whether a separator precedes the command in its menu.
    pub fn follows_separator(&self) -> bool {
        let (_, row) = table::find(self);
        row.follows_separator && row.command == *self
    }

    /// Returns the default shortcut; `None` if the command has none. Shortcuts without Ctrl or Alt are inactive while a text
    /// field has the focus.
    pub fn shortcut(&self) -> Option<KeyboardShortcut> {
        table::find(self).1.shortcut(self)
    }

    /// Whether a shortcut can be assigned. It cannot be for entries that depend on the state.
    pub fn has_own_keys(&self) -> bool {
        table::find(self).1.takes_keys
    }

    /// Returns the reason why the command is not available; `None` if it is.
    pub fn why_not(&self, state: &CommandState<'_>) -> Option<&'static str> {
        table::find(self).1.why_not(self, state)
    }
}
