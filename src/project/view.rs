//! View settings of a project other than the layout. No result depends on them, so neither the engine nor a command log
//! contains them.

use std::collections::BTreeMap;

/// View settings of a project.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct ViewState {
    /// Colours of named selections, as indices of the theme's categorical colours, from 1.
    pub colors: BTreeMap<String, u8>,
}

impl ViewState {
    /// Whether there are no view settings to store.
    pub fn is_empty(&self) -> bool {
        self.colors.is_empty()
    }

    /// Sets the colour of a selection; `None` removes the colour.
    pub fn set_color(&mut self, selection: &str, color: Option<u8>) {
        match color {
            Some(color) => self.colors.insert(selection.to_owned(), color),
            None => self.colors.remove(selection),
        };
    }

    /// Moves the colour of a renamed selection to its new name.
    pub fn rename(&mut self, old: &str, new: &str) {
        if let Some(color) = self.colors.remove(old) {
            self.colors.insert(new.to_owned(), color);
        }
    }
}
