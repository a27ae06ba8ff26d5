//! Reads columns of indices, for example stimulus files.

use super::{DataError, data_table::DataTable, messages};
use std::path::Path;

/// Reads columns of integers by name from a table with a header, in the order of `names`. Other columns are ignored.
///
/// # Errors
/// Returns [`DataError::Format`], which names `file:line` and the column, for a missing column or a cell that is not an integer
/// from 0 to 4,294,967,295.
pub fn read_columns_u32(path: &Path, names: &[&str]) -> Result<Vec<Vec<u32>>, DataError> {
    let source = DataTable::read(path, |_, name| names.contains(&name), &|_, _| true)?;
    names
        .iter()
        .map(|name| {
            let missing = || DataError::format(path, messages::no_column(&[name], &source.names));
            let column = source.find(&[name]).ok_or_else(missing)?;
            let narrow = |(row, value): (usize, &u64)| {
                u32::try_from(*value)
                    .map_err(|_| source.error(row, column, &format!("{value} is larger than 4,294,967,295")))
            };
            source.unsigned(column)?.iter().enumerate().map(narrow).collect()
        })
        .collect()
}
