//! Values of a configuration in JSON with their place, for messages.

use crate::data::{DataError, messages};
use serde_json::Value;
use std::path::Path;

/// Value with its place in a file.
pub struct Item<'a> {
    file: &'a Path,
    /// Names and indices from the root, `networks.nodes[0]`.
    place: String,
    value: &'a Value,
}

impl<'a> Item<'a> {
    /// Returns the whole content of a file.
    pub fn root(file: &'a Path, value: &'a Value) -> Self {
        Self { file, place: String::new(), value }
    }

    /// Returns the file.
    pub fn file(&self) -> &'a Path {
        self.file
    }

    /// Returns a member; `None` if it is missing or null. Fails if the value is not an object.
    pub fn get(&self, name: &str) -> Result<Option<Self>, DataError> {
        let Value::Object(members) = self.value else { return Err(self.expected("an object")) };
        let dot = if self.place.is_empty() { "" } else { "." };
        let place = format!("{}{dot}{}", self.place, messages::truncated(name));
        let value = members.get(name).filter(|value| !value.is_null());
        Ok(value.map(|value| Self { file: self.file, place, value }))
    }

    /// Returns the names of the members of an object; empty for other values.
    pub fn keys(&self) -> Vec<String> {
        self.value.as_object().map_or_else(Vec::new, |members| members.keys().cloned().collect())
    }

    /// Returns the entries of a list. Fails if the value is not a list, or has more than `most` entries.
    pub fn list(&self, most: usize) -> Result<Vec<Self>, DataError> {
        let Value::Array(entries) = self.value else { return Err(self.expected("a list")) };
        if entries.len() > most {
            return Err(self.error(&format!("{} entries; at most {most} are read", entries.len())));
        }
        let entry = |(i, value)| Self { file: self.file, place: format!("{}[{i}]", self.place), value };
        Ok(entries.iter().enumerate().map(entry).collect())
    }

    /// Returns a text. Fails for other values.
    pub fn text(&self) -> Result<&'a str, DataError> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// Returns a number. Fails for other values.
    pub fn number(&self) -> Result<f64, DataError> {
        self.value.as_f64().ok_or_else(|| self.expected("a number"))
    }

    /// Returns a whole number. Fails for other values.
    pub fn whole(&self) -> Result<u64, DataError> {
        self.value.as_u64().ok_or_else(|| self.expected("a whole number from 0 to 2^64 - 1"))
    }

    fn expected(&self, what: &str) -> DataError {
        let found = match self.value {
            Value::Object(_) => "an object".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            other => format!("`{}`", messages::truncated(&other.to_string())),
        };
        self.error(&format!("{what} expected, found {found}"))
    }

    /// Returns an error about the value.
    pub fn error(&self, what: &str) -> DataError {
        let colon = if self.place.is_empty() { "" } else { ": " };
        DataError::format(self.file, format!("{}{colon}{what}", self.place))
    }
}
