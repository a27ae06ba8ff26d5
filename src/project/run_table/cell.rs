//! Cell of the table of runs.

use std::{borrow::Cow, cmp::Ordering};

/// Value of a row in a column.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Cell {
    /// No value: not recorded, not read yet, or without meaning for the row.
    #[default]
    Empty,
    /// Text, such as a name or a date.
    Text(String),
    /// Number whose form the column determines.
    Number(f64),
    /// Number with its own text, such as `15 ms`.
    Labelled {
        /// Number in the unit of the column.
        number: f64,
        /// Text with the unit.
        text: String,
    },
    /// Value of a switch or a choice.
    Named {
        /// Name in project files.
        name: String,
        /// Title in the window.
        title: String,
    },
    /// Tags of the user.
    Tags(Vec<String>),
}

impl Cell {
    /// Creates a cell with a text; an empty text gives an empty cell.
    pub fn text_of(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::Empty } else { Self::Text(text) }
    }

    /// Creates a cell with a finite number; other numbers give an empty cell.
    pub fn number_of(number: f64) -> Self {
        if number.is_finite() { Self::Number(number) } else { Self::Empty }
    }

    /// Creates a cell with a value that files and the window name differently.
    pub fn named(name: String, title: String) -> Self {
        if name == title { Self::text_of(name) } else { Self::Named { name, title } }
    }

    /// Whether the cell has no value.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Tags(tags) => tags.is_empty(),
            _ => false,
        }
    }

    /// Returns the number; `None` for texts and tags.
    pub const fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number) | Self::Labelled { number, .. } => Some(*number),
            _ => None,
        }
    }

    /// Returns the value as text, with the names of files. Numbers without a text of their own have all digits.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Empty => Cow::Borrowed(""),
            Self::Text(text) | Self::Labelled { text, .. } | Self::Named { name: text, .. } => Cow::Borrowed(text),
            Self::Number(number) => Cow::Owned(number.to_string()),
            Self::Tags(tags) => Cow::Owned(tags.join(" ")),
        }
    }

    /// Returns the value as text, with the titles of the window.
    pub fn title(&self) -> Cow<'_, str> {
        if let Self::Named { title, .. } = self { Cow::Borrowed(title) } else { self.text() }
    }

    /// Compares two values: numbers precede texts, and texts are compared without case.
    pub fn compare(&self, other: &Self) -> Ordering {
        match (self.number(), other.number()) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => self.text().to_lowercase().cmp(&other.text().to_lowercase()),
        }
    }
}
