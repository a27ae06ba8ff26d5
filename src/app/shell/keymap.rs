//! Keyboard shortcuts: the defaults of [`UiCommand::shortcut`] and the user's changes.

use crate::{
    app::{document::command::UiCommand, host::store},
    project,
};
use egui::{Key, KeyboardShortcut, Modifiers};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Name of the file in the settings folder.
pub const FILE: &str = "keymap.ron";

/// Keys that fields and lists use. Without a modifier, each can only be the shortcut of a command whose default it is.
const RESERVED: [Key; 3] = [Key::Tab, Key::Enter, Key::Escape];

/// Keyboard shortcuts in use.
#[derive(Clone, Default)]
pub struct Keymap {
    /// Changed shortcuts, by name of the command; `None`: no shortcut.
    changed: BTreeMap<String, Option<KeyboardShortcut>>,
    file: Option<PathBuf>,
}

fn name_of(command: &UiCommand) -> String {
    format!("{command:?}")
}

/// Formats a shortcut: `Ctrl+,` and `?`, not `Ctrl+Comma` and `Shift+Questionmark`.
pub fn shortcut_text(ctx: &egui::Context, keys: &KeyboardShortcut) -> String {
    let (name, symbol) = (keys.logical_key.name(), keys.logical_key.symbol_or_name());
    if keys.logical_key == Key::Questionmark {
        return "?".to_owned();
    }
    // The fonts have no glyphs for arrows and similar symbols.
    let shown = if symbol.is_ascii() { symbol } else { name.trim_start_matches("Arrow") };
    ctx.format_shortcut(keys).replace(name, shown)
}

/// Whether two shortcuts are equal. `Ctrl` and the command key are considered equal.
fn same(a: KeyboardShortcut, b: KeyboardShortcut) -> bool {
    let plain = |m: Modifiers| (m.shift, m.alt, m.command || m.ctrl || m.mac_cmd);
    a.logical_key == b.logical_key && plain(a.modifiers) == plain(b.modifiers)
}

impl Keymap {
    /// Reads the changes from a small file before the first frame. A damaged file is ignored.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let file = config_dir.map(|d| d.join(FILE));
        let text = file.as_deref().and_then(|f| std::fs::read_to_string(f).ok());
        Self { changed: text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default(), file }
    }

    /// Returns the shortcut of a command; `None` if it has none.
    pub fn of(&self, command: &UiCommand) -> Option<KeyboardShortcut> {
        match self.changed.get(&name_of(command)) {
            Some(changed) => *changed,
            None => command.shortcut(),
        }
    }

    /// Formats the shortcut of a command; empty if it has none.
    pub fn text(&self, ctx: &egui::Context, command: &UiCommand) -> String {
        self.of(command).map(|s| shortcut_text(ctx, &s)).unwrap_or_default()
    }

    /// Whether the user has changed the shortcut of a command.
    pub fn is_changed(&self, command: &UiCommand) -> bool {
        self.changed.contains_key(&name_of(command))
    }

    /// Whether the user has changed any shortcut.
    pub fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Sets or removes the shortcut of a command, and saves the changes. Fails if another command has the shortcut, or if it is
    /// a key of `RESERVED` without a modifier and not the command's default.
    pub fn set(
        &mut self,
        all: &[UiCommand],
        command: &UiCommand,
        keys: Option<KeyboardShortcut>,
    ) -> Result<(), ShortcutError> {
        if let Some(keys) = keys {
            if RESERVED.contains(&keys.logical_key) && !keys.modifiers.any() && command.shortcut() != Some(keys) {
                return Err(ShortcutError::Reserved);
            }
            let holds = |c: &&UiCommand| *c != command && self.of(c).is_some_and(|other| same(other, keys));
            if let Some(other) = all.iter().find(holds) {
                return Err(ShortcutError::InUse(other.clone()));
            }
        }
        if keys == command.shortcut() {
            self.changed.remove(&name_of(command));
        } else {
            self.changed.insert(name_of(command), keys);
        }
        self.save();
        Ok(())
    }

    /// Restores the default shortcut; fails if another command has it.
    pub fn reset(&mut self, all: &[UiCommand], command: &UiCommand) -> Result<(), ShortcutError> {
        self.set(all, command, command.shortcut())
    }

    /// Restores all default shortcuts.
    pub fn reset_all(&mut self) {
        self.changed.clear();
        self.save();
    }

    fn save(&self) {
        store::write(self.file.clone(), project::to_ron(&self.changed).ok());
    }
}

/// Reason why a shortcut was rejected.
#[derive(Debug, PartialEq)]
pub enum ShortcutError {
    /// Another command has the shortcut.
    InUse(UiCommand),
    /// Fields and lists use the key.
    Reserved,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL_S: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
    const F9: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::F9);

    #[test]
    fn conflicts_are_rejected_and_defaults_restored() {
        let all = [UiCommand::Save, UiCommand::SaveAs, UiCommand::Rebuild];
        let mut keys = Keymap::default();
        assert_eq!(keys.of(&UiCommand::Save), Some(CTRL_S));
        assert_eq!(keys.set(&all, &UiCommand::Rebuild, Some(CTRL_S)), Err(ShortcutError::InUse(UiCommand::Save)));
        let enter = KeyboardShortcut::new(Modifiers::NONE, Key::Enter);
        assert_eq!(keys.set(&all, &UiCommand::Rebuild, Some(enter)), Err(ShortcutError::Reserved));
        keys.set(&all, &UiCommand::Save, Some(F9)).unwrap();
        keys.set(&all, &UiCommand::Rebuild, Some(CTRL_S)).unwrap();
        assert_eq!(keys.reset(&all, &UiCommand::Save), Err(ShortcutError::InUse(UiCommand::Rebuild)));
        assert_eq!(keys.of(&UiCommand::Save), Some(F9));
        keys.reset_all();
        assert!(!keys.is_changed(&UiCommand::Save));
        keys.set(&all, &UiCommand::Save, None).unwrap();
        assert_eq!(keys.of(&UiCommand::Save), None);
        let text = project::to_ron(&keys.changed).unwrap();
        assert_eq!(project::from_ron::<BTreeMap<String, Option<KeyboardShortcut>>>(&text).unwrap(), keys.changed);
    }
}
