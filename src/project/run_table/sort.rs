//! Order of the rows of the table of runs.

use super::row::Row;
use std::cmp::Ordering;

/// Column by which rows are sorted, and the direction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Key of the column.
    pub key: String,
    /// Whether the largest value is first.
    pub is_descending: bool,
}

impl Sort {
    /// Reads a key with an optional leading minus sign, which sorts in descending order.
    pub fn parse(text: &str) -> Self {
        match text.trim().strip_prefix('-') {
            Some(key) => Self { key: key.to_owned(), is_descending: true },
            None => Self { key: text.trim().to_owned(), is_descending: false },
        }
    }

    /// Formats the order in the form that [`Self::parse`] reads.
    pub fn to_text(&self) -> String {
        format!("{}{}", if self.is_descending { "-" } else { "" }, self.key)
    }
}

/// Sorts indices of rows. Rows without a value are last in both directions; rows with equal values keep their order.
pub fn sort(rows: &[Row], order: &mut [usize], by: &Sort) {
    order.sort_by(|a, b| {
        let (a, b) = (rows[*a].cell(&by.key), rows[*b].cell(&by.key));
        match (a.is_empty(), b.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            _ if by.is_descending => b.compare(a),
            _ => a.compare(b),
        }
    });
}
