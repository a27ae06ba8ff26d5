//! Which keys stand for which command: the defaults of [`UiCommand::shortcut`], and what the user changed.

use super::commands::UiCommand;
use crate::project;
use egui::KeyboardShortcut;
use std::{collections::BTreeMap, path::Path};

/// File name in the settings folder.
const FILE: &str = "keymap.ron";

/// The keys in use.
#[derive(Clone, Default)]
pub struct Keymap {
    /// By the command's own name; none means no keys at all.
    changed: BTreeMap<String, Option<KeyboardShortcut>>,
}

fn name_of(command: &UiCommand) -> String {
    format!("{command:?}")
}

impl Keymap {
    /// Reads what was changed: one small file, before the first frame. A damaged file changes nothing.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let text = config_dir.and_then(|d| std::fs::read_to_string(d.join(FILE)).ok());
        Self { changed: text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default() }
    }

    /// The keys of a command.
    pub fn of(&self, command: &UiCommand) -> Option<KeyboardShortcut> {
        match self.changed.get(&name_of(command)) {
            Some(changed) => *changed,
            None => command.shortcut(),
        }
    }

    /// The keys of a command, as the system writes them; empty without.
    pub fn text(&self, ctx: &egui::Context, command: &UiCommand) -> String {
        self.of(command).map(|s| ctx.format_shortcut(&s)).unwrap_or_default()
    }
}
