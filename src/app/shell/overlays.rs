//! Overlays over the panels: dialogs, sheets, the palette and floating windows.

use super::{
    dialogs::{
        Dialog,
        ask::Requests,
        import::Import,
        preferences::SettingsDialog,
        trees::{ReadingTrees, TreeFile},
    },
    figure::Figures,
    palette::Palette,
};
use std::collections::VecDeque;

/// The open overlays.
#[derive(Default)]
pub struct Overlays {
    pub palette: Option<Palette>,
    pub dialog: Option<Dialog>,
    /// Dialogs that wait until the open one is closed.
    pub waiting: VecDeque<Dialog>,
    /// The dialog of settings and shortcuts.
    pub settings: Option<SettingsDialog>,
    /// Whether the sheet of shortcuts is open.
    pub shortcuts_sheet: bool,
    pub import: Option<Import>,
    pub figures: Figures,
    /// Window of requests.
    pub requests: Requests,
    /// Open file of trees.
    pub trees: Option<TreeFile>,
    /// File of trees that is being read.
    pub reading_trees: Option<ReadingTrees>,
}

impl Overlays {
    /// Whether a dialog or the command palette has the keyboard.
    pub fn is_modal(&self) -> bool {
        let is_open = self.dialog.is_some() || self.palette.is_some() || self.settings.is_some();
        is_open || self.import.is_some() || self.figures.dialog.is_some() || self.shortcuts_sheet
    }

    /// Opens a dialog now, or after the open one.
    pub fn open_dialog(&mut self, dialog: Dialog) {
        match self.dialog {
            None => self.dialog = Some(dialog),
            Some(_) => self.waiting.push_back(dialog),
        }
    }
}
