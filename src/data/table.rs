//! Small lists of whole numbers: stimulus files and the like.

use super::{DataError, sheet::Sheet, words};
use std::path::Path;

/// Reads columns of whole numbers by name from a CSV file with a header, in the order asked for. Other
/// columns are ignored.
///
/// # Errors
/// [`DataError::Format`] naming `file:line` and the column for a missing column or a cell that is not a
/// whole number from 0 to 4,294,967,295.
pub fn read_columns_u32(path: &Path, names: &[&str]) -> Result<Vec<Vec<u32>>, DataError> {
    let sheet = Sheet::read(path, |_, name| names.contains(&name), &|_, _| true)?;
    names
        .iter()
        .map(|name| {
            let missing = || DataError::format(path, words::no_column(&[name], &sheet.names));
            let column = sheet.find(&[name]).ok_or_else(missing)?;
            let narrow = |(row, value): (usize, &u64)| {
                u32::try_from(*value)
                    .map_err(|_| sheet.error(row, column, &format!("{value} is larger than 4,294,967,295")))
            };
            sheet.unsigned(column)?.iter().enumerate().map(narrow).collect()
        })
        .collect()
}
