//! What the window shows of a project beside its layout. No result depends on it, so neither the engine nor a command log
//! holds it.

use std::collections::BTreeMap;

/// The view of a project.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ViewState {
    /// Colours of named selections: the number of a categorical colour of the theme, from 1.
    pub colors: BTreeMap<String, u8>,
}

impl ViewState {
    /// Whether there is nothing to store.
    pub fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Sets the colour of a selection, or removes it.
    pub fn set_color(&mut self, selection: &str, color: Option<u8>) {
        match color {
            Some(color) => self.colors.insert(selection.to_owned(), color),
            None => self.colors.remove(selection),
        };
    }

    /// Keeps the colour of a selection that is renamed.
    pub fn rename(&mut self, old: &str, new: &str) {
        if let Some(color) = self.colors.remove(old) {
            self.colors.insert(new.to_owned(), color);
        }
    }
}
