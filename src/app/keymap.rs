//! Which keys stand for which command: the defaults of [`UiCommand::shortcut`], and what the user changed.

use super::{commands::UiCommand, settings};
use crate::project;
use egui::{Key, KeyboardShortcut, Modifiers};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// File name in the settings folder.
pub const FILE: &str = "keymap.ron";

/// Keys that mean something in fields and lists, and so cannot stand for a command on their own.
const RESERVED: [Key; 3] = [Key::Tab, Key::Enter, Key::Escape];

/// The keys in use.
#[derive(Clone, Default)]
pub struct Keymap {
    /// By the command's own name; none means no keys at all.
    changed: BTreeMap<String, Option<KeyboardShortcut>>,
    file: Option<PathBuf>,
}

fn name_of(command: &UiCommand) -> String {
    format!("{command:?}")
}

/// Keys as people read them: `Ctrl+,` and `?`, not `Ctrl+Comma` and `Shift+Questionmark`.
pub fn written(ctx: &egui::Context, keys: &KeyboardShortcut) -> String {
    let (name, symbol) = (keys.logical_key.name(), keys.logical_key.symbol_or_name());
    if keys.logical_key == Key::Questionmark {
        return "?".to_owned();
    }
    // The fonts have no glyphs for arrows and the like.
    let shown = if symbol.is_ascii() { symbol } else { name.trim_start_matches("Arrow") };
    ctx.format_shortcut(keys).replace(name, shown)
}

/// Two ways to write the same keys: `Ctrl` is the command key on some systems.
fn same(a: KeyboardShortcut, b: KeyboardShortcut) -> bool {
    let plain = |m: Modifiers| (m.shift, m.alt, m.command || m.ctrl || m.mac_cmd);
    a.logical_key == b.logical_key && plain(a.modifiers) == plain(b.modifiers)
}

impl Keymap {
    /// Reads what was changed: one small file, before the first frame. A damaged file changes nothing.
    pub fn load(config_dir: Option<&Path>) -> Self {
        let file = config_dir.map(|d| d.join(FILE));
        let text = file.as_deref().and_then(|f| std::fs::read_to_string(f).ok());
        Self { changed: text.and_then(|t| project::from_ron(&t).ok()).unwrap_or_default(), file }
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
        self.of(command).map(|s| written(ctx, &s)).unwrap_or_default()
    }

    /// Whether the keys of a command are not the default ones.
    pub fn is_changed(&self, command: &UiCommand) -> bool {
        self.changed.contains_key(&name_of(command))
    }

    /// Whether any keys were changed.
    pub fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Gives a command other keys, or none. Keys that are taken are refused; the command that has them is the error.
    pub fn set(
        &mut self,
        all: &[UiCommand],
        command: &UiCommand,
        keys: Option<KeyboardShortcut>,
    ) -> Result<(), Refused> {
        if let Some(keys) = keys {
            if RESERVED.contains(&keys.logical_key) && !keys.modifiers.any() && command.shortcut() != Some(keys) {
                return Err(Refused::Reserved);
            }
            let holds = |c: &&UiCommand| *c != command && self.of(c).is_some_and(|other| same(other, keys));
            if let Some(other) = all.iter().find(holds) {
                return Err(Refused::Taken(other.clone()));
            }
        }
        if keys == command.shortcut() {
            self.changed.remove(&name_of(command));
        } else {
            self.changed.insert(name_of(command), keys);
        }
        self.keep();
        Ok(())
    }

    /// The default keys, unless another command has them by now.
    pub fn reset(&mut self, all: &[UiCommand], command: &UiCommand) -> Result<(), Refused> {
        self.set(all, command, command.shortcut())
    }

    /// All default keys.
    pub fn reset_all(&mut self) {
        self.changed.clear();
        self.keep();
    }

    fn keep(&self) {
        settings::write(self.file.clone(), project::to_ron(&self.changed).ok());
    }
}

/// Why keys were not taken.
#[derive(Debug, PartialEq)]
pub enum Refused {
    /// Another command has them.
    Taken(UiCommand),
    /// They move through fields.
    Reserved,
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL_S: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);
    const F9: KeyboardShortcut = KeyboardShortcut::new(Modifiers::NONE, Key::F9);

    #[test]
    fn conflicts_are_refused_and_defaults_come_back() {
        let all = [UiCommand::Save, UiCommand::SaveAs, UiCommand::Rebuild];
        let mut keys = Keymap::default();
        assert_eq!(keys.of(&UiCommand::Save), Some(CTRL_S));
        assert_eq!(keys.set(&all, &UiCommand::Rebuild, Some(CTRL_S)), Err(Refused::Taken(UiCommand::Save)));
        let enter = KeyboardShortcut::new(Modifiers::NONE, Key::Enter);
        assert_eq!(keys.set(&all, &UiCommand::Rebuild, Some(enter)), Err(Refused::Reserved));
        keys.set(&all, &UiCommand::Save, Some(F9)).unwrap();
        keys.set(&all, &UiCommand::Rebuild, Some(CTRL_S)).unwrap();
        assert_eq!(keys.reset(&all, &UiCommand::Save), Err(Refused::Taken(UiCommand::Rebuild)));
        assert_eq!(keys.of(&UiCommand::Save), Some(F9));
        keys.reset_all();
        assert!(!keys.is_changed(&UiCommand::Save));
        keys.set(&all, &UiCommand::Save, None).unwrap();
        assert_eq!(keys.of(&UiCommand::Save), None);
        let text = project::to_ron(&keys.changed).unwrap();
        assert_eq!(project::from_ron::<BTreeMap<String, Option<KeyboardShortcut>>>(&text).unwrap(), keys.changed);
    }
}
