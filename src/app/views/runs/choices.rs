//! The user's choice of columns and of their order, stored with the project.

use crate::project::run_table::{Column, STARTED, Sort};
use std::collections::BTreeMap;

/// Shown columns, and the order of the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Choices {
    /// Keys of the shown columns; `None`: the default columns.
    shown: Option<Vec<String>>,
    pub sort: Sort,
}

impl Default for Choices {
    fn default() -> Self {
        Self { shown: None, sort: newest_first() }
    }
}

fn newest_first() -> Sort {
    Sort { key: STARTED.into(), is_descending: true }
}

impl Choices {
    /// Whether a column is shown.
    pub fn shows(&self, column: &Column) -> bool {
        match &self.shown {
            Some(keys) => keys.contains(&column.key),
            None => column.is_default,
        }
    }

    /// Whether the user has chosen columns.
    pub const fn is_changed(&self) -> bool {
        self.shown.is_some()
    }

    /// Shows the default columns.
    pub fn reset(&mut self) {
        self.shown = None;
    }

    /// Shows or hides a column. `columns` are all columns.
    pub fn show(&mut self, columns: &[Column], key: &str, is_shown: bool) {
        let defaults = || columns.iter().filter(|column| column.is_default).map(|column| column.key.clone()).collect();
        let keys = self.shown.get_or_insert_with(defaults);
        keys.retain(|known| known != key);
        if is_shown {
            keys.push(key.to_owned());
        }
    }

    /// Sorts by a column; the same column again reverses the order.
    pub fn sort_by(&mut self, key: &str) {
        let is_descending = self.sort.key == key && !self.sort.is_descending;
        self.sort = Sort { key: key.to_owned(), is_descending };
    }

    /// Formats the choices as text: `sort=-last(held_out)|columns|name|seed`. `None` without a choice.
    pub fn to_text(&self) -> Option<String> {
        let mut parts = vec![];
        if self.sort != newest_first() {
            parts.push(format!("sort={}", self.sort.to_text()));
        }
        if let Some(keys) = &self.shown {
            parts.push("columns".to_owned());
            parts.extend(keys.iter().cloned());
        }
        (!parts.is_empty()).then(|| parts.join("|"))
    }

    /// Parses choices; ignores unknown parts. Columns of other runs stay chosen.
    pub fn from_text(text: &str) -> Self {
        let mut out = Self::default();
        let mut parts = text.split('|');
        while let Some(part) = parts.next() {
            match part.strip_prefix("sort=") {
                Some(sort) => out.sort = Sort::parse(sort),
                None if part == "columns" => out.shown = Some(parts.by_ref().map(str::to_owned).collect()),
                None => {}
            }
        }
        out
    }
}

/// Widths that the user gave to columns, by key, points.
pub type Widths = BTreeMap<String, f32>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::run_table::columns;

    #[test]
    fn choices_survive_as_text() {
        let all = columns(&[]);
        let mut choices = Choices::default();
        assert_eq!(choices.to_text(), None);
        choices.sort_by("last(held_out)");
        assert_eq!(choices.to_text().as_deref(), Some("sort=last(held_out)"));
        choices.sort_by("last(held_out)");
        choices.show(&all, "seed", false);
        choices.show(&all, "mean(map:layer=1,head=2[exc])", true);
        let seed = all.iter().find(|column| column.key == "seed").expect("a column");
        assert!(!choices.shows(seed) && choices.is_changed());
        let text = choices.to_text().expect("a choice");
        assert_eq!(Choices::from_text(&text), choices, "{text}");
        choices.reset();
        assert!(choices.shows(seed));
        assert_eq!(Choices::from_text("other=1"), Choices::default(), "of another version");
    }
}
