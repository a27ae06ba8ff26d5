//! Tables of the types of SONATA nodes and edges: text with cells that are divided by spaces, one row per type.

use super::{DataError, hdf5_file::NumberType, messages, read_text_at_most};
use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
};

/// Maximum size of a table, bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Elements that a table describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeOf {
    Node,
    Edge,
}

impl TypeOf {
    /// Returns the name of the column that identifies a type.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Node => "node_type_id",
            Self::Edge => "edge_type_id",
        }
    }

    /// Returns the path of the table beside a file: `v1_node_types.csv` for `v1_nodes.h5`, and for edges without such a file
    /// `edge_types.csv`, because an export has one table for all its files of edges. `None` if there is none.
    pub fn beside(self, file: &Path) -> Option<PathBuf> {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let own = file.with_file_name(format!("{}_types.csv", stem.strip_suffix('s').unwrap_or(&stem)));
        let common = (self == Self::Edge).then(|| file.with_file_name("edge_types.csv"));
        std::iter::once(own).chain(common).find(|path| path.is_file())
    }
}

/// Row of a table.
struct TypeRow {
    /// Number of the line in the file, from 1.
    line: u64,
    id: String,
    /// Cells without the id; a missing cell is empty.
    cells: Vec<String>,
}

/// Table of types.
pub struct TypeTable {
    pub path: PathBuf,
    /// Names of the columns without the id.
    pub names: Vec<String>,
    rows: Vec<TypeRow>,
}

/// Numbers of a column by the id of the type. Types without a value are missing.
pub struct TypeNumbers {
    pub by_id: HashMap<u64, f64>,
    pub number_type: NumberType,
}

impl TypeTable {
    /// Reads a table. Fails if it has no column of ids, or a row has another number of cells than the header.
    pub fn read(path: &Path, of: TypeOf) -> Result<Self, DataError> {
        let text = read_text_at_most(path, MAX_BYTES, &|_, _| true)?;
        let mut lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let mut names = lines.next().map_or_else(Vec::new, |(_, head)| cells(head));
        let Some(id) = names.iter().position(|name| name == of.id()) else {
            return Err(DataError::format(path, messages::no_column(&[of.id()], &names)));
        };
        let mut rows = vec![];
        for (line, text) in lines {
            let mut row = cells(text);
            if row.len() != names.len() {
                let what = format!("{} cells where the header has {}", row.len(), names.len());
                return Err(DataError::at_line(path, line, what));
            }
            let id = row.remove(id);
            rows.push(TypeRow { line, id, cells: row });
        }
        names.remove(id);
        Ok(Self { path: path.to_owned(), names, rows })
    }

    /// Returns the cells of all types by their id.
    pub fn into_cells(self) -> (Vec<String>, HashMap<String, Vec<String>>) {
        (self.names, self.rows.into_iter().map(|row| (row.id, row.cells)).collect())
    }

    /// Returns the different cells of some types in a column, without empty ones; none if there is no such column.
    pub fn cells_of(&self, ids: &BTreeSet<u64>, column: &str) -> BTreeSet<String> {
        let Some(at) = self.names.iter().position(|name| name == column) else { return BTreeSet::new() };
        let rows = self.rows.iter().filter(|row| row.id.parse().is_ok_and(|id| ids.contains(&id)));
        rows.map(|row| row.cells[at].clone()).filter(|cell| !cell.is_empty()).collect()
    }

    /// Returns the cell that all of some types have in a column; `None` if cells differ or are empty, or there is no such column.
    pub fn common_cell(&self, ids: &BTreeSet<u64>, column: &str) -> Option<&str> {
        let at = self.names.iter().position(|name| name == column)?;
        let mut rows = self.rows.iter().filter(|row| row.id.parse().is_ok_and(|id| ids.contains(&id)));
        let cell = &rows.next()?.cells[at];
        (!cell.is_empty() && rows.all(|row| row.cells[at] == *cell)).then_some(cell)
    }

    /// Returns the numbers of a column; `None` if there is no such column or it is empty. Fails if an id or a cell is not a number.
    pub fn numbers(&self, column: &str) -> Result<Option<TypeNumbers>, DataError> {
        let Some(at) = self.names.iter().position(|name| name == column) else { return Ok(None) };
        let (mut by_id, mut number_type) = (HashMap::new(), NumberType::Signed);
        for row in self.rows.iter().filter(|row| !row.cells[at].is_empty()) {
            let wrong = |column: &str, cell: &str, expected: &str| {
                let cell = messages::truncated(cell);
                DataError::at_line(
                    &self.path,
                    row.line,
                    format!("column \"{column}\": {expected} expected, found `{cell}`"),
                )
            };
            let id = row.id.parse().map_err(|_| wrong("id of the type", &row.id, "a whole number"))?;
            let cell = &row.cells[at];
            let value = cell.parse::<f64>().ok().filter(|value| value.is_finite());
            by_id.insert(id, value.ok_or_else(|| wrong(column, cell, "a number"))?);
            if cell.parse::<i64>().is_err() {
                number_type = NumberType::Real;
            }
        }
        Ok((!by_id.is_empty()).then_some(TypeNumbers { by_id, number_type }))
    }
}

/// Divides a line at spaces outside of quotes. `NULL` is an empty cell.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted, mut has_cell) = (vec![], String::new(), false, false);
    for c in line.trim().chars() {
        match c {
            '"' => (is_quoted, has_cell) = (!is_quoted, true),
            ' ' | '\t' if !is_quoted => {
                if has_cell || !cell.is_empty() {
                    cells.push(std::mem::take(&mut cell));
                }
                has_cell = false;
            }
            other => cell.push(other),
        }
    }
    if has_cell || !cell.is_empty() {
        cells.push(cell);
    }
    cells.into_iter().map(|cell| if cell == "NULL" { String::new() } else { cell }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_types_have_quoted_and_missing_cells() {
        assert_eq!(cells("100 \"a b\" NULL x"), ["100", "a b", "", "x"]);
        assert_eq!(cells("node_type_id  pop_name"), ["node_type_id", "pop_name"]);
        assert_eq!(cells("\"\" 7"), ["", "7"]);
    }
}
