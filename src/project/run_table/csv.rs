//! The table of runs as CSV.

use super::{cell::Cell, column::Column, row::Row};
use crate::data::csv_text;

/// Formats columns of rows as CSV. The first line contains the keys of the columns. Numbers are in the units of their columns,
/// with all digits and a decimal point.
pub fn to_csv<'a>(columns: &[&Column], rows: impl IntoIterator<Item = &'a Row>) -> String {
    let head = columns.iter().map(|column| column.key.clone()).collect();
    let values = |row: &Row| columns.iter().map(|column| value(row.cell(&column.key))).collect();
    csv_text(std::iter::once(head).chain(rows.into_iter().map(values)).collect::<Vec<Vec<String>>>())
}

fn value(cell: &Cell) -> String {
    match cell {
        // A number above 2^53 has all its digits only as text.
        Cell::Labelled { text, .. } if text.bytes().all(|b| b.is_ascii_digit()) => text.clone(),
        Cell::Labelled { number, .. } => number.to_string(),
        cell => cell.text().into_owned(),
    }
}
