//! The table of runs as CSV.

use super::{cell::Cell, column::Column, row::Row};

/// Formats columns of rows as CSV. The first line contains the keys of the columns. Numbers are in the units of their columns,
/// with all digits and a decimal point.
pub fn to_csv<'a>(columns: &[&Column], rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut writer = csv::Writer::from_writer(vec![]);
    let head = columns.iter().map(|column| column.key.as_str());
    let mut written = writer.write_record(head).is_ok();
    for row in rows {
        let values = columns.iter().map(|column| value(row.cell(&column.key)));
        written &= writer.write_record(values).is_ok();
    }
    debug_assert!(written, "writing to memory does not fail");
    writer.into_inner().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

fn value(cell: &Cell) -> String {
    match cell {
        // A number above 2^53 has all its digits only as text.
        Cell::Labelled { text, .. } if text.bytes().all(|b| b.is_ascii_digit()) => text.clone(),
        Cell::Labelled { number, .. } => number.to_string(),
        cell => cell.text().into_owned(),
    }
}
